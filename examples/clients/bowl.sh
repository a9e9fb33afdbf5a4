#!/bin/sh
# A client of tune optimize in shell: tune optimize space.yaml --evals 60 -- sh bowl.sh
while read -r line; do
	case $line in '{"ask":'*) ;; *) continue ;; esac
	field() { echo "$line" | sed "s/.*\"$1\":\([^,}]*\).*/\1/"; }
	x=$(field x) y=$(field y) cost=1
	[ "$(field slow)" = true ] && cost=2
	echo "{\"tell\":{\"id\":$(field id),\"cost\":$(((((x - 3) * (x - 3)) + ((y - 5) * (y - 5))) * cost))}}"
done
