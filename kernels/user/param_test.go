package user

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tune/space"
)

// faultsOf returns what is wrong with a kernel file, one fault on each line; "" where nothing is.
func faultsOf(text string, w world) string {
	if _, err := read("my.yaml", []byte(text), w); err != nil {
		return err.Error()
	}
	return ""
}

// withParameter returns sourceText with further parameters.
func withParameter(lines ...string) string {
	return strings.Replace(sourceText, "source:", "    - "+strings.Join(lines, "\n    - ")+"\nsource:", 1)
}

// TestFlagSwitch: a bool parameter switches a flag, and other parameters have flags by their values.
func TestFlagSwitch(t *testing.T) {
	k, err := read("my.yaml", []byte(withParameter(
		"{name: fast, type: bool, flag: -ffast-math}",
		"{name: unroll, type: bool, flag: {true: '-funroll-loops -DU={{TILE * 2}}', false: -fno-unroll-loops}}",
		"{name: level, type: enum, values: [low, high], flag: {low: '', high: -O3}, when: unroll}",
	)+"  flags: [-O1]\n"), library)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Warnings()) > 0 {
		t.Errorf("warnings: %v", k.Warnings())
	}
	s := k.d.source
	sp, err := k.d.space.make(map[string]int{"n": 8})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"TILE=4 fast=false unroll=false":           "-O1 -fno-unroll-loops",
		"TILE=4 fast=true unroll=false":            "-O1 -ffast-math -fno-unroll-loops",
		"TILE=4 fast=true unroll=true level=low":   "-O1 -ffast-math -funroll-loops -DU=8",
		"TILE=8 fast=false unroll=true level=high": "-O1 -funroll-loops -DU=16 -O3",
	} {
		p, err := sp.Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.flagsOf(p, map[string]int{"n": 8}), " "); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	// The flags of the reference are those of its parameters, without what loosens floating point.
	st, err := s.standardOf(k.d.space, map[string]int{"n": 8}, nil)
	if got := strings.Join(st.flags, " "); err != nil || got != "-fno-unroll-loops -O2 -fno-fast-math -ffp-contract=off" {
		t.Errorf("the reference has %s, %v", got, err)
	}
	// Nobody consents to a flag that is not shown.
	plan := strings.Join(k.Plan(), "\n")
	for _, want := range []string{"and -ffast-math, if fast is true", "and -fno-unroll-loops, if unroll is false", "and -O3, if level is high"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
	for name := range map[string]bool{"fast": true, "unroll": true, "level": true} {
		if s.defined[name] {
			t.Errorf("%s is a #define too, which nothing uses", name)
		}
	}
}

// TestPlanOfReference: the flags with which a reference is compiled are shown too, as one of them may run a program.
func TestPlanOfReference(t *testing.T) {
	for flags, want := range map[string]string{
		"": "", ", flags: []": "and the reference with no flags instead", ", flags: [-O1, -fplugin=./evil.so]": "and the reference with -O1 -fplugin=./evil.so instead",
	} {
		k, err := read("my.yaml", []byte(strings.Replace(sourceText, "{function: plain}", "{function: plain"+flags+"}", 1)), library)
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(k.Plan(), "\n"); want == "" && strings.Contains(plan, "the reference with") || !strings.Contains(plan, want) {
			t.Errorf("%s: the plan lacks %q:\n%s", flags, want, plan)
		}
	}
}

// TestPlanOfTemplates: texts that become parts of a file are shown, as the file may be a program.
func TestPlanOfTemplates(t *testing.T) {
	k, _ := load(t, "space: {parameters: [{name: how, type: enum, values: [fast, '; touch evil']}]}\ncommand: {templates: [x.sh], run: sh x.sh, check: 'true'}\n", "x.sh", "echo {{how}}")
	if plan := strings.Join(k.Plan(), "\n"); !strings.Contains(plan, "values    how: fast | ; touch evil") {
		t.Errorf("the plan lacks the values:\n%s", plan)
	}
}

