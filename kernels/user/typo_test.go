package user

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// typoTexts are files that are right, and use most fields.
var typoTexts = []string{`kernel:
  name: demo
  doc: doubles
  shape: {n: {default: 8, from: 1, to: 64, doc: elements}}
space:
  name: demo
  parameters:
    - {name: TILE, type: pow2, from: 1, to: 8, doc: a tile}
    - {name: opt, type: enum, values: [-O2, -O3], default: -O3}
    - {name: late, type: int, from: 1, to: 4, step: 1, when: TILE > 1}
    - {name: share, type: float, from: 1, to: 8, steps: 3, scale: log}
  constraints:
    - TILE <= n
  start:
    - {TILE: 2}
source:
  file: f.c
  function: f
  language: c
  arguments:
    - {name: x, type: float, length: n, access: read, fill: {random: [0, n], integers: true}}
    - {name: y, type: float, length: n * TILE, access: write, tolerance: {absolute: 1.0e-6, relative: 1.0e-5}}
    - {name: n, type: int, value: n}
  reference: {function: plain, flags: [-O1], shapes: [{n: 9}]}
  flags: ["{{opt}}", "-DL={{late}}", "-DS={{share}}"]
  threads: TILE
  metric: {operations: n, bytes: 4 * n, cold: true}
  limits: {compile: 10s, call: 1s, memory: 1GiB}
run:
  budget: 5s
presets:
  small: {shape: n=9, start: [TILE=2]}
`, `kernel: {name: cmd, shape: {n: 3}}
space:
  parameters:
    - {name: TILE, type: int, from: 1, to: 4}
  constraints: [TILE <= n]
command:
  run: [echo, "{{TILE}}"]
  build: "true"
  check: "test {{TILE}} -le {{n}}"
  setup: "echo {{n}}"
  prepare: "true"
  cleanup: "true"
  environment: {TILE: "{{TILE}}"}
  files: [conf.in]
  warmup: 1
  metric: {from: output, pattern: "([0-9]+)", unit: ns, repeats: 2, goal: minimise}
  metrics:
    length: {from: output, json: a.b}
  limits: {run: 5s, build: 1s, check: 1s, setup: 1s, prepare: 1s, cleanup: 1s, memory: 1GiB, output: 1MiB, file: 1GiB}
`}

// TestATypoIsOneFault: the name of each field, misspelt, is one fault, and nothing that follows from it is another.
func TestATypoIsOneFault(t *testing.T) {
	key := regexp.MustCompile(`(?m)(?:^|[ {])([a-z]+):`)
	chosen := map[string]bool{"n": true, "TILE": true, "small": true}
	for _, text := range typoTexts {
		if _, err := read("my.yaml", []byte(text), library); err != nil {
			t.Fatalf("the file that is right: %v", err)
		}
		keys := 0
		for _, m := range key.FindAllStringSubmatchIndex(text, -1) {
			name := text[m[2]:m[3]]
			if chosen[name] || strings.HasPrefix(text[m[2]:], "length: {") || strings.Contains(text[:m[2]], "\nrun:\n") {
				continue // the user's, or a setting, which others read
			}
			keys++
			swapped := name[:1] + name[min(2, len(name)-1):min(3, len(name))] + name[1:2] + name[min(3, len(name)):]
			for _, typo := range []string{swapped, name + "s"} {
				if len(name) < 3 || typo == name || slices.Contains([]string{"metrics", "steps"}, typo) {
					continue // too short for a typo, or another field
				}
				_, err := read("my.yaml", []byte(text[:m[2]]+typo+text[m[3]:]), library)
				faults, _ := errors.AsType[Faults](err)
				if len(faults) != 1 || !strings.Contains(faults[0].Text, `"`+typo+`"`) {
					t.Errorf("%s for %s on line %d: %d faults:\n%v", typo, name, 1+strings.Count(text[:m[2]], "\n"), len(faults), err)
				}
			}
		}
		if keys < 30 {
			t.Errorf("only %d keys were misspelt", keys)
		}
	}
}
