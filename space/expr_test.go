package space

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exprParams is a scope with a parameter of every kind; stagger is inactive at exprOrdinals.
func exprParams() []Parameter {
	return []Parameter{
		Range("n", -4, 40), Pow2("tile", 8, 128), Enum("order", "kind", "lane", "diagonal"), Floats("share", 0.5, 0.25, 2),
		Bool("packed"), Range("stagger", 1, 8).If("order == 'diagonal'"), Ints("mr", 4, 6, 8), Range("big", math.MaxInt64-3, math.MaxInt64),
		Values("flag", BoolValue(true), BoolValue(false)),
	}
}

// n = 6, tile = 32, order = lane, share = 0.25, packed = true, stagger inactive, mr = 8,
// big = 2^63-1, flag = true
var exprOrdinals = []int{10, 2, 1, 1, 1, -1, 2, 3, 0}

func TestExprValues(t *testing.T) {
	for _, test := range []struct {
		expr string
		want truth
	}{
		{"n == 6 and tile == 32 && mr == 8", isTrue},
		{"1 <= n < tile < 33 != 34", isTrue},
		{"1 <= n < 6", isFalse},
		{"n in [1, 6]", isTrue},
		{"n in (1, 5,)", isFalse},
		{"n not in [1, 5]", isTrue},
		{"order in ['lane', 'kind']", isTrue},
		{"order in ['lane' if packed else 'kind']", isTrue},
		{`"kind" == order`, isFalse},
		{"order != 'kind'", isTrue},
		{"('a' if packed else 'b') == 'a'", isTrue},
		{"(order if packed else 'b') == order", isTrue},
		{"not packed or n > 100", isFalse},
		{"!packed == false", isTrue},
		{"not n == 5", isTrue},
		{"packed == flag != False", isTrue},
		{"packed ? n == 6 : n == 7", isTrue},
		{"(n == 7 if not packed else n == 6)", isTrue},
		{"n / 4 == 1.5", isTrue},
		{"n // 4 == 1 and n % 4 == 2", isTrue},
		{"-n // 4 == -2 and -n % 4 == 2 and n % -4 == -2", isTrue},
		{"-7.5 // 2 == -4 and -7.5 % 2 == 0.5", isTrue},
		{"2 ** 3 ** 2 == 512 and -2 ** 2 == -4 and 2.0 ** -1 == 0.5", isTrue},
		{"min(n, tile, 3) == 3 and max(n, 2.5) == 6 and abs(-n) == n and abs(-share) == share", isTrue},
		{"0x1F == 31 and 1e3 == 1000 and .5 == share * 2", isTrue},
		{"+n - -n == 12", isTrue},
		{"2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and 20 - 3 - 2 == 15", isTrue},
		{"true or n // 0 == 0", isTrue},
		// Truth values count as 1 and 0, and numbers but 0 are true.
		{"1 + packed == 2 and packed * 4 > 3 and -packed == -1", isTrue},
		{"packed == 1 and 1 < packed + flag", isTrue},
		{"packed <= flag and not packed < flag", isTrue},
		{"packed in [0, 1] and 1 in [packed, n]", isTrue},
		{"n and packed and not (n - 6)", isTrue},
		{"(8) and packed and (0.5)", isTrue},
		{"share and (1 if n else 2) == 1", isTrue},
		{"(packed if flag else 3) == 1 and (0.5 if not packed else flag) == 1", isTrue},
		{"min(n) == n and max(packed, 0.5) == 1 and abs(flag) == 1", isTrue},
		{"stagger and packed", isUnknown},
		{"n // (tile - 32) and packed", isFault},
		{"n > 0b101 and n < 0o17 and n < 1_000 and n < 99999999999999999999 and n // 0x1p2 == 1", isTrue},
		// Exact where a float could not tell: 2^63-1 is below 2^63.
		{"big < 9223372036854775808.0 and 9223372036854775808.0 > big", isTrue},
		{"big == 9223372036854775807", isTrue},
		// Faults.
		{"n // (tile - 32) == 1", isFault},
		{"n / (tile - 32) == 1", isFault},
		{"n % (tile - 32) == 1", isFault},
		{"big + n > 0", isFault},
		{"-big - n < 0", isFault},
		{"big * n > 0", isFault},
		{"n ** tile > 0", isFault},
		{"2 ** -n > 0", isFault},
		{"10.0 ** big > 0", isFault},
		{"packed or n // (tile - 32) == 1", isTrue},
		{"tile != 32 and n // (tile - 32) == 1", isFalse},
		// Unknown.
		{"stagger > 3", isUnknown},
		{"not stagger > 3", isUnknown},
		{"stagger > 3 or packed", isTrue},
		{"stagger > 3 or not packed", isUnknown},
		{"stagger > 3 and not packed", isFalse},
		{"stagger > 3 and packed", isUnknown},
		{"stagger in [1, n]", isUnknown},
		{"stagger * n + 1 == min(stagger, 2)", isUnknown},
		{"(1 if stagger > 2 else 1) == 1", isUnknown},
		{"stagger > 3 and n // (tile - 32) == 1", isFault},
	} {
		e, err := scopeOf(exprParams()).compile(test.expr, len(exprOrdinals))
		if err != nil {
			t.Errorf("%s: %v", test.expr, err)
		} else if got := e.eval(exprOrdinals); got != test.want {
			t.Errorf("%s is %d, want %d", test.expr, got, test.want)
		}
	}
}