func TestFlagFaults(t *testing.T) {
	for _, test := range []struct{ parameter, want string }{
		{"{name: fast, type: enum, values: [a, b], flag: -Ofast}", "my.yaml:7:54: space.parameters[1].flag: a single flag is for type: bool: write the flag of each value, as in flag: {a: -O2}, or use {{fast}} in flags"},
		{"{name: fast, type: bool, flag: {yes: -Ofast}}", "my.yaml:7:39: space.parameters[1].flag.yes: parameter fast has no value yes: its values are false, true"},
		{"{name: fast, type: bool, flag: -o}", "my.yaml:7:38: space.parameters[1].flag: tune sets this itself, to make a shared object: leave -o out"},
		{"{name: fast, type: bool, flag: '-DX={{TIEL}}'}", `my.yaml:7:43: space.parameters[1].flag: {{TIEL}}: there is no parameter and no constant of this name (did you mean "TILE"?)`},
		{"{name: fast, type: bool, flag: [-O3]}", "my.yaml:7:38: space.parameters[1].flag: want a mapping from values to flags"},
		{"{name: fast, type: bool, falg: -O3}", `my.yaml:7:32: space.parameters[1].falg: a parameter has no field "falg" (did you mean "flag"?)`},
	} {
		if got := faultsOf(withParameter(test.parameter), library); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.parameter, got, test.want)
		}
	}
	text := strings.Replace(commandText, "to: 4}", "to: 4}\n    - {name: sync, type: bool, flag: --sync}", 1)
	if got, want := faultsOf(text, library), `my.yaml:5:38: space.parameters[1].flag: it switches flags of a compiler, and a command has none: write type: enum, values: ["", …], and {{sync}} in the command`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFlagSwitchBuilds: a flag that a parameter switches reaches the compiler, and what is exported names it.
func TestFlagSwitchBuilds(t *testing.T) {
	needCompiler(t)
	yaml := `kernel: {name: sw, shape: {n: 8}}
space: {parameters: [{name: two, type: bool, flag: -DTWO}]}
source:
  text: |
    void f(const float *x, float *y, int n) {
    #ifdef TWO
      for (int i = 0; i < n; i++) y[i] = x[i] + x[i];
    #else
      for (int i = 0; i < n; i++) y[i] = 3 * x[i];
    #endif
    }
    void plain(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }
  function: f
  compilers: [gcc]
` + argumentsText + "  reference: {function: plain}\n"
	k, _ := load(t, yaml)
	p := problem(t, k, "")
	for key, want := range map[string]space.Status{"two=true": space.OK, "two=false": space.WrongAnswer} {
		if out := evaluate(t, p, key); out.Status != want {
			t.Errorf("%s: %v: %s", key, out.Status, out.Reason)
		}
	}
	point, err := p.Space().Parse("two=true")
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Build(t.Context(), point)
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := c.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range artifacts {
		var b bytes.Buffer
		if err := a.Write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "-DTWO") {
			t.Errorf("%s does not say -DTWO:\n%s", a.Name, b.String())
		}
	}
}

// languageExpressions are expressions over the shape and the parameters of expressionFile; true and 3 are what they come to at the
// default point.
var (
	truths = []string{
		"TILE == 4", "TILE != 3 and n >= 8", "TILE*2 <= n && packed", "not (TILE > n) || false", "!(TILE > n)", "packed", "packed == true", "packed == 1", "n and packed",
		"mode == 'row'", `mode in ["row", "column"]`, "mode not in ['column']", "1 <= TILE < n", "packed and (n if packed else 0)", "min(n) == 8", "TILE in (2, 4,)",
		"0x8 == n and 0b100 == TILE and 1e0 == 1 and 0o10 == n and 8.0 == n", "n % 3 == 2 and -n // 3 == -3 and n / 16 == 0.5", "alpha == 0.5 and alpha ** 2 < 1", "2 ** 3 == n",
		"mode == 'row' ? packed : false", "True != False", "packed + packed == 2", "packed < 2", "99999999999999999999 > n",
		"packed and +n", "packed and -(-n)",
	}
	numbers = []string{
		"3", "n - 5", "TILE - 1", "n // 3 + 1", "abs(-3)", "min(n, 3, TILE)", "max(1, 3)", "3 if packed else n", "packed ? 3 : 4", "2 + packed", "(n > 3) * 3", "3 if mode == 'row' else 1",
		"alpha * 6", "6 / 2", "n % 5", "1 + 2 ** 1", "1_0 - 7", "len3", "3 if n else 0", "min(3)",
	}
)

