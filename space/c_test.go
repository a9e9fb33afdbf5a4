package space

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// formulasInC have a form in C, over m and n; a, b and c are parameters, of which c is inactive.
var formulasInC = []string{
	"n", "m * n", "(m + 1) * (n - 2)", "n // 3", "(m - 9) // 4", "(m - 9) % 4", "n % m", "min(m, n, 7)", "max(m - n, a)", "abs(m - n)",
	"n if m > 3 else m", "n / 4", "m * 0.5 + n", "-m", "2 ** a * n", "n if b == 'x' else m", "m + (n > 3)", "-9223372036854775808 + m", "3000000000 * 2 + n",
	"(n - (n % 4 if m > 2 else 0)) // 3", "(n - n % 3) % 2", "(n - 4) // 3", "(n - m % 3) % 4", "(m - n) % 3", "max(n - 5, 0) // 2", "min(n - 5, 3) % 2",
	"abs(n - 5) // 2", "-n // 2", "(n - m) * (n - m) // 3", "(n - m) * n % 3", "(m - n if m > n else n - m) % 2", "(n % 3 - n) // 2", "(n - 2 * (n % 3)) // 2",
	"(n - n % 3 + (n > 2) - 1) % 2", "(m + n - (m + n) % 4) // 4",
}

var conditionsInC = []string{
	"m < n", "m <= n < 9", "m % 4 == 0 and n >= a", "not (m == n or n == 2)", "m in [1, 3, a]", "n not in [2, 5]", "b == 'x' and n > 2", "b == 'y' or n > 2",
	"c > 3", "c > 3 and n > 4", "c > 3 or n > 4", "not (c > 3)", "not (c > n)", "m * n <= 4 * a", "(n > 2) == (m > 2)", "n / 2 <= m", "true", "n > 3 if m > 2 else n < 3",
}

const sizesInC = 6

// TestFormulaInC: C computes what Value does, and a condition holds where New would let a constraint hold.
func TestFormulaInC(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	variables := map[string]CName{"m": {"m", true}, "n": {"n", true}}
	of := map[string]Value{"a": IntValue(3), "b": StringValue("x")}
	var c, want strings.Builder
	c.WriteString("#include <stdint.h>\n#include <stdio.h>\nint main(void)\n{\n")
	for m := int64(1); m < sizesInC; m++ {
		for n := int64(1); n < sizesInC; n++ {
			fmt.Fprintf(&c, "\t{ const int64_t m = %d, n = %d; (void)m, (void)n;\n", m, n)
			all := map[string]Value{"m": IntValue(m), "n": IntValue(n), "a": of["a"], "b": of["b"]}
			for _, src := range formulasInC {
				f := formula(t, src)
				text, err := f.C(variables, of)
				if err != nil {
					t.Fatal(err)
				}
				v, err := f.Value(all)
				if err != nil {
					t.Fatal(err)
				}
				x, _ := v.counted().Number()
				fmt.Fprintf(&c, "\tprintf(\"%%.17g\\n\", (double)%s);\n", text)
				fmt.Fprintf(&want, "%.17g\n", x)
			}
			for _, src := range conditionsInC {
				text, _, err := formula(t, src).Condition(variables, of, true)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&c, "\tprintf(\"%%d\\n\", (int)(%s));\n", text)
				fmt.Fprintf(&want, "%d\n", holds(t, src, m, n))
			}
			c.WriteString("\t}\n")
		}
	}
	c.WriteString("\treturn 0;\n}\n")
	dir := t.TempDir()
	path, program := filepath.Join(dir, "formulas.c"), filepath.Join(dir, "formulas")
	if err := os.WriteFile(path, []byte(c.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O0", "-w", "-o", program, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		lines, wants := strings.Split(string(got), "\n"), strings.Split(want.String(), "\n")
		of := len(formulasInC) + len(conditionsInC)
		for i := range wants {
			if i >= len(lines) || lines[i] != wants[i] {
				src := append(append([]string{}, formulasInC...), conditionsInC...)[i%of]
				t.Fatalf("%s at m=%d, n=%d is %s in C, want %s", src, i/of/(sizesInC-1)+1, i/of%(sizesInC-1)+1, lines[min(i, len(lines)-1)], wants[i])
			}
		}
	}
}

func formula(t *testing.T, src string) Formula {
	t.Helper()
	f, err := ParseFormula(src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// holds reports, as 1 or 0, whether a space with the constraint has the point a=3, b=x at a shape, with c inactive.
func holds(t *testing.T, src string, m, n int64) int {
	t.Helper()
	bound := Bind(src, map[string]int{"m": int(m), "n": int(n)})
	params := []Parameter{Range("a", 3, 3), Enum("b", "x", "y"), Range("c", 1, 9).If("b == 'y'"), Range("d", 0, 1)}
	s, err := New("", params, bound)
	if err != nil {
		return 0 // no point is left
	}
	if _, err := s.Parse("a=3 b=x d=0"); err != nil {
		return 0
	}
	return 1
}

// TestCertainInC: what only an inactive value decides is not certain.
func TestCertainInC(t *testing.T) {
	variables := map[string]CName{"n": {"n", true}}
	for src, want := range map[string]string{"c > 3": "0", "not (c > 3)": "0", "c > 3 or n > 4": "(n > 4)", "c > 3 and n > 4": "0", "n > 4": "(n > 4)"} {
		got, always, err := formula(t, src).Condition(variables, nil, false)
		if err != nil || got != want || always {
			t.Errorf("%s is %s, always %v: %v; want %s", src, got, always, err, want)
		}
	}
	if _, always, err := formula(t, "not (c > 3)").Condition(variables, nil, true); err != nil || !always {
		t.Errorf("what may be is not always so: %v", err)
	}
}

// TestNoC: what C would compute differently, or not at all, is refused.
func TestNoC(t *testing.T) {
	variables := map[string]CName{"n": {"n", true}, "m": {"m", false}}
	for src, want := range map[string]string{
		"n ** 2": "a power of a field of the shape has no form in C", "n // m": "a library divides by whole numbers above 0 only", "n // -2": "whole numbers above 0 only",
		"n % 0.5": "whole numbers above 0 only", "n / 2 // 2": "a library divides whole numbers only where // and % are asked for",
		"n if c else 3": "a library cannot choose by a parameter that is inactive", "n + c": "reads c, which is inactive here", "'x'": "the text x has no number in C",
		"min(n, 1, 2, 3, 4, 5, 6, 7, 8)": "a library takes min and max of 8 values at most: write several in one another", "(n - 9)" + strings.Repeat(" // 3", 10): "it is too long in C: write it more shortly",
		"n + (n > c)": "a library cannot compute with a condition on a parameter that is inactive",
	} {
		if _, err := formula(t, src).C(variables, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}