func TestExprErrors(t *testing.T) {
	for _, test := range []struct {
		expr   string
		column int
		reason string
	}{
		{"", 1, "the expression is empty"},
		{"order == 'lane' or 'kind'", 20, "or needs true or false, and a text alone compares nothing: write the comparison, as in a == 'x' or a == 'y'"},
		{"  ", 3, "empty"},
		{"n", 1, "an integer; it has to be true or false"},
		{"n = 3", 3, "write =="},
		{"n =< 3", 3, "there is no =<; write <="},
		{"n => 3", 3, "there is no =>; write >="},
		{"n > 1 AND n < 3", 7, `unexpected AND after the end of the expression (did you mean "and"?)`},
		{"n & 3 == 0", 3, "there are no bitwise operators; write % 4 for & 3"},
		{"n & 1 == 0", 3, "there are no bitwise operators; write % 2 for & 1"},
		{"n & tile == 0", 3, "there are no bitwise operators; write && between conditions, and % for the lowest bits, as in a % 2"},
		{"n & 6 == 0", 3, "there are no bitwise operators; write && between conditions"},
		{"packed | packed", 8, "there are no bitwise operators; write ||"},
		{"n == 3 @", 8, `unexpected character '@'`},
		{"tiel < 3", 1, `there is no parameter "tiel" (did you mean "tile"?)`},
		{"order == 'lanes'", 10, `parameter "order" has no value "lanes" (did you mean "lane"?)`},
		{"order in ['kind', 'daigonal']", 19, `did you mean "diagonal"`},
		{"order < 'lane'", 9, "a string has no order; only == and != compare it"},
		{"order == 3", 10, "an integer cannot be compared with a string"},
		{"n == 'é' or n == true", 6, "a string cannot be compared with an integer"},
		{"share in ['é', 3] or tiel", 11, "cannot be compared"},
		{"order + 1 == 2", 1, "+ needs numbers, this is a string"},
		{"(1 if packed else 'a') == 1", 19, "the two sides of a conditional differ: an integer and a string"},
		{"n + 1 > ", 9, "ends where a value should stand"},
		{"(n > 1", 7, `expected ")"`},
		{"n > 1)", 6, "unexpected ) after the end of the expression"},
		{"n > 1 2", 7, "unexpected 2 after the end"},
		{"n in 3", 6, "expected a list such as [1, 2], found 3: write it in brackets, [3], or a range as comparisons, as in 1 <= a <= 4"},
		{"n in []", 6, "the list is empty"},
		{"n in [1 2]", 9, `expected ","`},
		{"n not 3", 7, `expected "in"`},
		{"n in [1] == packed", 10, "put parentheses around the test for membership"},
		{"1 < n in [1]", 7, "put parentheses around the comparison"},
		{"packed == not packed", 11, "put parentheses around the not"},
		{"mni(n, 2) > 1", 1, `there is no function "mni": want min, max or abs (did you mean "min"?)`},
		{"abs(n, 2) > 1", 1, "abs takes one argument, not 2"},
		{"min n > 1", 5, `expected "("`},
		{"n > 012", 5, "octal"},
		{"n > 0xZZ", 5, "not a finite number"},
		{"packed and order", 12, "and needs true or false, this is a string"},
		{"(1 if order else 2) == 1", 7, "a condition needs true or false, this is a string"},
		{"packed == 'kind'", 11, "a string cannot be compared with true or false"},
		{"min() > 1", 1, "min takes at least one argument"},
		{"n > 1.2.3", 5, "not a finite number"},
		{"n > 1e999", 5, "not a finite number"},
		{"order == 'lane", 10, "the string has no closing '"},
		{`order == '\q'`, 10, `the string has a bad escape: write \\ for a backslash`},
		{`order == '\xff'`, 10, "the string is not valid UTF-8"},
		// What other languages, shells and word processors write has a remedy.
		{"n === 3", 3, "there is no ===; write =="},
		{"n !== 3", 3, "there is no !==; write !="},
		{"n =! 3", 3, "there is no =!; write !="},
		{"n <> 2", 3, "there is no <>; write !="},
		{"1 << n > 2", 3, "there is no <<; write * 2 ** n"},
		{"n >> 1 > 2", 3, "there is no >>; write // 2 ** n"},
		{"n^3 < 9", 2, "there is no ^; write a power with **, as in n ** 3, or as a product, n * n * n"},
		{"packed -> n > 2", 8, "there is no ->; write not a or b where a implies b"},
		{"~packed", 1, "there is no ~; write not"},
		{"n > 1;", 6, "there is no ;; write and between two conditions"},
		{"$n > 1", 1, "an expression names parameters without $; leave it out"},
		{"{{n}} > 1", 1, "an expression names parameters without braces; leave them out"},
		{"n in {1, 2}", 6, "there are no braces; write a list in brackets, as in [1, 2]"},
		{"n ≤ 3", 3, "there is no ≤; write <="},
		{"order == ‘kind’", 10, "a text stands in straight quotes; write ' or \""},
		{"n\u00a0> 1", 2, "write a plain one"},
		{"n is 2", 3, "unexpected is after the end of the expression: write =="},
		{"n is not 2", 3, "unexpected is after the end of the expression: write !="},
		{"n mod 2 == 0", 3, "unexpected mod after the end of the expression: write %"},
		{"n x 2 == 0", 3, "unexpected x after the end of the expression: write *"},
		{"n * sizeof(float) == 4", 5, `there is no function "sizeof": write it as 4 for float, and not at all in a length, which counts elements`},
		{"NOT packed", 5, "unexpected packed after the end of the expression: write not in small letters"},
		{"n > 1, n < 3", 6, "unexpected , after the end of the expression: write and between two conditions"},
		{"n 2", 3, "unexpected 2 after the end of the expression: write an operator before it, such as ==, < or and"},
		{"n ! 2", 3, "unexpected ! after the end of the expression: write !="},
		{"n [1, 2]", 3, "unexpected [ after the end of the expression: write in before a list"},
		{"n: 2", 2, "unexpected : after the end of the expression: write it after ?, as in c ? a : b"},
		{"n := 2", 3, "there is no :=; write =="},
		{"math.log2(n) < 4", 5, `there is no function "log2": write it as a comparison of powers, as in a <= 2 ** 4`},
		{"p.n < 4", 2, "a name has no dot; write the name of the parameter alone, n"},
		{"n . < 4", 3, "a dot stands in a number alone; leave it out"},
		{`p["n"] < 4`, 2, "unexpected [ after the end of the expression: write the name of the parameter alone, n"},
		{"(int)n < 4", 1, "there are no casts: leave (int) out, and write // for a division without a fraction"},
		{"n < (unsigned long) (n / 2)", 5, "there are no casts: leave (unsigned long) out"},
		{"(int) < 4", 2, `there is no parameter "int"`},
		{"int(n) < 4", 1, `there is no function "int": write it as a // 1, or a alone where it is whole`},
		{"n > 2 if packed", 16, "an if has no else: write a if c else b, or not c or a where a has to hold only if c does"},
		{"n if packed else 0", 3, "the expression is an integer; it has to be true or false: compare it, as in (a if c else b) > 1"},
		{"order in kind", 10, "expected a list such as [1, 2], found kind: write a text in quotes and brackets, as in ['kind']"},
		{"order in -O2, -O3", 10, "expected a list such as [1, 2], found -: write a text in quotes and brackets, as in ['-O2']"},
		{"order in 'kind'", 10, `expected a list such as [1, 2], found "kind": write it in brackets, ['kind']`},
		{"n else 2", 3, "unexpected else after the end of the expression: write it after if, as in a if c else b"},
		{"if packed then n", 1, "unexpected if where a value should stand: write it as a if c else b, or as not c or a where a has to hold only if c does"},
		{"n == [1, 2]", 6, "unexpected [ where a value should stand: a list follows in, as in a in [1, 2]"},
		{"n in range(3)", 6, "expected a list such as [1, 2], found range: write a range as comparisons, as in 1 <= a <= 4"},
		{"n in 1..4", 6, "1..4: write a range as comparisons, as in 1 <= a <= 4"},
		{"n < 64KiB", 5, "64KiB is not a finite number: write digits alone, without a unit, and * before a name"},
		{"pow(n, 2) > 4", 1, `there is no function "pow": write it as a ** b`},
		{"ceil(n / 2) > 4", 1, `there is no function "ceil": write it as (a + b - 1) // b`},
		{"packed == yes", 11, `there is no parameter "yes": write true`},
		{"packed == FALSE", 11, `there is no parameter "FALSE": write false`},
		{"order == kind", 10, "kind is a text: write it in quotes, 'kind'"},
		{"order in [lane, 'kind']", 11, "lane is a text: write it in quotes, 'lane'"},
		{"diagonal != order", 1, "diagonal is a text: write it in quotes, 'diagonal'"},
		{"order == lanes", 10, `parameter "order" has no value lanes (did you mean "lane"?): write one of its texts, in quotes`},
		{"order == -O3", 10, `parameter "order" has no value -O3 (want one of kind, lane, diagonal): write one of its texts, in quotes`},
		{"n == '3'", 6, "a string cannot be compared with an integer: leave the quotes out"},
		{"packed == 'true'", 11, "a string cannot be compared with true or false: leave the quotes out"},
		{"3 == order", 6, "a string cannot be compared with an integer: write it in quotes, '3'"},
		{"n % 2", 3, "the expression is an integer; it has to be true or false: compare it, as in a % 2 == 0"},
		{"n > 1 / 0", 7, "divides by zero"},
		{"n > 9223372036854775807 * 2", 25, "overflows"},
		{"packed ? 1 : ", 14, "ends where"},
		{"packed ? n > 1 else n", 16, `expected ":"`},
		{strings.Repeat("(", 5000), 201, "the expression is nested deeper than 200"},
		{strings.Repeat("-", 5000) + "n > 1", 201, "nested deeper"},
		{"n" + strings.Repeat("+1", 5000) + " > 1", 2002, "the expression nests more than 1000 operators"},
		{strings.Repeat("n", maxExprBytes+1), 1, "the expression is longer than"},
		{"n > \xff", 1, "the expression is not valid UTF-8"},
	} {
		_, err := scopeOf(exprParams()).compile(test.expr, len(exprOrdinals))
		var fault *ExprError
		if !errors.As(err, &fault) {
			t.Errorf("%.40s: %v, want an ExprError", test.expr, err)
		} else if fault.Column != test.column || !strings.Contains(fault.Reason, test.reason) {
			t.Errorf("%.40s: column %d: %s; want column %d: %s", test.expr, fault.Column, fault.Reason, test.column, test.reason)
		}
	}
}