const expressionFile = `kernel: {name: e, shape: {n: 8, len3: 3}}
space:
  parameters:
    - {name: TILE, type: pow2, from: 1, to: 8, default: 4}
    - {name: packed, type: bool, default: true}
    - {name: mode, type: enum, values: [row, column]}
    - {name: alpha, type: float, from: 0, to: 1, steps: 2, default: 0.5}
    - {name: late, type: int, from: 1, to: 2, when: WHEN}
  constraints:
    - CONSTRAINT
source:
  file: f.c
  function: f
  arguments:
    - {name: x, type: float, length: NUMBER, access: read, fill: {random: [0, NUMBER]}}
    - {name: y, type: float, length: NUMBER, access: write}
    - {name: n, type: int, value: NUMBER}
  threads: NUMBER
  flags: ["-DT={{TEMPLATE}}"]
  reference: {function: plain}
`

// TestOneLanguage: an expression is read and computed alike as a condition, in a constraint, as a length, a scalar, a range, a number of
// threads, and in a text.
func TestOneLanguage(t *testing.T) {
	quote := func(text string) string { return "\"" + strings.ReplaceAll(text, "\"", "\\\"") + "\"" }
	type form struct{ truth, number, want string }
	var forms []form
	for _, e := range truths {
		forms = append(forms, form{e, "3 if (" + e + ") else 0", "3"}, form{"(" + e + ") == 1", "2 + (" + e + ")", "3"})
	}
	for _, e := range numbers {
		forms = append(forms, form{"(" + e + ") == 3", e, "3"})
	}
	for _, f := range forms {
		template := strings.ReplaceAll(f.number, "\"", "'") // for a text that a shell does not read, either quote will do
		text := strings.NewReplacer("WHEN", quote(f.truth), "CONSTRAINT", quote(f.truth), "NUMBER", quote(f.number), "TEMPLATE", template).Replace(expressionFile)
		k, err := read("my.yaml", []byte(text), library)
		if err != nil {
			t.Errorf("%s, %s: %v", f.truth, f.number, err)
			continue
		}
		constants := map[string]int{"n": 8, "len3": 3}
		sp, err := k.d.space.make(constants)
		if err != nil {
			t.Fatal(err)
		}
		p := sp.Default()
		if !p.Active("late") {
			t.Errorf("%s is not true as a condition", f.truth)
		}
		s := k.d.source
		c, err := s.shapeCase(p, constants)
		if err != nil || c.buffers[0].Len != 3 || c.dims[0] != 3 {
			t.Errorf("%s is no length and no value of 3: %+v, %v", f.number, c, err)
		}
		if n, err := s.threadsOf(p, constants); err != nil || n != 3 {
			t.Errorf("%s is not 3 threads: %d, %v", f.number, n, err)
		}
		if e, _ := parseExpr(f.number); len(e.names()) == 0 {
			continue // no placeholder
		}
		if got := s.flagsOf(p, constants); !slices.Equal(got, []string{"-DT=" + f.want}) && !slices.Equal(got, []string{"-DT=" + f.want + ".0"}) {
			t.Errorf("{{%s}} is %v", template, got)
		}
	}
}

