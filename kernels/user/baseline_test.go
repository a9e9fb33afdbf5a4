package user

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tune/internal/cpu"
)

// TestSettle: where the first values are wrong, another point is the baseline, if it differs in values of enums alone.
func TestSettle(t *testing.T) {
	needCompiler(t)
	if !slices.Contains(cpu.Features(), cpu.AVX2) {
		t.Skip("the processor has no fused multiply-add")
	}
	for _, test := range []struct{ contract, opt, more, want string }{
		{"-ffp-contract=off, -ffp-contract=fast", "-O2, -Ofast", "", `contract="-ffp-contract=off" opt=-O2`},
		{"-ffp-contract=fast, -ffp-contract=off", "-O2, -Ofast", "", `contract="-ffp-contract=off" opt=-O2`},
		{"-ffp-contract=fast, -ffp-contract=off", "-Ofast, -O2", "", `contract="-ffp-contract=off" opt=-O2`},
		// None is right.
		{"-ffp-contract=fast", "-Ofast, -O2", "", `contract="-ffp-contract=fast" opt=-Ofast`},
		// What the file states stays.
		{"-ffp-contract=off, -ffp-contract=fast", "-Ofast, -O2", ", default: -Ofast", `contract="-ffp-contract=off" opt=-Ofast`},
	} {
		text := fmt.Sprintf(contractYAML, test.contract, test.opt+"]"+test.more+", when: '1 == 1'}, {name: unused, type: enum, values: [1", "1.5f", "")
		k, _ := load(t, text, "f.c", contractC)
		p := problem(t, k, "").(*SourceProblem)
		if err := p.Settle(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
		if got := p.Presets()[0].Point.Key(); !strings.HasPrefix(got, test.want+" ") {
			t.Errorf("%+v: the baseline is %s", test, got)
		}
	}
}

// TestBaselines: the points that may be the baseline are many at the most, and all different.
func TestBaselines(t *testing.T) {
	needCompiler(t)
	text := strings.NewReplacer("values: [%s]}]}", "values: [1.5f]}, {name: a, type: bool}, {name: b, type: enum, values: [1, 2, 3, 4]}, {name: c, type: bool, when: a}, {name: n2, type: int, from: 1, to: 9}]}").Replace(contractYAML)
	k, _ := load(t, fmt.Sprintf(text, "-O1, -O2, -O3", "-g, -g0", ""), "f.c", contractC)
	points := problem(t, k, "").(*SourceProblem).baselines()
	seen := map[string]bool{}
	for _, p := range points {
		seen[p.Key()] = true
	}
	if len(points) != mostBaselines || len(seen) != len(points) {
		t.Errorf("%d points, %d different", len(points), len(seen))
	}
	for i, want := range []string{"contract=-O1 opt=-g SCALE=1.5f a=false b=1 n2=1", "contract=-O2 opt=-g SCALE=1.5f a=false b=1 n2=1"} {
		if got := points[i].Key(); got != want {
			t.Errorf("point %d is %s, want %s", i, got, want)
		}
	}
}
