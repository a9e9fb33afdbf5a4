package t1

import (
	"bufio"
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"tune/space"
)

// The tables were printed by Python 3.11. Values.tsv has expressions and their repr, or "error"; conditions.tsv has
// expressions over the parameters below and, in hexadecimal after a leading 1, a bit for every combination in order:
// whether it is true, an exception being false.

// table calls do for every line.
func table(t *testing.T, name string, do func(expression, result string)) {
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	count := 0
	for ; lines.Scan(); count++ {
		quoted, result, ok := strings.Cut(lines.Text(), "\t")
		var expression string
		if err := json.Unmarshal([]byte(quoted), &expression); err != nil || !ok {
			t.Fatalf("%s:%d: %v", name, count+1, err)
		}
		do(expression, result)
	}
	if err := lines.Err(); err != nil || count < 100 {
		t.Fatalf("%s: %d lines, %v", name, count, err)
	}
}

func TestValuesAgreeWithPython(t *testing.T) {
	table(t, "values.tsv", func(expression, want string) {
		got := "error"
		if n, err := parseExpr(expression); err == nil {
			if v, err := newEvaluator(expression).eval(n, nil); err == nil {
				got = show(v)
			}
		}
		if got != want {
			t.Errorf("%s is %s, Python has %s", expression, got, want)
		}
	})
}

func TestConditionsAgreeWithPython(t *testing.T) {
	params := []space.Parameter{
		space.Ints("a", -3, 0, 1, 2, 5), space.Ints("b", 1, 2, 4, 8), space.Floats("f", 0.5, 1.5, -2), space.Bool("t"), space.Enum("s", "x", "yy", "z"),
	}
	all, err := space.New("all", params)
	if err != nil {
		t.Fatal(err)
	}
	table(t, "conditions.tsv", func(expression, packed string) {
		bits, ok := new(big.Int).SetString(packed, 16)
		if !ok {
			t.Fatalf("%s: %q", expression, packed)
		}
		want := bits.Text(2)[1:]
		text, err := newTranslator(params).condition(expression)
		if err != nil {
			// What is constant and raises an exception in Python is refused.
			if strings.Contains(want, "1") {
				t.Errorf("%s: %v", expression, err)
			}
			return
		}
		s, err := space.New("one", params, text)
		if err != nil {
			if strings.Contains(want, "1") || !strings.Contains(err.Error(), "never true") && !strings.Contains(err.Error(), "has no point") && !strings.Contains(err.Error(), "no value") {
				t.Errorf("%s became %s: %v", expression, text, err)
			}
			return
		}
		i := 0
		for p := range all.All() {
			_, err := s.FromOrdinals(p.Ordinals())
			if (err == nil) != (want[i] == '1') {
				t.Errorf("%s became %s, which is %t at %v", expression, text, err == nil, p)
				break
			}
			i++
		}
	})
}
