package space

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var formulaValues = map[string]Value{
	"n": IntValue(10), "m": IntValue(3), "packed": BoolValue(true), "flag": BoolValue(false), "share": FloatValue(0.5), "order": StringValue("row"),
}

func TestFormula(t *testing.T) {
	for text, want := range map[string]any{
		"n": 10, "n*m+1": 31, "2**3**2": 512, "-n + 1": -9, "-2**2": -4, "2**-1": 0.5, "n/4": 2.5, "n/5": 2.0, "n//4": 2, "-n//4": -3, "n%4": 2, "-n%4": 2,
		"min(n, m, 7)": 3, "max(n,m)": 10, "min(n)": 10, "abs(m-n)": 7, "(n+1)*2": 22, ".5*n": 5.0, "1e-2": 0.01, "1e3": 1000.0,
		// Numbers in any notation of Go.
		"0x10": 16, "0xe+1": 15, "0b101": 5, "0o17": 15, "1_000": 1000, "0x1.8p1": 3.0, "18446744073709551616": float64(1 << 64),
		// Where integers overflow, floats go on.
		"2 ** 62 * 4": float64(1 << 64), "9223372036854775807 + 1": float64(1 << 63), "-9223372036854775807 - 1": math.MinInt64,
		// Truth values are numbers, and numbers truth values.
		"n >= 10": true, "n != 10": false, "(n > 3) * m": 3, "n if m > 2 else m": 10, "n if m == 2 else m": 3, "1 if n < 3 else 2 if n < 11 else 3": 2,
		"m ? 4 : 5": 4, "not n": false, "!flag": true, "n and m": true, "n && flag": false, "flag or m": true, "1 < m <= n": true, "1 < n <= m": false,
		"n in [4, 10]": true, "n not in (4, 10)": false, "true + True": 2, "packed * 4": 4, "packed == 1": true, "packed in [1]": true, "share + packed": 1.5,
		"max(share, packed)": 1.0, "10 == 10.0": true, "abs(-share)": 0.5,
		// Texts compare.
		"order": "row", "order == 'row'": true, "order in ['column', 'row']": true, "4 if order != 'row' else 1": 1, "'-x' if packed else ''": "-x",
		// What is not needed may be inactive.
		"n if packed else gone": 10, "gone if flag else m": 3, "flag and gone": false, "m or gone": true,
	} {
		f, err := ParseFormula(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, _ := ValueOf(want)
		if got, err := f.Value(formulaValues); err != nil || got != v || f.String() != text || f.IsZero() {
			t.Errorf("%s = %v, %v; want %v", text, got, err, want)
		}
		if _, is := want.(bool); f.IsTruth() && !is {
			t.Errorf("%s is a truth value: %v", text, want)
		}
	}
	for text, want := range map[string]bool{"n >= 10": true, "not n": true, "n and m": true, "n in [4, 10]": true, "true": true, "n > 3 if m else not n": true,
		"n if m else not n": false, "n": false, "flag": false, "(n > 3) * m": false} {
		if f, err := ParseFormula(text); err != nil || f.IsTruth() != want {
			t.Errorf("%s is a truth value: %v, %v; want %v", text, f.IsTruth(), err, want)
		}
	}
	if !(Formula{}).IsZero() || (Formula{}).IsTruth() || (Formula{}).Mentions() != nil {
		t.Error("the zero formula is not zero")
	}
}

func TestFormulaErrors(t *testing.T) {
	for _, test := range []struct {
		text   string
		column int
		reason string
	}{
		{"", 1, "empty"}, {"n +", 4, "ends where a value should stand"}, {"n n", 3, "unexpected n"}, {"(n", 3, `expected ")"`}, {"n @", 3, `unexpected character '@'`},
		{"1.2.3", 1, "not a finite number"}, {"n * 08x", 5, "leading zero"}, {"017", 1, "leading zero"}, {"n * 1e999", 5, "not a finite number"}, {"min n", 5, `expected "("`}, {"min()", 1, "at least one"},
		{"n if m", 7, `an if has no else: `}, {"mni(n, 2)", 1, `did you mean "min"`},
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
		"n/0": "n/0 divides by zero", "n // flag": "divides by zero", "n % 0": "divides by zero", "10**400": "10**400 has no finite value", "(0-8)**0.5": "no finite value", "n > (-8)**0.5": "no finite value",
		"n + q": "n + q reads q, which is inactive here", "min(n, q)": "reads q", "q > 1 or n": "reads q", "1 / 10**400": "no finite value",
		"order + 1": "order + 1 computes with the text row", "not order": "takes the text row for true or false", "n == order": "compares 10 with row",
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
	params := []Parameter{Range("n", -3, 3), Pow2("m", 1, 8), Bool("packed"), Floats("share", 0.5, 2.25), Enum("order", "row", "column")}
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{
		"n * m + 1", "n // m", "n % m", "-n // m % 3", "share / m", "share // 0.5", "n % share", "abs(n) ** 2", "min(n, m, 2)", "max(share, n)", "m if packed else -n",
		"packed * m + (n > 1)", "packed < n", "n and packed", "not n or share", "order == 'row' ? m : 0.5", "packed in [n, 1]", "min(m)", "-packed", "1 if n else packed",
	} {
		f, err := ParseFormula(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			ords, values := make([]int, len(params)), map[string]Value{}
			for i, p := range params {
				ords[i] = r.IntN(p.Len())
				values[p.Name] = p.At(ords[i])
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

// TestFormulaCheck: the types of a formula are checked as those of a constraint are.
func TestFormulaCheck(t *testing.T) {
	params := []Parameter{Range("n", 1, 9), Bool("packed"), Enum("order", "row", "column"), Values("share", IntValue(1), FloatValue(2.5))}
	for text, want := range map[string]string{
		"n * packed": "", "order == 'row'": "", "order": "text", "'x' if packed else order": "text", "share // 2": "", "4 if order == 'row' else 1": "",
		"n * order": "column 5: * needs numbers, this is a string", "order == 'rwo'": `column 10: parameter "order" has no value "rwo" (did you mean "row"?)`,
		"m + 1": `column 1: there is no parameter "m"`, "n == 'row'": "column 6: a string cannot be compared with an integer",
	} {
		f, err := ParseFormula(text)
		if err != nil {
			t.Fatal(err)
		}
		isText, err := f.Check(params)
		if wantText := want == "text"; err == nil && isText == wantText && (want == "" || wantText) {
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) || want == "" {
			t.Errorf("%s: %t, %v; want %q", text, isText, err, want)
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
		"n && tile or (tile and n)":        "10 && tile or (tile and 10)",
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
		if v, err := formula.Value(formulaValues); err == nil && v.kind == kindFloat && !Finite(v.float()) {
			t.Fatalf("%q is %v", text, v)
		}
		for _, m := range formula.Mentions() {
			if at := string([]rune(text)[m.Column-1:]); !strings.HasPrefix(at, m.Name) {
				t.Fatalf("%q has %s at %d", text, m.Name, m.Column)
			}
		}
	})
}
