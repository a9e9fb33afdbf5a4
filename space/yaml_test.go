package space

import (
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const demoYAML = `name: demo
parameters:
  - {name: lanes, type: int, from: 1, to: 32, step: 1, default: 3, doc: lanes in flight}
  - {name: tile, type: pow2, from: 8, to: 128}
  - {name: order, type: enum, values: [kind, lane, diagonal]}
  - {name: stagger, type: int, from: 1, to: 8, when: "order == 'diagonal'"}
  - {name: packed, type: bool}
constraints:
  - lanes * tile <= 512
`

func TestReadIsNew(t *testing.T) {
	s, err := Read(strings.NewReader(demoYAML))
	if err != nil {
		t.Fatal(err)
	}
	want := demo(t)
	if s.Fingerprint() != want.Fingerprint() || s.Name() != want.Name() || s.Default().Key() != want.Default().Key() || !s.At(777).Equal(want.At(777)) {
		t.Errorf("the space read differs from the space made")
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(strings.Replace(demoYAML, " step: 1,", "", 1), `"order == 'diagonal'"`, "order == 'diagonal'", 1); text.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", text.String(), want)
	}
}

func TestReadErrors(t *testing.T) {
	parameter := func(fields string) string { return "name: x\nparameters:\n  - {" + fields + "}\n" }
	for _, test := range []struct{ text, want string }{
		{"", "the file is empty"},
		{"name: [", "line 1: [ is not closed: write ] at the end of the list that begins here"},
		{"name: [a,, b]", "line 1: did not find expected node content: a list or mapping lacks a value, or its closing bracket"},
		{"parameters: [" + strings.Repeat("{name: a, type: bool}, ", maxParameters+1) + "]", "line 1: parameters: 1025 are more than 1024"},
		{parameter("name: a, type: enum, values: [" + strings.Repeat("1, ", maxValues+1) + "]"), "line 3: values: 65537 are more than 65536"},
		{"[]", "line 1: a space is a mapping with the fields name, parameters, constraints, start"},
		{"name: x", "it has no parameters"},
		{"nmae: x", `line 1: a space has no field "nmae" (did you mean "name"?)`},
		{parameter("name:a, type: bool"), "line 3: put a blank behind the colon: name: a"},
		{"name: x\nparameters: [{name: a, type: int, range: [1, 3]}]", `line 2: a parameter has no field "range" (write from and to, as in from: 1, to: 8)`},
		{"name: x\nzzz: 1", `line 2: a space has no field "zzz"; the fields are name, parameters, constraints, start`},
		{"name: x\nname: y", `line 2: field "name" is given twice`},
		{"name: [x]", "line 1: name: expected a text"},
		{"parameters: 3", "line 1: parameters: expected a list, as in [a, b]"},
		{"parameters: [3]", "line 1: a parameter is a mapping with the fields name, type, from, to, step, steps, scale, values, default, when, doc, as in {name: tile, type: int, from: 1, to: 8}"},
		{parameter("name: a, type: int, from: 1, ot: 3"), `line 3: a parameter has no field "ot" (did you mean "to"?)`},
		{parameter("name: a"), `line 3: type: parameter "a" has no type; the types are int, float, pow2, enum, bool`},
		{parameter("name: a, values: [1, 2]"), `line 3: type: parameter "a" has no type: for a list of values write type: enum`},
		{parameter("name: a, type: integer"), `there is no type "integer" (did you mean "int"?)`},
		{parameter("name: a, type: int, min: 1, to: 3"), `line 3: a parameter has no field "min" (did you mean "from"?)`},
		{parameter("name: a, type: int, min: 1, max: 3"), `line 3: a parameter has no field "min" (did you mean "from"?), and no field "max" (did you mean "to"?)`},
		{parameter("name: a, type: enum, choices: [1]"), `line 3: a parameter has no field "choices" (did you mean "values"?)`},
		{parameter("name: a, type: pow"), `there is no type "pow" (did you mean "pow2"?)`},
		{parameter("name: a, type: unset"), `there is no type "unset"`},
		{parameter("name: a, type: int, from: 1"), `line 3: to: parameter "a" of type int needs it`},
		{parameter("name: a, type: int, from: 1, to: 2.5"), `line 3: to: "2.5" is not a 64-bit integer: want a whole number in digits`},
		{parameter("name: a, type: int, from: 1, to: '2'"), `line 3: to: "2" is a text: leave the quotes out`},
		{parameter("name: a, type: int, from: 1, to: 99999999999999999999"), "is not a 64-bit integer"},
		{parameter("name: a, type: int, from: 3, to: 2"), `line 3: space "x": parameter "a": from 3 is greater than to 2`},
		{parameter("name: a, type: int, from: 3, to: 4, step: 0"), "step 0 is not at least 1"},
		{parameter("name: a, type: pow2, from: 1, to: 4, step: 2"), "line 3: step: type pow2 does not take it"},
		{parameter("name: a, type: bool, from: 1"), "line 3: from: type bool does not take it"},
		{parameter("name: a, type: bool, values: [true]"), "line 3: values: type bool has false and true instead of a list: leave values out, or write type: enum"},
		{parameter("name: a, type: pow2, values: [1, 2]"), "line 3: values: type pow2 takes from and to instead of a list: leave values out, or write type: enum"},
		{parameter("name: a, type: enum"), `line 3: values: parameter "a" of type enum needs it: list its values, as in values: [1, 2, 4]`},
		{parameter("name: a, type: enum, values: []"), "line 3: values: it is empty: list the values"},
		{parameter("name: a, type: float"), `line 3: from: parameter "a" of type float needs it`},
		{parameter("name: a, type: float, from: 0"), `line 3: to: parameter "a" of type float needs it`},
		{parameter("name: a, type: float, from: 0, to: 1"), "line 3: steps: type float needs it: the number of steps from 0 to 1, as in steps: 20, or step, their size"},
		{parameter("name: a, type: float, from: 0, to: x, steps: 3"), `line 3: to: "x" is not a finite number`},
		{parameter("name: a, type: float, from: 0, to: .inf, steps: 3"), `".inf" is not a finite number`},
		{parameter("name: a, type: float, from: 0, to: 1, steps: 0"), `line 3: type: parameter "a": steps is 0: want at least 1`},
		{parameter("name: a, type: float, from: 0, to: 1, steps: 99999999999"), "want less than 65536"},
		{parameter("name: a, type: float, from: 2, to: 1, steps: 3"), `line 3: type: parameter "a": from 2 is not less than to 1`},
		{parameter("name: a, type: float, from: 0, to: 1, steps: 3, scale: log"), "from 0 is not above 0, which scale: log needs"},
		{parameter("name: a, type: float, from: 0, to: 1, step: 0.3"), "line 3: step: from 0 to 1 there are 3.33333 steps of 0.3: want a whole number of them"},
		{parameter("name: a, type: float, from: 0, to: 1, step: 0"), "line 3: step: 0 is not above 0"},
		{parameter("name: a, type: float, from: 1, to: 2, step: 0.5, steps: 2"), "line 3: step: there is steps too: write one of them"},
		{parameter("name: a, type: float, from: 1, to: 2, step: 0.5, scale: log"), "line 3: step: the values of scale: log have no equal distance: write steps"},
		{parameter("name: a, type: float, from: 1, to: 2, scale: log"), "line 3: steps: scale: log needs it"},
		{parameter("name: a, type: float, from: 1, to: 2, steps: 2, scale: lgo"), `line 3: scale: there is no scale "lgo" (did you mean "log"?); the scales are linear, log`},
		{parameter("name: a, type: float, from: 1, to: 2, steps: 2, values: [1]"), "line 3: values: type float takes from, to and steps instead of a list"},
		{parameter("name: a, type: float, from: 0, to: 1, steps: 4, default: 0.3"), "default 0.3 is not in the domain 0..1 in 4 steps (the nearest is 0.25)"},
		{parameter("name: a, type: int, from: 1, to: 9, scale: log"), "line 3: steps: scale: log needs it: the number of steps from 1 to 9"},
		{parameter("name: a, type: int, from: 1, to: 9.5, scale: log, steps: 3"), "from and to have to be whole numbers"},
		{parameter("name: a, type: int, from: 1, to: 9, steps: 3"), "line 3: steps: an int has step, the distance of its values, unless it has scale: log"},
		{parameter("name: a, type: pow2, from: 1, to: 8, scale: log"), "line 3: scale: type pow2 does not take it: only int and float do"},
		{parameter("name: a, type: enum, values: [1], steps: 2"), "line 3: steps: type enum does not take it: only float, and int with scale: log do"},
		{parameter("name: a, type: bool, when: b") + "  - {name: b, type: bool}\n", "move b before a"},
		{"name: x\nparameters:\n\t- {name: a, type: bool}\n", "line 3: a tab indents this line, but YAML is indented by spaces"},
		{"name: x\nparameters:\n  -\tname: a\n  \ttype: bool\n", "a tab indents this line"},
		{"name: x\nparameters:\n  - {name: a, type: bool}\nconstraints: [{{a}} > 1, not a]\n", "line 4: {{ begins a mapping in YAML"},
		{parameter("name: a, type: enum, values: [x]") + "constraints:\n- ! a\n", "YAML leaves out a ! that a blank follows: put the text into quotes, \"! a\""},
		{parameter("name: a, type: enum, values: [x]") + "constraints:\n- &a <= 2\n", "YAML takes &a for the name of this value: put an expression that begins with & into quotes"},
		{parameter("name: a, type: enum, values: x"), "values: expected a list"},
		{parameter("name: a, type: enum, values: [[x]]"), `line 3: "" is not a number, text, true or false`},
		{parameter("name: a, type: bool") + "  - {name: b, type: bool, when: !a and true}\n", `line 4: when: YAML takes a text that begins with ! for a tag: write it in quotes, "!a and true"`},
		{parameter("name: a, type: bool") + "constraints:\n  - !a\n", `line 5: YAML takes a constraint that begins with ! for a tag: write it in quotes, "!a"`},
		{parameter("name: a, type: enum, values: [!a ]"), `line 3: YAML takes a value that begins with ! for a tag: write it in quotes, "!a"`},
		{parameter("name: a, type: enum, values: [!a]"), `line 3: a text cannot begin with ! without quotes: put it into quotes`},
		{parameter("name: a, type: enum, values: [~]"), "not a number, text, true or false"},
		{parameter("name: a, type: enum, values: [.nan]"), "not a finite number"},
		{parameter("name: a, type: enum, values: [99999999999999999999]"), "line 3: 99999999999999999999 does not fit a 64-bit integer"},
		{parameter("name: a, type: enum, values: [1, x]"), "the values mix"},
		{parameter("name: a, type: bool, default: 3"), "default 3 is not in the domain"},
		{parameter("name: a, type: bool, default: {}"), "not a number, text, true or false"},
		{parameter("name: a, type: bool, when: b"), `line 3: space "x": parameter "a": condition: column 1: there is no parameter "b"`},
		{parameter("name: a, type: bool, <<: {doc: x}"), `no field "<<"`},
		{parameter("name: a, type: bool") + "constraints:\n  - a\n  - a >\n", `line 6: space "x": constraint 2: column 4:`},
		{parameter("name: a, type: bool") + "constraints:\n  - [a]\n", "line 5: a constraint is an expression in one text"},
		{parameter("name: a, type: bool") + "constraints: [a, not a]\n", "these 2 constraints conflict, of which any smaller set can be satisfied: a; not a"},
		{parameter("name: a, type: bool") + "---\nname: y\n", "a second YAML document"},
		{parameter("name: a, type: int, from: 1, to: 9") + "start:\n  - a=2\n  - {a: 10}\n", `line 6: space "x": start point 2: parameter "a" has no value 10`},
		{parameter("name: a, type: int, from: 1, to: 9") + "start: [b=2]\n", `line 4: space "x": start point 1: space "x" has no parameter "b"`},
		{parameter("name: a, type: int, from: 1, to: 9") + "start: [[2]]\n", "line 4: a start point is a mapping"},
		{parameter("name: a, type: int, from: 1, to: 9") + "start: [{a: [2]}]\n", "not a number, text, true or false"},
		{"&a [*a]", "a space is a mapping"},
		{"parameters: &a [*a]", "a parameter is a mapping"},
	} {
		s, err := Read(strings.NewReader(test.text))
		if s != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngot %v, want an error with %q", test.text, err, test.want)
		}
	}
}

