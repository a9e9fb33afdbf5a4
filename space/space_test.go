package space

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func demo(t testing.TB) *Space {
	t.Helper()
	s, err := New("demo", []Parameter{
		Range("lanes", 1, 32).WithDefault(3),
		Pow2("tile", 8, 128),
		Enum("order", "kind", "lane", "diagonal"),
		Range("stagger", 1, 8).If("order == 'diagonal'"),
		Bool("packed"),
	}, "lanes * tile <= 512")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewErrors(t *testing.T) {
	ok := Range("a", 0, 5)
	for _, test := range []struct {
		name        string
		params      []Parameter
		constraints []string
		want        string
	}{
		{"no parameters", nil, nil, `space "x": it has no parameters`},
		{"many parameters", make([]Parameter, maxParameters+1), nil, "it has 1025 parameters, more than 1024"},
		{"many constraints", []Parameter{ok}, make([]string, maxConstraints+1), "it has 4097 constraints, more than 4096"},
		{"no name", []Parameter{Bool("")}, nil, "parameter 1: it has no name"},
		{"a dash", []Parameter{Bool("tile-size")}, nil, `"tile-size" is not an identifier (letters, digits and underscores, not starting with a digit) (did you mean "tile_size"?)`},
		{"bad name", []Parameter{Bool("2x")}, nil, `"2x" is not an identifier (letters, digits and underscores, not starting with a digit)`},
		{"long name", []Parameter{Bool(strings.Repeat("x", 2000))}, nil, "its name is longer than"},
		{"keyword", []Parameter{Bool("min")}, nil, `"min" is a word of the expression language`},
		{"duplicate", []Parameter{ok, Bool("a")}, nil, `parameter "a": another parameter has the same name`},
		{"no type", []Parameter{{Name: "x"}}, nil, "it has no type"},
		{"empty enum", []Parameter{Enum("x")}, nil, "the domain is empty: list its values"},
		{"twice", []Parameter{Ints("x", 1, 2, 1)}, nil, `parameter "x": the value 1 is listed twice`},
		{"mixed", []Parameter{Values("x", IntValue(1), StringValue("a"))}, nil, "the values mix the int 1 and the string a"},
		{"many values", []Parameter{Ints("x", make([]int, maxValues+1)...)}, nil, `parameter "x": the domain lists `},
		{"zero value", []Parameter{Values("x", Value{})}, nil, "a value is missing"},
		{"NaN", []Parameter{Floats("x", math.NaN())}, nil, "not a finite number"},
		{"Inf", []Parameter{Floats("x", 1, math.Inf(-1))}, nil, "not a finite number"},
		{"unprintable", []Parameter{Enum("x", "a\nb")}, nil, `value "a\nb" has characters that cannot be printed`},
		{"not UTF-8", []Parameter{Enum("x", "\xff")}, nil, "cannot be printed"},
		{"long value", []Parameter{Enum("x", strings.Repeat("x", 2000))}, nil, "a value is longer than"},
		{"doc", []Parameter{ok.Describe("\xff")}, nil, "its doc is not valid UTF-8"},
		{"from > to", []Parameter{Range("x", 3, 2)}, nil, "from 3 is greater than to 2"},
		{"step 0", []Parameter{Stepped("x", 1, 2, 0)}, nil, "step 0 is not at least 1"},
		{"step < 0", []Parameter{Stepped("x", 1, 2, -1)}, nil, "step -1 is not at least 1"},
		{"huge", []Parameter{Range("x", math.MinInt64, math.MaxInt64)}, nil, "has more than 2^62 values"},
		{"not a power", []Parameter{Pow2("x", 3, 8)}, nil, "3 is not a power of two: write 2 or 4"},
		{"no power", []Parameter{Pow2("x", 0, 8)}, nil, "0 is not a power of two: the least is 1"},
		{"power from > to", []Parameter{Pow2("x", 8, 4)}, nil, "from 8 is greater than to 4"},
		{"bool with values", []Parameter{{Name: "x", Type: TypeBool, Values: []Value{BoolValue(true)}}}, nil, "type bool takes no list of values"},
		{"enum with range", []Parameter{{Name: "x", Type: TypeEnum, From: 1}}, nil, "type enum takes no from and to"},
		{"pow2 with step", []Parameter{{Name: "x", Type: TypePow2, From: 1, To: 2, Step: 1}}, nil, "type pow2 takes no step"},
		{"default outside", []Parameter{ok.WithDefault(6)}, nil, "default 6 is not in the domain 0..5"},
		{"default of a kind", []Parameter{ok.WithDefault("1")}, nil, "default 1 is not in the domain"},
		{"default of a type", []Parameter{ok.WithDefault([]int{1})}, nil, "a value cannot be a []int"},
		{"default nil", []Parameter{ok.WithDefault(nil)}, nil, "a value cannot be a <nil>"},
		{"condition looks ahead", []Parameter{ok.If("b"), Bool("b")}, nil, `parameter "a": condition: column 1: a condition may name only parameters declared before it`},
		{"condition on itself", []Parameter{ok.If("a > 1")}, nil, "a condition cannot name its own parameter"},
		{"condition ahead", []Parameter{Bool("x").If("y"), Bool("y")}, nil, "declared before it: move y before x"},
		{"circle", []Parameter{Bool("x").If("z"), Bool("y").If("x"), Bool("z").If("y and x")}, nil, "these conditions go in a circle: x needs z, z needs y, y needs x: leave one of them out"},
		{"condition unknown", []Parameter{ok, Bool("b").If("aa > 1")}, nil, `(did you mean "a"?)`},
		{"constraint", []Parameter{ok}, []string{"a > 1", "a +"}, "constraint 2: column 4: "},
		{"constant false", []Parameter{ok}, []string{"1 > 2"}, "constraint 1: 1 > 2 is never true: leave it out, or mend it"},
		{"no point", []Parameter{ok, Range("b", 0, 5)}, []string{"a < 5", "a > 9", "b > 9"}, "it has no point: none satisfies a > 9; none satisfies b > 9"},
		{"contradiction", []Parameter{ok, Range("b", 0, 5)}, []string{"a < b", "a + b > 3", "a > b"}, "it has no point: these 2 constraints conflict, of which any smaller set can be satisfied: a < b; a > b"},
		{"hidden", []Parameter{Range("a", 0, 1<<50), Range("b", 0, 1<<50)}, []string{"a * b == 7 and a == 2"}, "no point was found that satisfies its constraints, in 1000 steps of search and 1000 random draws"},
	} {
		t.Run(test.name, func(t *testing.T) {
			small := limits{edges: 1000, steps: 1000, draws: 1000}
			s, err := newSpace("x", test.params, test.constraints, small)
			if s != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestParameterDomains(t *testing.T) {
	for _, test := range []struct {
		p      Parameter
		values string
		domain string
	}{
		{Range("x", -1, 2), "-1 0 1 2", "-1..2"},
		{Stepped("x", 1, 9, 3), "1 4 7", "1..9 step 3"},
		{Stepped("x", math.MinInt64, math.MaxInt64, math.MaxInt64), fmt.Sprint(math.MinInt64, -1, math.MaxInt64-1), "-9223372036854775808..9223372036854775807 step 9223372036854775807"},
		{Pow2("x", 2, 16), "2 4 8 16", "2..16 (powers of two)"},
		{Pow2("x", 1<<62, 1<<62), "4611686018427387904", "4611686018427387904..4611686018427387904 (powers of two)"},
		{Enum("x", "a b", "", "it's", "1", "c=d"), `"a b" "" "it's" 1 "c=d"`, `"a b", "", "it's", 1, "c=d"`},
		{Ints("x", 3, 1), "3 1", "3, 1"},
		{Floats("x", 1, 2.5, 1e21), "1.0 2.5 1e+21", "1.0, 2.5, 1e+21"},
		{Bool("x"), "false true", "false, true"},
	} {
		var texts []string
		for i := range test.p.Len() {
			v := test.p.At(i)
			texts = append(texts, v.String())
			if j, ok := test.p.Ordinal(v); !ok || j != i {
				t.Errorf("%v: the ordinal of %v is %d, %t", test.domain, v, j, ok)
			}
			if w, err := test.p.ParseValue(v.String()); err != nil || w != v {
				t.Errorf("%v: ParseValue(%v) = %v, %v", test.domain, v, w, err)
			}
		}
		if got := strings.Join(texts, " "); got != test.values || test.p.Domain() != test.domain {
			t.Errorf("got %s in %s, want %s in %s", got, test.p.Domain(), test.values, test.domain)
		}
	}
	for _, p := range []Parameter{Stepped("x", 0, 3, 2), Pow2("x", 2, 8), Enum("x", "a"), Bool("x"), Floats("x", 0.5), {}, {Type: 77}, Range("x", math.MinInt, math.MaxInt)} {
		for _, v := range []Value{{}, IntValue(1), IntValue(16), IntValue(-1), IntValue(3), FloatValue(1.5), StringValue("b"), FloatValue(math.Inf(1)), FloatValue(math.NaN())} {
			if _, ok := p.Ordinal(v); ok {
				t.Errorf("%s has %v", p.Domain(), v)
			}
		}
	}
	if got := Ints("x", make([]int, 40)...).Domain(); !strings.HasSuffix(got, "… 28 more") {
		t.Errorf("a long domain is shown as %s", got)
	}
}

func TestMixedNumbersBecomeFloats(t *testing.T) {
	s, err := New("x", []Parameter{Values("a", IntValue(1), FloatValue(2.5)).WithDefault(1)}, "a in [1, 2.5]")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Default().Key(); got != "a=1.0" {
		t.Errorf("the default is %s", got)
	}
}

func TestDemo(t *testing.T) {
	s := demo(t)
	if n, ok := s.Len(); !ok || n != 1840 {
		t.Errorf("Len = %d, %t", n, ok)
	}
	if got := s.Product().String(); got != "7680" {
		t.Errorf("Product = %s", got)
	}
	p := s.Default()
	if got := p.Key(); got != "lanes=3 tile=8 order=kind packed=false" {
		t.Errorf("Default = %s", got)
	}
	if p.Int("lanes") != 3 || p.Str("order") != "kind" || p.Bool("packed") || p.Float("tile") != 8 || p.Int("stagger") != 0 {
		t.Errorf("the getters of %v do not agree with it", p)
	}
	if v, ok := p.Value("tile"); !ok || v != IntValue(8) {
		t.Errorf("Value(tile) = %v, %t", v, ok)
	}
	if p.Active("stagger") || !p.Has("stagger") || p.Has("staggers") || p.Active("nothing") || !p.Active("lanes") {
		t.Error("Active or Has is wrong")
	}
	if got := p.Ordinals(); !slices.Equal(got, []int{2, 0, 0, -1, 0}) || p.Ordinal(3) != -1 {
		t.Errorf("Ordinals = %v", got)
	}
	data, err := json.Marshal(struct{ P, Q Point }{P: p})
	if want := `{"P":{"lanes":3,"tile":8,"order":"kind","packed":false},"Q":null}`; err != nil || string(data) != want {
		t.Errorf("JSON is %s, %v", data, err)
	}
	if q, err := s.Make(map[string]any{"order": "diagonal", "tile": json.Number("16"), "lanes": uint8(4), "stagger": 2.0}); err != nil || q.Key() != "lanes=4 tile=16 order=diagonal stagger=2 packed=false" {
		t.Errorf("Make = %v, %v", q, err)
	}
	if q, err := s.Parse(`  packed=true tile=16  order="lane" lanes=4 `); err != nil || q.Key() != "lanes=4 tile=16 order=lane packed=true" {
		t.Errorf("Parse = %v, %v", q, err)
	}
	if got := s.Constraints(); !slices.Equal(got, []string{"lanes * tile <= 512"}) || s.Name() != "demo" || len(s.Parameters()) != 5 {
		t.Errorf("the definition is %v", got)
	}
	if q, ok := s.Parameter("tile"); !ok || q.Len() != 5 {
		t.Errorf("Parameter(tile) = %v, %t", q, ok)
	}
	if _, ok := s.Parameter("x"); ok {
		t.Error("there is a parameter x")
	}
}

func TestPointErrors(t *testing.T) {
	s := demo(t)
	do := func(values map[string]any) func() error {
		return func() error { _, err := s.Make(values); return err }
	}
	parse := func(key string) func() error {
		return func() error { _, err := s.Parse(key); return err }
	}
	unmarshal := func(text string) func() error {
		return func() error { _, err := s.UnmarshalPoint([]byte(text)); return err }
	}
	ordinals := func(ords ...int) func() error {
		return func() error { _, err := s.FromOrdinals(ords); return err }
	}
	for _, test := range []struct {
		do   func() error
		want string
	}{
		{do(map[string]any{"lane": 3}), `space "demo" has no parameter "lane" (did you mean "lanes"?)`},
		{do(map[string]any{"lanes": "3"}), `parameter "lanes" takes int values, not the string 3`},
		{do(map[string]any{"lanes": 2.5}), `parameter "lanes" takes int values, not the float 2.5`},
		{do(map[string]any{"lanes": 33}), `parameter "lanes" has no value 33; its domain is 1..32`},
		{do(map[string]any{"lanes": uint64(math.MaxUint64)}), `parameter "lanes": 18446744073709551615 does not fit a 64-bit signed integer`},
		{do(map[string]any{"lanes": nil}), "a value cannot be a <nil>"},
		{do(map[string]any{"lanes": Value{}}), "the zero Value holds nothing"},
		{do(map[string]any{"order": "lanes"}), `has no value lanes (did you mean "lane"?); its domain is kind, lane, diagonal`},
		{do(map[string]any{"stagger": 3}), `parameter "stagger" is inactive here: its condition order == 'diagonal' is not true`},
		{do(map[string]any{"lanes": 32, "tile": 128}), "constraint lanes * tile <= 512 is broken by lanes=32 tile=128"},
		{parse(""), `parameter "lanes" is missing`},
		{parse("lanes=3 tile=8 order=diagonal packed=false"), `parameter "stagger" is missing`},
		{parse("lanes=3 lanes=3"), "given twice"},
		{parse("lanes"), "expected name=value"},
		{parse("lanes tile=3"), "expected name=value"},
		{parse(`{"lanes": 4, "order":"kind"}`), `expected name=value at "{\"lanes\": 4, \"order\":\"kind\"}": write 'lanes=4 order="kind"'`},
		{parse("lanes: 4"), `expected name=value at "lanes: 4": write 'lanes=4'`},
		{parse("lanes="), `"" is not an integer`},
		{parse("lanes=3x"), `"3x" is not an integer`},
		{parse("lanes=3,x=1"), `"3,x=1" is not an integer: parameters are separated by spaces`},
		{parse(`order="lane"x`), `expected a blank at "x"`},
		{parse(`order="lane`), `is not a quoted string`},
		{parse("packed=yes"), `parameter "packed": "yes" is neither true nor false`},
		{parse("lines=3"), "did you mean"},
		{unmarshal(""), "not a JSON object"},
		{unmarshal("[]"), "not a JSON object"},
		{unmarshal(`{"lanes":3`), "unexpected EOF"},
		{unmarshal(`{"lanes":[3]}`), `parameter "lanes" is not a number, string or boolean`},
		{unmarshal(`{"lanes":null}`), "not a number, string or boolean"},
		{unmarshal(`{"lanes":3,"lanes":3}`), "given twice"},
		{unmarshal(`{"lines":3}`), "did you mean"},
		{unmarshal(`{"lanes":1e400}`), "not a finite number"},
		{unmarshal(`{"lanes":3}`), `parameter "tile" is missing`},
		{unmarshal(`{"lanes":3} {}`), "has something after its end"},
		{ordinals(1, 2), "2 ordinals for 5 parameters"},
		{ordinals(-1, 0, 0, 0, 0), `parameter "lanes" is active and has no value with ordinal -1, only 0 to 31`},
		{ordinals(31, 4, 0, 0, 0), "is broken by lanes=32 tile=128"},
	} {
		if err := test.do(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
	var broken *ConstraintError
	if err := s.Explain([]int{31, 4, 0, 0, 0}); !errors.As(err, &broken) || broken.Constraint != "lanes * tile <= 512" {
		t.Errorf("Explain = %v", err)
	}
	if p, err := s.FromOrdinals([]int{0, 0, 0, 99, 0}); err != nil || p.Ordinal(3) != -1 {
		t.Errorf("an inactive ordinal was not ignored: %v, %v", p, err)
	}
}

func TestGettersPanic(t *testing.T) {
	s := demo(t)
	for _, test := range []struct {
		do   func()
		want string
	}{
		{func() { s.Default().Int("lane") }, `: space "demo" has no such parameter: want one of `},
		{func() { s.Default().Int("lane") }, `space: Int("lane") in space_test.go:`},
		{func() { s.Default().Int("order") }, ": the parameter holds string values: call Str"},
		{func() { s.Default().Str("lanes") }, "the parameter holds int values"},
		{func() { s.Default().Bool("lanes") }, "the parameter holds int values"},
		{func() { s.Default().Float("packed") }, ": the parameter holds bool values: call Bool"},
		{func() { Point{}.Int("lanes") }, "of the zero Point"},
		{func() { s.At(1840) }, "has 1840 points"},
		{func() { Range("x", 0, 1).At(2) }, "outside its domain of 2 values"},
		{func() { s.Neighbours(Point{}, Adjacent) }, "does not belong"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, test.want) {
					t.Errorf("panic %q, want %q", got, test.want)
				}
			}()
			test.do()
		}()
	}
}

func TestZeroPoint(t *testing.T) {
	var p Point
	if !p.IsZero() || p.Key() != "" || p.String() != "" || p.Has("x") || p.Active("x") || len(p.Ordinals()) != 0 || !p.Equal(Point{}) || p.Space() != nil {
		t.Error("the zero Point is not empty")
	}
	s := demo(t)
	if s.Default().Equal(p) || p.Equal(s.Default()) || s.Default().IsZero() || s.Default().Space() != s {
		t.Error("the zero Point equals another")
	}
	if _, ok := s.Index(p); ok {
		t.Error("the zero Point has an index")
	}
	if q := demo(t).Default(); !q.Equal(s.Default()) {
		t.Error("points of equal spaces differ")
	}
}

func TestFingerprint(t *testing.T) {
	base := []Parameter{Range("a", 1, 4), Enum("b", "x", "y"), Bool("c").If("a > 1")}
	print := func(params []Parameter, constraints ...string) string {
		s, err := New("name", params, constraints...)
		if err != nil {
			t.Fatal(err)
		}
		return s.Fingerprint()
	}
	want := print(base, "a != 2 and b == 'x'", "a < 4")
	same := []Parameter{base[0].WithDefault(3).Describe("doc"), base[1], Bool("c").If("(a>1)")}
	if got := print(same, "a<4", `a!=2 && b=="x"`); got != want || len(got) != 16 {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]bool{want: true}
	for i, got := range []string{
		print(base), print(base, "a < 4"), print([]Parameter{base[1], base[0], base[2]}), print([]Parameter{base[0], base[1], Bool("c")}),
		print([]Parameter{Range("a", 1, 5), base[1], base[2]}), print([]Parameter{base[0], Enum("b", "x y"), base[2]}),
		print([]Parameter{Pow2("a", 1, 8), base[1], base[2]}), print([]Parameter{Ints("a", 1, 2, 3, 4), base[1], base[2]}),
	} {
		if seen[got] {
			t.Errorf("definition %d has the fingerprint of another", i)
		}
		seen[got] = true
	}
}

// TestFingerprintIsPinned fails where a change would orphan the journals that users have.
func TestFingerprintIsPinned(t *testing.T) {
	if got := demo(t).Fingerprint(); got != "6d5143979d69ac10" {
		t.Errorf("the fingerprint has become %s", got)
	}
}

func TestDefaultFallsBack(t *testing.T) {
	for _, test := range []struct {
		params     []Parameter
		constraint string
		want       string
	}{
		{[]Parameter{Range("a", 0, 5), Range("b", 0, 5).WithDefault(4)}, "a > b", "a=1 b=0"},
		// Too wide for a diagram, yet found by search, then by chance.
		{[]Parameter{Range("a", 7, 1<<40), Range("b", 0, 1<<40)}, "b > a", "a=7 b=8"},
		{[]Parameter{Range("a", 0, 1<<40), Bool("b")}, "a > 100000000 and b", ""},
	} {
		s, err := New("x", test.params, test.constraint)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Default().Key(); test.want != "" && got != test.want {
			t.Errorf("the default under %s is %s, want %s", test.constraint, got, test.want)
		}
		if err := s.Explain(s.Default().Ordinals()); err != nil {
			t.Error(err)
		}
	}
}

// TestConditionOfInactive: a condition is not true where a parameter that it reads is inactive, even if it is true for every value of that.
func TestConditionOfInactive(t *testing.T) {
	s, err := New("x", []Parameter{Bool("a"), Range("b", 1, 2), Ints("c", 5, 6).If("a"), Bool("d").If("b < c")})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := s.Len(); n != 2+2*2*2 {
		t.Errorf("%d points", n)
	}
	for i := range uint64(2) {
		if p := s.At(i); p.Key() != fmt.Sprintf("a=false b=%d", i+1) {
			t.Errorf("point %d is %s", i, p.Key())
		}
	}
}

func TestNewlyActiveParametersFit(t *testing.T) {
	s, err := New("x", []Parameter{
		Bool("on"), Range("a", 0, 9).If("on").WithDefault(2), Range("b", 0, 9).If("on"), Range("c", 0, 3),
	}, "a + b >= 11 + c")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Parse("on=false c=1")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, q := range s.Neighbours(p, Adjacent) {
		keys = append(keys, q.Key())
	}
	want := []string{"on=true a=3 b=9 c=1", "on=false c=0", "on=false c=2"}
	if !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
}

func TestMovesInWideDomains(t *testing.T) {
	if got := moves(5, 1<<40, Adjacent); !slices.Equal(got, []int{4, 6}) {
		t.Errorf("Adjacent: %v", got)
	}
	got := moves(5, 2000, AnyValue)
	want := []int{0, 1, 3, 4, 6, 7, 9, 13, 21, 37, 69, 133, 261, 517, 1029, 1999}
	if !slices.Equal(got, want) {
		t.Errorf("AnyValue: %v, want %v", got, want)
	}
	if got := len(moves(1<<61, 1<<62, AnyValue)); got > 200 {
		t.Errorf("%d moves in the widest domain", got)
	}
}

// chiSquare returns the statistic of counts against equal weights, or the given ones, in standard
// deviations from its mean [Wilson and Hilferty, "The distribution of chi-square", PNAS 17, 1931].
func chiSquare(counts []int, weights []float64) float64 {
	total, sum := 0, 0.0
	for i, n := range counts {
		total += n
		if weights == nil {
			sum++
		} else {
			sum += weights[i]
		}
	}
	x := 0.0
	for i, n := range counts {
		expected := float64(total) / sum
		if weights != nil {
			expected *= weights[i]
		}
		x += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	k := float64(len(counts) - 1)
	return (math.Cbrt(x/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

func TestSampleIsUniform(t *testing.T) {
	params := []Parameter{
		Range("a", 1, 8), Enum("b", "x", "y", "z"), Range("c", 1, 6).If("b == 'y'"), Bool("d").If("c > 2 or b == 'z'"),
	}
	constraints := []string{"a * c <= 20", "a != 3 or b == 'x'"}
	points := len(bruteForce(params, constraints))
	for _, edges := range []int{1 << 20, 30, 12, 3} {
		s, err := newSpace("x", params, constraints, limits{edges: edges, steps: 1000, draws: 1000})
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int, points)
		place := map[string]int{}
		for p := range s.All() {
			place[p.Key()] = len(place)
		}
		r := rand.New(rand.NewPCG(7, 8))
		for range 200 * points {
			p, err := s.Sample(r)
			if err != nil {
				t.Fatal(err)
			}
			counts[place[p.Key()]]++
		}
		if z := chiSquare(counts, nil); math.Abs(z) > 4 || len(place) != points {
			t.Errorf("with %d edges (partial %t) the draws are %.1f standard deviations from uniform over %d points", edges, s.partial, z, points)
		}
	}
}

// TestSampleOfSaturatedSpace looks at one parameter of a space with more than 2^64 points.
func TestSampleOfSaturatedSpace(t *testing.T) {
	params := []Parameter{Enum("a", "x", "y", "z"), Range("u", 0, 1<<61), Range("v", 0, 1<<61), Range("w", 1, 4), Pow2("tail", 1, 4)}
	for i := range 20 {
		params = append(params, Range(fmt.Sprintf("wide%d", i), 0, 1<<61))
	}
	s, err := New("x", params, "a == 'x' or w > 2", "a != 'z' or w < 4")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Len(); ok || s.partial {
		t.Error("Len is known")
	}
	if _, ok := s.Index(s.Default()); ok {
		t.Error("Index is known")
	}
	counts := make([]int, 3)
	r := rand.New(rand.NewPCG(9, 9))
	for range 7000 {
		p, err := s.Sample(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Explain(p.ords); err != nil {
			t.Fatal(err)
		}
		counts[p.ords[0]]++
	}
	if z := chiSquare(counts, []float64{4, 2, 1}); math.Abs(z) > 4 {
		t.Errorf("draws of 4:2:1 are %v", counts)
	}
	n := 0
	for p := range s.All() {
		if err := s.Explain(p.ords); err != nil {
			t.Fatal(err)
		}
		if n++; n == 1000 {
			break
		}
	}
}

func TestWideDomains(t *testing.T) {
	free, err := New("x", []Parameter{Range("a", 0, 1<<40), Range("b", 1, 3).If("c"), Bool("c")})
	if free != nil || err == nil {
		t.Fatal("a condition that looks ahead was accepted")
	}
	free, err = New("x", []Parameter{Range("a", 0, 1<<40), Bool("c"), Range("b", 1, 3).If("c")})
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := free.Len(); !ok || n != (1<<40+1)*4 {
		t.Errorf("Len = %d, %t", n, ok)
	}
	if p := free.At(1 << 40); p.Key() != "a=274877906944 c=false" {
		t.Errorf("At = %v", p)
	}
	if i, ok := free.Index(free.At(1<<41 + 3)); !ok || i != 1<<41+3 {
		t.Errorf("Index = %d, %t", i, ok)
	}
	tested, err := New("x", []Parameter{Range("a", 0, 1<<40), Range("b", 0, 1<<40), Bool("c").If("a > 5 and b > 5")}, "a <= b")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tested.Len(); ok {
		t.Error("Len is known")
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		p, err := tested.Sample(r)
		if err != nil {
			t.Fatal(err)
		}
		if p.Int("a") > p.Int("b") || p.Active("c") != (p.Int("a") > 5 && p.Int("b") > 5) {
			t.Fatalf("%v is no point", p)
		}
		for _, q := range tested.Neighbours(p, AnyValue) {
			if err := tested.Explain(q.ords); err != nil {
				t.Fatal(err)
			}
		}
	}
	var keys []string
	for p := range tested.All() {
		if keys = append(keys, p.Key()); len(keys) == 2 {
			break
		}
	}
	if !slices.Equal(keys, []string{"a=0 b=0", "a=0 b=1"}) {
		t.Errorf("All begins with %q", keys)
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "is not known") {
			t.Errorf("At panics with %q", got)
		}
	}()
	tested.At(0)
}

func TestSampleGivesUp(t *testing.T) {
	s, err := newSpace("x", []Parameter{Range("a", 0, 1<<40), Range("b", 0, 1<<40)}, []string{"a == b"}, limits{edges: 100, steps: 100, draws: 100})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Sample(rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "100 random draws in a row broke a constraint that is too wide to count") {
		t.Errorf("Sample = %v, %v", p, err)
	}
}

func TestManyLiveParameters(t *testing.T) {
	// A chain of constraints that all reach the last parameter keeps 70 parameters live, more than one
	// 64-bit state can hold, while few combinations survive.
	var params []Parameter
	var constraints []string
	for i := range 70 {
		params = append(params, Range(fmt.Sprintf("x%d", i), 0, 1))
		if i > 0 {
			constraints = append(constraints, fmt.Sprintf("x%d <= x%d", i-1, i))
			constraints = append(constraints, fmt.Sprintf("x%d >= 0 or last == 1", i-1))
		}
	}
	params = append(params, Range("skip", 0, 2), Range("last", 0, 1))
	s, err := New("x", params, constraints...)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := s.Len(); !ok || n != 71*3*2 {
		t.Errorf("Len = %d, %t", n, ok)
	}
}

func TestNearest(t *testing.T) {
	want := []string{"lanes", "tile", "order", "unroll", "MR"}
	for _, test := range []struct{ got, near string }{
		{"lane", "lanes"}, {"laens", "lanes"}, {"Tile", "tile"}, {"unrol", "unroll"}, {"mr", "MR"}, {"unrlol_", "unroll"},
		{"xyz", ""}, {"", ""}, {"m", "MR"}, {"x", ""}, {strings.Repeat("lanes", 1000), ""},
	} {
		if got := Nearest(test.got, want); got != test.near {
			t.Errorf("Nearest(%.20q) = %q, want %q", test.got, got, test.near)
		}
	}
	if got := DidYouMean("lane", want); got != ` (did you mean "lanes"?)` {
		t.Errorf("DidYouMean = %q", got)
	}
	if got := DidYouMean("xyz", want); got != "" {
		t.Errorf("DidYouMean = %q", got)
	}
}

// TestDivisors: the divisors and multiples that a wide parameter may have are found without trying all, the negative ones too.
func TestDivisors(t *testing.T) {
	for _, c := range []struct {
		constraint string
		holds      func(n, x int) bool
	}{
		{"n % x == 0", func(n, x int) bool { return x != 0 && n%x == 0 }},
		{"x % n == 0", func(n, x int) bool { return x%n == 0 }},
		{"x % (n - 5) == 0", func(n, x int) bool { return n != 5 && x%(n-5) == 0 }},
		{"(n * n - 40) % x == 0", func(n, x int) bool { return x != 0 && (n*n-40)%x == 0 }},
	} {
		s, err := New("divisors", []Parameter{Range("n", 1, 24), Stepped("x", -120, 120, 3)}, c.constraint)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for n := 1; n <= 24; n++ {
			for x := -120; x <= 120; x += 3 {
				if c.holds(n, x) {
					want++
				}
			}
		}
		got := 0
		for p := range s.All() {
			if got++; !c.holds(p.Int("n"), p.Int("x")) {
				t.Errorf("%s: %s is a point", c.constraint, p)
			}
		}
		if n, ok := s.Len(); !ok || got != want || n != uint64(want) {
			t.Errorf("%s: %d points, %d are counted, want %d", c.constraint, got, n, want)
		}
	}
}

// TestWidestDomain: of a domain of 1,024 values a neighbour may have any, of a wider one those that are powers of two away.
func TestWidestDomain(t *testing.T) {
	for size, want := range map[int]int{2: 1, 3: 2, wideDomain - 1: wideDomain - 2, wideDomain: wideDomain - 1} {
		if got := moves(1, size, AnyValue); len(got) != want || !slices.IsSorted(got) || slices.Contains(got, 1) {
			t.Errorf("of %d values there are moves to %v", size, got)
		}
	}
	if got, want := moves(1, wideDomain+1, AnyValue), []int{0, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1024}; !slices.Equal(got, want) {
		t.Errorf("of %d values there are moves to %v, want %v", wideDomain+1, got, want)
	}
}