// TestOneLanguageRefuses: what is wrong with an expression is said in the same words wherever it stands.
func TestOneLanguageRefuses(t *testing.T) {
	for e, want := range map[string]string{
		"TIEL + 1": `(did you mean "TILE"?)`, "mode + 1 > 0": "+ needs numbers, this is a string", "mode == 'rwo'": `parameter "mode" has no value "rwo" (did you mean "row"?)`,
		"n = 8": "a lone = compares nothing; write ==", "TILE >": "the expression ends where a value should stand", "mni(n, 2)": `there is no function "mni": want min, max or abs (did you mean "min"?)`,
		"n == 'row'": "a string cannot be compared with an integer", "n > 012": "012: a leading zero could mean octal; leave it out, or write 0o",
		"mode == row": "row is a text: write it in quotes, 'row'", "n == yes": `"yes": write true`, "n is 3": "unexpected is after the end of the expression: write ==",
		"n == 2 or 4":               "or needs true or false, and a number alone compares nothing: write the comparison, as in a == 2 or a == 4",
		"mode == 'row' or 'column'": "or needs true or false, and a text alone compares nothing: write the comparison, as in a == 'x' or a == 'y'",
	} {
		base := strings.NewReplacer("WHEN", "n > 0", "CONSTRAINT", "n > 0", "NUMBER", "3", "TEMPLATE", "n").Replace(expressionFile)
		for _, place := range []struct{ field, old string }{
			{"when", "when: n > 0"}, {"constraints[0]", "- n > 0"}, {"length", "length: 3, access: write"}, {"value", "value: 3"}, {"threads", "threads: 3"}, {"flags[0]", "{{n}}"},
		} {
			with := strings.NewReplacer("n > 0", "\""+e+"\"", ": 3", ": \""+e+"\"", "{{n}}", "{{"+e+"}}").Replace(place.old)
			text := strings.Replace(base, place.old, with, 1)
			got := ""
			if k, err := read("my.yaml", []byte(text), library); err != nil {
				got = err.Error()
			} else if place.field == "flags[0]" {
				for _, w := range k.Warnings() {
					if strings.Contains(w.Text, "stays as it is, because it is no expression: ") {
						got += w.String()
					}
				}
			}
			if !strings.Contains(got, want) || !strings.Contains(got, place.field) || strings.Contains(got, "\n") {
				if place.field == "flags[0]" && strings.HasPrefix(e, "mni") && !strings.Contains(got, "\n") {
					continue // a list in C
				}
				t.Errorf("%s in %s: %q, want %q", e, place.field, got, want)
			}
		}
	}
}

// TestFlagsWithoutValue: a flag that cannot be computed is the fault of the points where it cannot, and for the reference that of the file.
func TestFlagsWithoutValue(t *testing.T) {
	text := withParameter("{name: zero, type: int, from: 0, to: 2, default: 1}") + "  flags: ['-DX={{n // zero}}']\n"
	if got, want := faultsOf(text, library), "my.yaml:15:14: source.reference: a flag of the reference has no value with TILE=1 zero=0, the values that it is compiled with: {{n // zero}}: n // zero divides by zero: state others in reference.parameters or reference.flags"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := faultsOf(strings.Replace(text, "{function: plain}", "{function: plain, parameters: {zero: 2}}", 1), library); got != "" {
		t.Error(got)
	}
}

// TestTemplateOfSource: in a source, an expression over variables of C is no placeholder, and one over parameters is.
func TestTemplateOfSource(t *testing.T) {
	shelf := shelf{"t.c": "void f(const float *x, float *y, int n) {\n  int a[1][1] = {{i + 1}}, b[1][1] = {{0}}, c = {{TILE * 2 + n}};\n}\nvoid plain(void) {}\n"}
	k, err := read("my.yaml", []byte(strings.Replace(sourceText, "file: f.c", "file: t.c\n  parameters: template", 1)), shelf)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := k.d.space.make(map[string]int{"n": 8})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := sp.Parse("TILE=4")
	if got := k.d.source.program(k.d.source.text, "t.c", p, map[string]int{"n": 8}).body; !strings.Contains(got, "{{i + 1}}, b[1][1] = {{0}}, c = 16;") {
		t.Errorf("the source is\n%s", got)
	}
	if got := faultsOf(strings.Replace(sourceText, "file: f.c", "file: t.c\n  parameters: template", 1), shelfWith(shelf, "c = {{TILE * 2 + n}}", "c = {{TILE * k}}")); got != `t.c:2:58: source.file: {{TILE * k}}: there is no parameter and no constant "k" (want one of n, TILE)` {
		t.Error(got)
	}
}

