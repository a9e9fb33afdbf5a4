package space

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var formulaValues = map[string]float64{"n": 10, "m": 3, "packed": 1, "flag": 0}

func TestFormula(t *testing.T) {
	for text, want := range map[string]float64{
		"n": 10, "n*m+1": 31, "2**3**2": 512, "-n + 1": -9, "-2**2": -4, "2**-1": 0.5, "n/4": 2.5, "n//4": 2, "-n//4": -3, "n%4": 2, "-n%4": 2,
		"min(n, m, 7)": 3, "max(n,m)": 10, "min(n)": 10, "abs(m-n)": 7, "(n+1)*2": 22, ".5*n": 5, "1e-2": 0.01, "1e3": 1000,
		// Numbers in any notation of Go.
		"0x10": 16, "0xe+1": 15, "0b101": 5, "0o17": 15, "017": 15, "1_000": 1000, "0x1.8p1": 3, "18446744073709551616": 1 << 64,
		// Truth values are numbers, and numbers truth values.
		"n >= 10": 1, "n != 10": 0, "(n > 3) * m": 3, "n if m > 2 else m": 10, "n if m == 2 else m": 3, "1 if n < 3 else 2 if n < 11 else 3": 2,
		"m ? 4 : 5": 4, "not n": 0, "!flag": 1, "n and m": 1, "n && flag": 0, "flag or m": 1, "1 < m <= n": 1, "1 < n <= m": 0,
		"n in [4, 10]": 1, "1 / 10**400": 0, "n not in (4, 10)": 0, "true + True": 2, "packed * 4": 4,
		// What is not needed may be inactive.
		"n if packed else gone": 10, "gone if flag else m": 3, "flag and gone": 0, "m or gone": 1,
	} {
		f, err := ParseFormula(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := f.Value(formulaValues); err != nil || got != want || f.String() != text || f.IsZero() {
			t.Errorf("%s = %v, %v; want %v", text, got, err, want)
		}
	}
	if !(Formula{}).IsZero() || (Formula{}).Mentions() != nil {
		t.Error("the zero formula is not zero")
	}
}

func TestFormulaErrors(t *testing.T) {
	for _, test := range []struct {
		text   string
		column int
		reason string
	}{
		{"", 1, "empty"}, {"n +", 4, "ends where a value should stand"}, {"n n", 3, "unexpected n"}, {"(n", 3, `expected ")"`}, {"n $", 3, `unexpected character '$'`},
		{"1.2.3", 1, "not a number"}, {"n * 08x", 5, "not a number"}, {"n * 1e999", 5, "not a number"}, {"min n", 5, `expected "("`}, {"min()", 1, "at least one"},
		{"n if m", 7, `expected "else"`}, {"n == 'row'", 6, "text has no value"}, {"mni(n, 2)", 1, `did you mean "min"`},
		{strings.Repeat("(", 300), 201, "nested deeper"}, {strings.Repeat("-", 300), 201, "nested deeper"}, {"1" + strings.Repeat("+1", 3000), 2002, "nests more than"},
		{strings.Repeat("1+", 40000) + "1", 1, "longer than"},
	} {
		_, err := ParseFormula(test.text)
		fault, ok := errors.AsType[*ExprError](err)
		if !ok || fault.Column != test.column || !strings.Contains(fault.Reason, test.reason) {
			t.Errorf("%.20q: %v, want column %d: %s", test.text, err, test.column, test.reason)
		}
	}
	for text, want := range map[string]string{
		"n/0": "n/0 divides by zero", "n // flag": "divides by zero", "n % 0": "divides by zero", "10**400": "no finite value", "(0-8)**0.5": "no finite value", "n > (-8)**0.5": "no finite value",
		"n + q": "n + q reads q, which is inactive here", "min(n, q)": "reads q", "q > 1 or n": "reads q",
	} {
		f, err := ParseFormula(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Value(formulaValues); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestFormulaAgreesWithConstraints: where an expression has a value as a part of a constraint, it has the same as a formula.
func TestFormulaAgreesWithConstraints(t *testing.T) {
	params := []Parameter{Range("n", -3, 3), Pow2("m", 1, 8), Bool("packed"), Floats("share", 0.5, 2.25)}
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{
		"n * m + 1", "n // m", "n % m", "-n // m % 3", "share / m", "share // 0.5", "n % share", "abs(n) ** 2", "min(n, m, 2)", "max(share, n)", "m if packed else -n",
	} {
		f, err := ParseFormula(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			ords, values := make([]int, len(params)), map[string]float64{}
			for i, p := range params {
				ords[i] = r.IntN(p.Len())
				v := p.At(ords[i])
				if x, ok := v.Number(); ok {
					values[p.Name] = x
				} else {
					values[p.Name] = oneIf(v.bool())
				}
			}
			got, err := f.Value(values)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			e, err := scopeOf(params).compile(fmt.Sprintf("(%s) == %v", text, got), len(params))
			if err != nil {
				t.Fatal(err)
			}
			if e.eval(ords) != isTrue {
				t.Errorf("%s at %v is %v, and not so in a constraint", text, values, got)
			}
		}
	}
}

func TestMentions(t *testing.T) {
	f, err := ParseFormula("é_ + 1")
	if err == nil {
		t.Errorf("é is a letter: %v", f)
	}
	if f, err = ParseFormula("tile if n > m else  min(n, 4)"); err != nil {
		t.Fatal(err)
	}
	if want := []Mention{{"tile", 1}, {"n", 9}, {"m", 13}, {"n", 25}}; !slices.Equal(f.Mentions(), want) {
		t.Errorf("the names are %v, want %v", f.Mentions(), want)
	}
}

func TestBind(t *testing.T) {
	for text, want := range map[string]string{
		"n*tile <=m":                       "10*tile <=(-3)",
		"order == 'é n' and n > 1":         "order == 'é n' and 10 > 1",
		"nn + n1 > 0xn":                    "nn + n1 > 0xn", // cannot be read
		"tile > 3":                         "tile > 3",
		"n":                                "10",
		`m <= n and "n" != 'n' and n2 > m`: `(-3) <= 10 and "n" != 'n' and n2 > (-3)`,
		`m in [n, "n", 1e3] || not n`:      `(-3) in [10, "n", 1e3] || not 10`,
	} {
		if got := Bind(text, map[string]int{"n": 10, "m": -3}); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func FuzzFormula(f *testing.F) {
	for _, seed := range []string{"n * m + 1", "n if m > 2 else 0x1p3", "min(n, -m, .5) ** 2 // 3", "1 < n <= m and not flag", "n in [1, 'x']"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		formula, err := ParseFormula(text)
		if err != nil {
			if fault, ok := errors.AsType[*ExprError](err); !ok || fault.Column < 1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if x, err := formula.Value(formulaValues); err == nil && x-x != 0 {
			t.Fatalf("%q is %v", text, x)
		}
		for _, m := range formula.Mentions() {
			if at := string([]rune(text)[m.Column-1:]); !strings.HasPrefix(at, m.Name) {
				t.Fatalf("%q has %s at %d", text, m.Name, m.Column)
			}
		}
	})
}