func TestExprErrorIsOneLine(t *testing.T) {
	_, err := New("x", []Parameter{Range("a", 0, 5)}, "a ==\t'é' or\nb")
	want := `space "x": constraint 1: column 6: a string cannot be compared with an integer, in "a ==\t'é' or\nb"`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = New("x", []Parameter{Range("a", 0, 5)}, "a + "+strings.Repeat("1 + ", 100)+"'b'")
	if err == nil || !strings.HasSuffix(err.Error(), `, in "a + `+strings.Repeat("1 + ", 24)+`…"`) {
		t.Errorf("a long expression: %v", err)
	}
}

func TestExprText(t *testing.T) {
	for _, test := range []struct{ expr, want string }{
		{"n*tile<=512&&packed", "n * tile <= 512 and packed"},
		{"((n)) > (2+3)*4", "n > (2 + 3) * 4"},
		{"n - (2 - 3) - 4 > -(-n)", "n - (2 - 3) - 4 > --n"},
		{"(2**3)**n == 2**(3**n)", "(2 ** 3) ** n == 2 ** 3 ** n"},
		{"(-2)**n == -2**-n", "(-2) ** n == -2 ** -n"},
		{"(packed and flag) or (packed and (flag and packed))", "packed and flag or packed and flag and packed"},
		{"!(packed or flag) == flag", "(not (packed or flag)) == flag"},
		{"packed ? flag ? 1 : 2 : 3 < n", "(1 if flag else 2) if packed else 3 < n"},
		{"order in ('lane',)", `order in ["lane"]`},
		{"0x10 < n", "16 < n"},
		{"1. < share", "1.0 < share"},
		{"(1 < 2) == (n > 3)", "(1 < 2) == (n > 3)"},
		{"n and packed*4", "n and packed * 4"},
		{"(8) && packed or (4) + (n)", "8 and packed or 4 + n"},
		{"min(n) > 0b11", "min(n) > 3"},
		{"max(n,tile,) > 3", ""},
	} {
		n, err := parseExpr(test.expr)
		if test.want == "" {
			if err == nil {
				t.Errorf("%s parsed as %s", test.expr, n)
			}
			continue
		}
		if err != nil || n.String() != test.want {
			t.Errorf("%s prints as %v (%v), want %s", test.expr, n, err, test.want)
		}
	}
}