// shelfWith returns a shelf whose t.c is changed.
func shelfWith(s shelf, old, new string) shelf {
	return shelf{"t.c": strings.Replace(s["t.c"], old, new, 1)}
}

// TestComputedWords: a command computes too, quotes what it computed, and a point without a value is invalid.
func TestComputedWords(t *testing.T) {
	k, _ := load(t, `kernel: {name: words, shape: {n: 6}}
space: {parameters: [{name: a, type: int, from: 0, to: 3}, {name: mode, type: enum, values: [x, "it's"]}]}
command: {files: [], run: "printf '%s\n' {{'a b' if mode == 'x' else mode}} >&2; echo {{n // a}}", metric: {exact: true}}
`)
	p := problem(t, k, "")
	if out := evaluate(t, p, "a=2 mode=x"); out.Status != space.OK || out.Cost != 3 {
		t.Errorf("got %+v", out)
	}
	if out := evaluate(t, p, `a=3 mode="it's"`); out.Status != space.OK || out.Cost != 2 {
		t.Errorf("got %+v", out)
	}
	if out := evaluate(t, p, "a=0 mode=x"); out.Status != space.Invalid || out.Reason != "{{n // a}}: n // a divides by zero" {
		t.Errorf("got %+v", out)
	}
}

// TestConditions: a condition that looks ahead, one in a circle, and what is wrong with each of several parameters, once each.
func TestConditions(t *testing.T) {
	for _, test := range []struct {
		parameters []string
		want       string
	}{
		{[]string{"{name: a, type: bool, when: b}", "{name: b, type: bool}"},
			"my.yaml:7:35: space.parameters[1].when: a condition may name only parameters declared before it: move b before a"},
		{[]string{"{name: a, type: bool, when: b}", "{name: b, type: bool, when: a}"},
			"my.yaml:7:35: space.parameters[1].when: these conditions go in a circle: a needs b, b needs a: leave one of them out"},
		{[]string{"{name: a, type: bool, when: a}"}, "my.yaml:7:35: space.parameters[1].when: a condition cannot name its own parameter: name another one, or leave the condition out"},
		{[]string{"{name: a, type: bool, when: TIEL > 1}", "{name: b, type: bool, when: a > }", "{name: c, type: bool, when: b}"},
			`my.yaml:7:35: space.parameters[1].when: there is no parameter "TIEL" (did you mean "TILE"?)
my.yaml:8:38: space.parameters[2].when: the expression ends where a value should stand`},
		{[]string{"{name: a, type: enum}"}, `my.yaml:7:7: space.parameters[1].values: parameter "a" of type enum needs it: list its values, as in values: [1, 2, 4]`},
		{[]string{"{name: a, type: enum, values: []}"}, "my.yaml:7:37: space.parameters[1].values: it is empty: list the values, as in values: [1, 2, 4]"},
		{[]string{"{name: a, type: float, from: 1, to: 0, steps: 3}"}, `my.yaml:7:23: space.parameters[1].type: parameter "a": from 1 is not less than to 0`},
	} {
		if got := faultsOf(withParameter(test.parameters...), library); got != test.want {
			t.Errorf("%v:\ngot  %s\nwant %s", test.parameters, got, test.want)
		}
	}
}

