#!/bin/sh
# Compares what tune finds at two commits: the csv of searches of three kernels with exact costs, by all strategies, with two seeds.
#
#     docs/scripts/same.sh OLD [NEW]
#
# OLD and NEW are commits of this repository; without NEW it is HEAD. Both are built in worktrees of their own, which are removed at the end. A
# search may differ if the version of its kernel or of its strategy does. Where another one differs, the exit code is 1.
set -eu
[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "same.sh: want OLD [NEW], two commits" >&2; exit 2; }
repo=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d)
clean() {
	for of in old new; do
		git -C "$repo" worktree remove --force "$dir/$of" 2>/dev/null || true
	done
	rm -rf "$dir"
}
trap clean EXIT
build() { # NAME COMMIT
	git -C "$repo" worktree add --quiet --detach "$dir/$1" "$2"
	(cd "$dir/$1" && ${GO:-go} build -o "$dir/tune-$1" ./cmd/tune)
}
build old "$1"
build new "${2:-HEAD}"
mkdir "$dir/runs"
cd "$dir/runs"

# A command whose costs are exact, with points that fail.
cat >own.yaml <<'END'
kernel: {name: own}
space:
  parameters:
    - {name: a, type: int, from: 1, to: 20}
    - {name: b, type: pow2, from: 1, to: 256}
    - {name: mode, type: enum, values: [plain, fast, wide]}
    - {name: depth, type: int, from: 0, to: 7}
  constraints: [a * b <= 2048]
command:
  run: |
    a={{a}} b={{b}} depth={{depth}} more=0
    if [ {{mode}} = plain ]; then more=20; fi
    test $a -ne 7 && echo $(((a - 13) * (a - 13) * 3 + b % 48 * 5 + (depth - 3) * (depth - 3) + more + 100))
  metric: {from: output, unit: steps, exact: true}
END

# A measured space, with points that failed and points that are not in it.
awk 'BEGIN {
	printf "{\"space\": \"tiles__desk\", \"device\": \"desk\", \"kernel\": \"tiles\", \"objective\": \"time\", \"unit\": \"ms\", "
	printf "\"names\": [\"x\", \"y\", \"layout\"], \"values\": [["
	for (i = 0; i < 20; i++) printf "%s%d", i ? ", " : "", 16 * (i + 1)
	printf "], ["
	for (i = 0; i < 16; i++) printf "%s%d", i ? ", " : "", i
	printf "], [\"row\", \"col\"]], \"rows\": ["
	for (x = 0; x < 20; x++) for (y = 0; y < 16; y++) for (l = 0; l < 2; l++) {
		if ((x + y) % 11 == 5) continue
		printf "%s[[%d, %d, %d], ", n++ ? ", " : "", x, y, l
		if (x * y > 200) printf "null, \"RuntimeFailedConfig\", 0.5, null]"
		else printf "%d.5, \"\", 1.25, null]", 10 + (x - 12) * (x - 12) + 2 * (y - 5) * (y - 5) + 7 * l * (x % 3)
	}
	printf "]}\n"
}' >tiles.json

search() { # OLD-OR-NEW KERNEL STRATEGY SEED; its csv or its error is in OLD-OR-NEW.csv
	case $2 in
	treehash) set -- "$@" treehash --shape height=4,rounds=4,batch=16 ;;
	own) set -- "$@" own.yaml ;;
	recorded) set -- "$@" recorded --data tiles.json ;;
	esac
	of=$1 strategy=$3 seed=$4
	shift 4
	rm -rf "$of"
	if "$dir/tune-$of" run "$@" --strategy "$strategy" --seed "$seed" --evals 60 --jobs 1 --dir "$of" --no-db -q >"$of.csv" 2>&1; then
		"$dir/tune-$of" export "$of" --format csv >"$of.csv" 2>&1 || true
	fi
}
versions() { grep -o '"\(kernel\|strategy\)_version": *[^,]*' "$1/run.json" 2>/dev/null || echo "no run"; }

same=0 may=0 wrong=0
for kernel in treehash own recorded; do
	for strategy in auto evolve surrogate anneal ils diffevo swarm nsga2 random grid; do
		for seed in 1 2; do
			search old $kernel $strategy $seed
			search new $kernel $strategy $seed
			if cmp -s old.csv new.csv && [ "$(wc -l <new.csv)" -gt 10 ]; then
				same=$((same + 1))
			elif cmp -s old.csv new.csv; then
				wrong=$((wrong + 1))
				echo "$kernel, $strategy, seed $seed: both have too few lines to say: $(head -n 1 new.csv | cut -c -150)"
			elif [ "$(versions old)" != "$(versions new)" ]; then
				may=$((may + 1))
				echo "$kernel, $strategy, seed $seed: differs, and so do the versions: $(versions old | tr '\n' ' ')and $(versions new | tr '\n' ' ')"
			else
				wrong=$((wrong + 1))
				echo "$kernel, $strategy, seed $seed: differs"
				diff old.csv new.csv | head -n 4 | cut -c -150
			fi
		done
	done
done
echo "$same searches are the same, $may have another version and differ, $wrong differ"
[ $wrong -eq 0 ]