// checkExpr compiles text and compares it with the reference at random ordinals; and its canonical form
// with itself.
func checkExpr(t interface{ Fatalf(string, ...any) }, params []Parameter, text string, r *rand.Rand) {
	scope := scopeOf(params)
	e, err := scope.compile(text, len(params))
	if err != nil {
		var fault *ExprError
		if !errors.As(err, &fault) || fault.Column < 1 || fault.Error() == "" {
			t.Fatalf("%q: %v", text, err)
		}
		return
	}
	again, err := scope.compile(e.text, len(params))
	if err != nil || again.text != e.text {
		t.Fatalf("%q prints as %q, which parses as %+v: %v", text, e.text, again, err)
	}
	tree, err := parseExpr(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	c := &checker{src: text, scope: scope, visible: len(params), reads: map[int]bool{}}
	if err := c.check(tree); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for range 20 {
		ords := make([]int, len(params))
		for i, p := range params {
			ords[i] = r.IntN(p.Len()+1) - 1
		}
		want := isFault
		switch v := reference(tree, params, ords).(type) {
		case bool:
			want = truthOf(v)
		case unknown:
			want = isUnknown
		}
		if got := e.eval(ords); got != want || again.eval(ords) != want {
			t.Fatalf("%q at %v is %d, its canonical form %q %d, want %d", text, ords, got, e.text, again.eval(ords), want)
		}
	}
}

func TestExprAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params := drawParameters(t)
		checkExpr(t, params, drawTruth(t, params, 3), rand.New(rand.NewPCG(1, 2)))
	})
}

func FuzzExpr(f *testing.F) {
	for _, seed := range []string{
		"n * tile <= 512", "order == 'diagonal' and not packed", "1 <= n < tile or stagger in [1, 2]",
		"packed ? n > 1 : n // 0x10 == 2 ** 3", "min(n, -tile) % 3 != abs(share) / 2.5", "flag == (n if packed else 2) > 1", `order not in ("kind", "lane")`,
	} {
		f.Add(seed)
	}
	params := exprParams()
	f.Fuzz(func(t *testing.T, text string) {
		checkExpr(t, params, text, rand.New(rand.NewPCG(1, 2)))
	})
}

func TestEvaluationDoesNotAllocate(t *testing.T) {
	e, err := scopeOf(exprParams()).compile("n * mr <= 28 && share * mr * 4 <= 32768.5 and order != 'kind' and n in [1, 2, 3]", len(exprOrdinals))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { e.eval(exprOrdinals) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
