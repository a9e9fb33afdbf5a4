#!/bin/sh
# Makes the pictures of the README, docs/report.png and docs/live.png, with the tune that is given: a report on a run with two objectives, and
# the live page of a run that searches. make screenshots runs it, and installs Chromium where Debian's packages are.
set -eu
tune=$(realpath "$1")
docs=$(realpath "$(dirname "$0")/..")
browser=$(command -v chromium-headless-shell || command -v chromium || command -v google-chrome) || {
	echo "screenshots: there is no Chromium: install chromium-headless-shell, or use make screenshots as root on Debian" >&2
	exit 1
}
dir=$(mktemp -d)
server= run=
# Without a child, kill says so and nothing is lost.
trap 'kill $server $run 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
(cd "$docs/.." && ${GO:-go} build -tags browser -o "$dir/picture" ./docs/scripts/picture)
cd "$dir"
shape=height=6,rounds=8,batch=64

picture() { # NAME WIDTH,HEIGHT ADDRESS
	"$dir/picture" "$browser" "$2" "$3" "$dir/$1.png"
	bytes=$(wc -c <"$dir/$1.png")
	if [ "$bytes" -gt 200000 ]; then
		echo "screenshots: $1.png has $bytes bytes: want 200,000 at most, so take a smaller window in docs/scripts/screenshots.sh" >&2
		exit 1
	fi
	mv "$dir/$1.png" "$docs/$1.png"
	echo "docs/$1.png has $bytes bytes"
}

"$tune" run treehash --shape $shape --objective cycles,load --evals 1000 --seed 1 --dir runs/front -q >run.txt
"$tune" report runs/front -o report.html
picture report 1100,1250 "file://$dir/report.html"

"$tune" run treehash --shape $shape --budget 5m --seed 1 --dir runs/live -q >live.txt &
run=$!
"$tune" serve runs --listen 127.0.0.1:0 >serve.txt &
server=$!
sleep 10
address=$(sed -n 's|^runs at \(http[^,]*\),.*|\1|p' serve.txt)
page=$(timeout 60 "$browser" --headless --no-sandbox --timeout=4000 --dump-dom "$address" 2>/dev/null | grep -o '/run?id=[^"]*">runs/live' | sed 's/">.*//')
picture live 1100,1000 "${address%/}$page"