func TestTabs(t *testing.T) {
	const want = "a tab indents this line, but YAML is indented by spaces: replace it by spaces"
	for text, at := range map[string]string{
		strings.Replace(sourceText, "  file", "\tfile", 1):               "my.yaml:8:1: ",
		strings.Replace(sourceText, "    - {name: T", "\t- {name: T", 1): "my.yaml:6:1: ",
		strings.Replace(sourceText, "  name: demo", "  \tname: demo", 1): "my.yaml:2:3: ",
		"\tkernel: {name: x}\n": "my.yaml:1:1: ",
	} {
		if got := faultsOf(text, library); got != at+want {
			t.Errorf("got %s, want %s", got, at+want)
		}
	}
}

// TestOneTypo: a misspelt field is told once, and not as a missing one too.
func TestOneTypo(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"  function: f\n", "  fucntion: f\n", `my.yaml:9:3: source.fucntion: a source has no field "fucntion" (did you mean "function"?)`},
		{"  arguments:", "  argments:", `my.yaml:10:3: source.argments: a source has no field "argments" (did you mean "arguments"?)`},
		{"  reference:", "  refrence:", `my.yaml:14:3: source.refrence: a source has no field "refrence" (did you mean "reference"?)`},
		{"{function: plain}", "{functoin: plain}", `my.yaml:14:15: source.reference.functoin: a reference has no field "functoin" (did you mean "function"?)`},
		{"  file: f.c", "  fiel: f.c", `my.yaml:8:3: source.fiel: a source has no field "fiel" (did you mean "file"?)`},
		{"source:", "sorce:", `my.yaml:7:1: sorce: a kernel file has no field "sorce" (did you mean "source"?)`},
		{"space:", "spaec:", `my.yaml:4:1: spaec: a kernel file has no field "spaec" (did you mean "space"?)`},
		{"access: read", "acess: read", `my.yaml:11:41: source.arguments[0].acess: an argument has no field "acess" (did you mean "access"?)`},
		{"length: n, access: write", "lenght: n, access: write", `my.yaml:12:30: source.arguments[1].lenght: an argument has no field "lenght" (did you mean "length"?)`},
		{"  parameters:", "  paramters:", `my.yaml:5:3: space.paramters: a space has no field "paramters" (did you mean "parameters"?)`},
		{"type: pow2", "tpye: pow2", `my.yaml:6:20: space.parameters[0].tpye: a parameter has no field "tpye" (did you mean "type"?)`},
	} {
		if got := faultsOf(strings.Replace(sourceText, test.old, test.new, 1), library); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.new, got, test.want)
		}
	}
}