func TestReadForms(t *testing.T) {
	s, err := Read(strings.NewReader(`
parameters:
  - name: a
    type: enum
    values: &numbers [1, 2.5, 0x10]
    default: 1.0
  - {name: b, type: enum, values: *numbers, when: a > 1, doc: ~}
  - {name: c, type: enum, values: ["true", "12", yes, a b, "", "#", "~"]}
  - {name: d, type: enum, values: [true, false], default: false}
constraints: ~
`))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := s.Len()
	if got := s.At(n - 1).Key(); n != 7*7*2 || got != "a=16.0 b=16.0 c=~ d=false" || s.Default().Key() != "a=1.0 c=true d=false" {
		t.Errorf("%d points, the last %s, the default %v", n, got, s.Default())
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := Read(strings.NewReader(text.String()))
	if err != nil || again.Fingerprint() != s.Fingerprint() {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestReadStart: a file may list start points, which leave the space as it is.
func TestReadStart(t *testing.T) {
	const text = `name: x
parameters:
  - {name: a, type: int, from: 1, to: 9}
  - {name: b, type: enum, values: [x y, z]}
start:
  - a=2 b="x y"
  - b=z
`
	var d Document
	if err := yaml.Unmarshal([]byte(strings.Replace(text, "b=z", "{b: z}", 1)), &d); err != nil {
		t.Fatal(err)
	}
	s, err := d.Space()
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, key := range d.Start {
		p, err := s.ParsePartial(key)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, p.Key())
	}
	if got := strings.Join(keys, "; "); got != `a=2 b="x y"; a=1 b=z` {
		t.Errorf("the start points are %s", got)
	}
	out, err := yaml.Marshal(d)
	if err != nil || strings.ReplaceAll(string(out), "    - ", "  - ") != text {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLoneNumber: a number that compares nothing is a mistake in what a person wrote, and in nothing else.
func TestLoneNumber(t *testing.T) {
	const alone = " needs true or false, and a number alone compares nothing: write the comparison, as in a == 2 or a == 4"
	for expr, want := range map[string]string{
		"a == 2 or 4":                    `column 11: or` + alone + `, in "a == 2 or 4"`,
		"a == 2 or +4":                   `column 12: or` + alone + `, in "a == 2 or +4"`,
		"(1.5) and a":                    `column 2: and` + alone + `, in "(1.5) and a"`,
		"a > 1 and (a == 2 or 3) ? 1: 2": `column 22: or` + alone + `, in "a > 1 and (a == 2 or 3) ? 1: 2"`,
		"a and +b or not 3":              "",
		"a == 2 or":                      "",
		"":                               "",
	} {
		got := ""
		if err := LoneNumber(expr); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", expr, got, want)
		}
	}
	for text, want := range map[string]string{
		"parameters:\n- {name: a, type: int, from: 1, to: 4}\nconstraints:\n- a == 2\n- a > 1 or 0\n":   `line 5: space "": constraint 2: column 10: or` + alone + `, in "a > 1 or 0"`,
		"parameters:\n- {name: a, type: int, from: 1, to: 4}\n- {name: b, type: bool, when: a and 4}\n": `line 3: space "": parameter "b": condition: column 7: and` + alone + `, in "a and 4"`,
	} {
		if _, err := Read(strings.NewReader(text)); err != nil {
			t.Errorf("Read: %v", err)
		}
		if _, err := ReadDocument(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("ReadDocument: %v, want %s", err, want)
		}
	}
}

func TestDocumentEmbeds(t *testing.T) {
	var file struct {
		Kernel string
		Space  Document
	}
	text := "kernel: k\nspace:\n  name: x\n  parameters:\n    - {name: a, type: bool, default: 1}\n"
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Space.Space(); err == nil || !strings.HasPrefix(err.Error(), "line 5: ") {
		t.Errorf("got %v", err)
	}
}

// TestDocStrings writes documentation that YAML could fold, trim or misread.
func TestDocStrings(t *testing.T) {
	for _, doc := range []string{"plain", "two\nlines\n", " leading: colon", "# no comment", "tab\tand \"quotes\"", "null", "12", "é — ✓", "trailing \n", "\n", "\u2028", "\x00\x7f\u0085\ufeff"} {
		s, err := New("space: "+doc, []Parameter{Bool("a").Describe(doc)})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := s.Write(&text); err != nil {
			t.Fatal(err)
		}
		again, err := Read(strings.NewReader(text.String()))
		if err != nil || again.Parameters()[0].Doc != doc || again.Name() != s.Name() {
			t.Errorf("%q: %v\n%s", doc, err, text.String())
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(demoYAML)
	f.Add("parameters: [{name: a, type: int, from: 0, to: 4611686018427387903}, {name: b, type: bool, when: a > 5}]\nconstraints: [a % 3 == 1 or b]")
	f.Add("parameters:\n- {name: a, type: enum, values: [1, 2.5], default: 1, doc: |\n    x\n  }\n- &p {name: b, type: pow2, from: 1, to: 4}")
	f.Fuzz(func(t *testing.T, text string) {
		small := limits{edges: 1000, steps: 1000, draws: 100}
		s, err := read(strings.NewReader(text), small)
		if err != nil {
			return
		}
		var written strings.Builder
		if err := s.Write(&written); err != nil {
			t.Fatal(err)
		}
		again, err := read(strings.NewReader(written.String()), small)
		if err != nil {
			t.Fatalf("%v\n%s", err, written.String())
		}
		if again.Fingerprint() != s.Fingerprint() || again.Name() != s.Name() {
			t.Fatalf("the space has changed:\n%s", written.String())
		}
		r := rand.New(rand.NewPCG(1, 1))
		for range 3 {
			p, err := s.Sample(r)
			if err != nil {
				p = s.Default()
			}
			if err := s.Explain(p.ords); err != nil {
				t.Fatal(err)
			}
			if q, err := again.Parse(p.Key()); err != nil || !q.Equal(p) {
				t.Fatalf("Parse(%q) = %v, %v", p.Key(), q, err)
			}
			data, err := p.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if q, err := s.UnmarshalPoint(data); err != nil || !q.Equal(p) {
				t.Fatalf("UnmarshalPoint(%q) = %v, %v", data, q, err)
			}
			if i, ok := s.Index(p); ok && !s.At(i).Equal(p) {
				t.Fatalf("At(%d) is not %v", i, p)
			}
		}
	})
}