// TestOneUnknownName: a name that is misspelt where it is declared is told once, with the lines where it is used.
func TestOneUnknownName(t *testing.T) {
	text := strings.Replace(sourceText, "source:", "  constraints:\n    - SIZE <= n and SIZE > 1\n    - SIZE != 3\n    - n > SZ\n    - SIZE > 2\nsource:", 1)
	const want = `my.yaml:8:7: space.constraints[0]: there is no parameter "SIZE" (want one of n, TILE), also on lines 9, 11
my.yaml:10:11: space.constraints[2]: there is no parameter "SZ" (want one of n, TILE)`
	if got := faultsOf(text, library); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	text = strings.Replace(sourceText, "length: n, access: read", "length: m, access: read", 1)
	text = strings.Replace(text, "length: n, access: write", "length: m, access: write", 1)
	if got, want := faultsOf(text, library), `my.yaml:11:38: source.arguments[0].length: there is no parameter and no constant "m" (want one of n, TILE), also on line 12`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestGuards: defaults in a source may stand under one #ifndef, if the macro is always defined.
func TestGuards(t *testing.T) {
	const body = "void f(const float *x, float *y, int n) { y[TILE] = UNROLL; }\nvoid plain(void) {}\n"
	text := withParameter("{name: UNROLL, type: int, from: 1, to: 4}")
	conditional := withParameter("{name: UNROLL, type: int, from: 1, to: 4, when: TILE > 1}")
	for _, test := range []struct{ text, source, want string }{
		{text, "#ifndef TILE\n#define TILE 4\n#define UNROLL 1\n#endif\n", ""},
		{text, "#if !defined(UNROLL)\n#define TILE 4\n#define UNROLL 1\n#endif\n", ""},
		{text, "#ifndef TILE\n# define TILE 4\n#endif\n#if defined UNROLL\n#else\n# define UNROLL 1\n#endif\n", ""},
		{text, "#ifndef TUNED\n#define TILE 4\n#define UNROLL 1\n#endif\n",
			"my.yaml:6:14: space.parameters[0].name: f.c line 2 defines TILE itself, within #ifndef TUNED, which tune does not define: put an #ifndef TILE of its own around it, or add -DTUNED to flags\n" +
				"my.yaml:7:14: space.parameters[1].name: f.c line 3 defines UNROLL itself, within #ifndef TUNED, which tune does not define: put an #ifndef UNROLL of its own around it, or add -DTUNED to flags"},
		{text + "  flags: [-O3, -DTUNED=1]\n", "#ifndef TUNED\n#define TILE 4\n#define UNROLL 1\n#endif\n", ""},
		{conditional, "#ifndef TILE\n#define TILE 4\n#define UNROLL 1\n#endif\n",
			"my.yaml:7:14: space.parameters[1].name: f.c line 3 defines UNROLL itself, within #ifndef TILE, which does not fit every point: put an #ifndef UNROLL of its own around it"},
		{conditional, "#ifndef UNROLL\n#define TILE 4\n#define UNROLL 1\n#endif\n",
			"my.yaml:6:14: space.parameters[0].name: f.c line 2 defines TILE itself, within #ifndef UNROLL, which does not fit every point: put an #ifndef TILE of its own around it"},
		{text, "#ifndef TILE\n#define TILE 4\n#endif\n#define UNROLL 1\n", "my.yaml:7:14: space.parameters[1].name: f.c line 4 defines UNROLL itself: put #ifndef UNROLL before it, or rename the parameter"},
		{text, "#ifndef TILE\n#else\n#define UNROLL 4\n#endif\n", "my.yaml:7:14: space.parameters[1].name: f.c line 3 defines UNROLL itself: put #ifndef UNROLL before it, or rename the parameter"},
	} {
		if got := faultsOf(test.text, shelf{"f.c": test.source + body}); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.source, got, test.want)
		}
	}
	// The compiler agrees: the value is the parameter's.
	if _, err := exec.LookPath("gcc"); err != nil {
		return
	}
	c := exec.Command("gcc", "-E", "-P", "-")
	c.Stdin = strings.NewReader("#define TILE 7\n#define UNROLL 3\n#ifndef TILE\n#define TILE 4\n#define UNROLL 1\n#endif\nTILE UNROLL\n")
	if out, err := c.Output(); err != nil || strings.TrimSpace(string(out)) != "7 3" {
		t.Errorf("%s, %v", out, err)
	}
}

// TestFloatParameters: a float reaches the source as a number of C, and expressions can use it.
func TestFloatParameters(t *testing.T) {
	k, err := read("my.yaml", []byte(withParameter("{name: UNROLL, type: float, from: 0.1, to: 10, steps: 4, scale: log, default: 1}")), library)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := k.d.space.make(map[string]int{"n": 8})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := sp.Len(); n != 4*5 || sp.Default().Key() != "TILE=1 UNROLL=1.0" {
		t.Errorf("%d points, the default is %s", n, sp.Default().Key())
	}
	p, err := sp.Parse("TILE=2 UNROLL=3.16")
	if err != nil {
		t.Fatal(err)
	}
	if got := k.d.source.program(k.d.source.text, "f.c", p, nil).header; got != "#define TILE 2\n#define UNROLL 3.16\n" {
		t.Errorf("the header is %q", got)
	}
}
