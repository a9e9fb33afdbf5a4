package user

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tune/internal/orderedjson/schematest"
	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

var update = flag.Bool("update", false, "rewrite the published schema")

// shelf is a world of texts.
type shelf map[string]string

func (s shelf) read(name string) ([]byte, fs.FileMode, error) {
	text, ok := s[name]
	if !ok {
		return nil, 0, fmt.Errorf("there is no file %s", name)
	}
	return []byte(text), 0o644, nil
}

func (s shelf) exists(name string) bool { _, ok := s[name]; return ok }

func (s shelf) directory(name string) error {
	if name != "." && name != "sub" {
		return fmt.Errorf("there is no directory %s", name)
	}
	return nil
}

var library = shelf{
	"f.c":        "#include \"f.h\"\n#ifndef TILE\n#define TILE 4\n#endif\nvoid f(const float *x, float *y, int n) { for (int i = 0; i < n; i += TILE) y[i] = twice(x[i]); }\nvoid plain(const float *x, float *y, int n) {}\n",
	"f.h":        "#pragma once\nstatic float twice(float x) { return 2 * x; }\n",
	"t.c":        "void f(const float *x, float *y, int n) {\n  int a[1][2] = {{1,2}};\n  y[{{TILE}}] = {{TIEL}};\n}\n",
	"hard.c":     "#define TILE 8\nvoid f(void) {}\n",
	"empty.c":    "\n",
	"one.txt":    "1, 2.5\n-3e2",
	"words.txt":  "1 two",
	"odd.bin":    "12345",
	"conf.in":    "a\nb={{BUF}}\n",
	"schema.txt": "x",
	"blank.txt":  "\n",
	"large.csv":  "1,128",
	"many.c":     strings.Repeat("#include \"f.h\"\n", maxIncludes+1) + "void f(const float *x, float *y, int n) {}\nvoid plain(const float *x, float *y, int n) {}\n",
}

// sourceText is a file that is right; tests change a line of it.
const sourceText = `kernel:
  name: demo
  shape: {n: 8}
space:
  parameters:
    - {name: TILE, type: pow2, from: 1, to: 8}
source:
  file: f.c
  function: f
` + argumentsText + `  reference: {function: plain}
`

// argumentsText are the arguments of most sources here.
const argumentsText = `  arguments:
    - {name: x, type: float, length: n, access: read}
    - {name: y, type: float, length: n, access: write}
    - {name: n, type: int, value: n}
`

const commandText = `kernel: {name: cmd, shape: {n: 3}}
space:
  parameters:
    - {name: TILE, type: int, from: 1, to: 4}
command:
  run: [echo, "{{TILE}}"]
`

func TestRead(t *testing.T) {
	for _, text := range []string{sourceText, commandText + "  check: [echo]\n  files: []\n"} {
		k, err := read("my.yaml", []byte(text), library)
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Warnings()) != 0 {
			t.Errorf("warnings: %v", k.Warnings())
		}
	}
	k, _ := read("my.yaml", []byte(sourceText), library)
	if text := k.d.source.text.src; !strings.Contains(text, "#line 1 \"f.h\"\n") || strings.Contains(text, "#include") || strings.Contains(text, "pragma") || !strings.Contains(text, "#line 2 \"f.c\"\n#ifndef") {
		t.Errorf("the include was not put in:\n%s", text)
	}
}

// TestRoom: buffers that the machine has no room for are refused where they stand, before anything is allocated.
func TestRoom(t *testing.T) {
	var kilobytes int64
	data, err := os.ReadFile("/proc/meminfo")
	if _, serr := fmt.Sscanf(string(data), "MemTotal: %d kB", &kilobytes); err != nil || serr != nil || kilobytes > 150<<20 {
		t.Skip("this system does not say how much memory it has, or has room for it")
	}
	text := strings.Replace(sourceText, "length: n, access: read", "length: 4000000000, access: read", 1)
	_, err = read("my.yaml", []byte(text), library)
	const want = "my.yaml:11:38: source.arguments[0].length: to check and compare kernels on it needs about "
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), " GB of memory, this machine has ") {
		t.Errorf("%v, want %s…", err, want)
	}
}

func TestReadFaults(t *testing.T) {
	// Each edit replaces a text of a file that is right; the faults are all that is wrong then.
	for _, test := range []struct {
		base, old, new string
		want           string
	}{
		{"", "", "", "my.yaml: it is empty: 'tune init' writes an example"},
		{"", "", "# nothing\n", "my.yaml: it is empty: 'tune init' writes an example"},
		{"", "", "kernel: [\n", "my.yaml:1:9: [ is not closed: write ] at the end of the list that begins here"},
		{"", "", "a: 1\n  b: 2\n", `my.yaml:2:3: mapping values are not allowed in this context: the line before lacks a colon, this line is indented too far, or a text with ": " in it needs quotes`},
		{"", "", "a: 1\n---\nb: 2\n", "my.yaml: it holds more than one document: want one"},
		{"", "", "[1]", "my.yaml:1:1: want a mapping with the fields kernel, space, source, command, run, presets"},
		{"", "", "kernle: {}\n", `my.yaml:1:1: kernle: a kernel file has no field "kernle" (did you mean "kernel"?)
my.yaml:1:1: the field space is missing: what may vary: parameters and constraints, which may name constants of the shape
my.yaml:1:1: want a field source or command, which says what to tune`},
		{sourceText, "name: demo", "nmae: demo", `my.yaml:2:3: kernel.nmae: a kernel has no field "nmae" (did you mean "name"?)`},
		{sourceText, "name: demo", "name: de mo", `my.yaml:2:9: kernel.name: "de mo": want letters, digits, - _ and .`},
		{sourceText, "name: demo", "name:", `my.yaml:2:3: kernel.name: it has no value: remove the line, or write one`},
		{sourceText, "name: demo", "name: demo\n  name: other", `my.yaml:3:3: kernel.name: it is on line 2 already: leave one of the two out`},
		{sourceText, "{n: 8}", "{n: eight}", `my.yaml:3:14: kernel.shape.n: want a whole number from -1099511627776 to 1099511627776`},
		{sourceText, "{n: 8}", "{n: {default: 8, from: 9, to: 12}}", `my.yaml:3:24: kernel.shape.n.default: 8 is not in the range 9 to 12`},
		{sourceText, "{n: 8}", "{n: {default: 8, form: 9}}", `my.yaml:3:27: kernel.shape.n.form: a shape constant has no field "form" (did you mean "from"?)`},
		{sourceText, "{n: 8}", "{n: 8, min: 3}", `my.yaml:3:17: kernel.shape.min: "min" cannot name a constant: it is a word of expressions`},
		{sourceText, "{n: 8}", "{n: 8, TILE: 3}", `my.yaml:6:14: space.parameters[0].name: TILE is a constant of the shape already`},
		{sourceText, "type: pow2", "type: pow", `my.yaml:6:26: space.parameters[0].type: there is no type "pow" (did you mean "pow2"?); the types are int, float, pow2, enum, bool`},
		{sourceText, "to: 8}", "ot: 8}", `my.yaml:6:41: space.parameters[0].ot: a parameter has no field "ot" (did you mean "to"?)`},
		{sourceText, "to: 8}", "to: 7}", `my.yaml:6:7: space.parameters[0]: 7 is not a power of two: write 4 or 8`},
		{sourceText, "to: 8}", `to: 8, when: "n > 3 and TIEL"}`, `my.yaml:6:65: space.parameters[0].when: there is no parameter "TIEL" (want n)`},
		{sourceText, "source:", "  constraints:\n    - TILE <= m\n    - 'TILE < 3'\n    - TILE >\nsource:", `my.yaml:8:15: space.constraints[0]: there is no parameter "m" (want one of n, TILE)
my.yaml:10:13: space.constraints[2]: the expression ends where a value should stand`},
		{sourceText, "source:", "  constraints: [!TILE ]\nsource:", `my.yaml:7:17: space.constraints[0]: YAML takes a text that begins with ! for a tag: write it in quotes, "!TILE"`},
		{sourceText, "value: n}", "value: !n }", `my.yaml:13:35: source.arguments[2].value: YAML takes a text that begins with ! for a tag: write it in quotes, "!n"`},
		{sourceText, "file: f.c", "file: !f.c", `my.yaml:8:9: source.file: YAML takes a text that begins with ! for a tag: write it in quotes, "!f.c"`},
		{commandText, "command:", "command:\n  metric: {from: time, warmup: 1}", `my.yaml:6:24: command.metric.warmup: a metric has no field "warmup": write warmup under command itself`},
		{sourceText, "source:", "  constraints: [TILE > n]\nsource:", `my.yaml:7:17: space.constraints[0]: it has no point: none satisfies TILE > n`},
		{sourceText, "source:", "  constraint: [TILE < n]\nsource:", `my.yaml:7:3: space.constraint: a space has no field "constraint" (did you mean "constraints"?)`},
		{sourceText, "file: f.c", "file: g.c", `my.yaml:8:9: source.file: there is no file g.c`},
		{sourceText, "x, type: float,", "x, type: float64,", `my.yaml:11:23: source.arguments[0].type: "float64": want one of float, double, int8_t, uint8_t, int16_t, uint16_t, int, int32_t, unsigned, uint32_t, long, int64_t, size_t, uint64_t, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64 (did you mean "double"?)`},
		{sourceText, "file: f.c", "file: f.rs", `my.yaml:8:9: source.file: f.rs: want a name that ends in .c, .cc or .cpp: a program in another language is tuned through its command line, see 'tune init --command'`},
		{sourceText, "{function: plain}", "plain", `my.yaml:14:14: source.reference: want a mapping with the fields function, file, outputs, flags, parameters, tolerance, shapes, as in {function: plain}`},
		{sourceText, "access: read}", "access: in}", `my.yaml:11:49: source.arguments[0].access: "in": want one of read, write, update (did you mean "read"?)`},
		{sourceText, "access: read}", "access: read, fill: 0}", `my.yaml:11:61: source.arguments[0].fill: want a mapping with the fields random, integers, constant, file, as in {constant: 0}`},
		{sourceText, argumentsText, "  arguments: {x: float}\n", `my.yaml:10:14: source.arguments: want a list of arguments, each with its name, as in [{name: x, type: float, length: n, access: read}]`},
		{sourceText, "{name: x, type: float,", "{name:x, type: float,", `my.yaml:11:8: source.arguments[0].name: put a blank behind the colon: name: x`},
		{sourceText, "{name: TILE,", "{name:TILE,", `my.yaml:6:17: space.parameters[0]: put a blank behind the colon: name: TILE`},
		{commandText, "    - {name: TILE, type: int, from: 1, to: 4}\n", "    name: TILE\n    type: int\n", `my.yaml:4:5: space.parameters: want a list of parameters: write - before the first field of each, as in - name: TILE`},
		{commandText, "space:\n  parameters:\n", "parameters:\n", `my.yaml:2:1: parameters: a kernel file has no field "parameters": write it under space`},
		{commandText, "{name: cmd, shape: {n: 3}}", "\n  name:cmd", `my.yaml:2:3: kernel: put a blank behind the colon: name: cmd`},
		{commandText, `run: [echo, "{{TILE}}"]`, "run: [echo, '{{TILE}}']\n  environment: [A=1]", `my.yaml:7:16: command.environment: want a mapping from variables to values, as in {OMP_NUM_THREADS: 4}`},
		{commandText, `run: [echo, "{{TILE}}"]`, "run: {echo: 1}", `my.yaml:6:8: command.run: want a command: a text for the shell, or a list of its words`},
		{commandText, `run: [echo, "{{TILE}}"]`, "run: [echo, '{{TILE}}']\n  metric: {from: stdout}", `my.yaml:7:18: command.metric.from: "stdout": want one of output, stderr, time, cpu, size (did you mean "output"?)`},
		{commandText, `run: [echo, "{{TILE}}"]`, "run: [echo, '{{TILE}}']\n  metric: time", `my.yaml:7:11: command.metric: want a mapping with the fields from, pattern, json, file, unit, goal, repeats, exact, within, as in {from: time}`},
		{sourceText, "file: f.c", "file: empty.c", `my.yaml:8:9: source.file: empty.c is empty
my.yaml:9:13: source.function: empty.c has no function "f"
my.yaml:14:25: source.reference.function: empty.c has no function "plain"`},
		{sourceText, "file: f.c", "file: f.c\n  text: int x;", `my.yaml:9:9: source.text: there is a file already, on line 8: want one of the two`},
		{sourceText, "  file: f.c\n", "", `my.yaml:8:3: source: want a field file or text, which holds the source`},
		{sourceText, "function: f\n", "function: ff\n", `my.yaml:9:13: source.function: f.c has no function "ff" (did you mean "f"?)`},
		{sourceText, "function: f\n", "function: f()\n", `my.yaml:9:13: source.function: "f()" is not the name of a function: write its name alone`},
		{sourceText, "file: f.c", "file: hard.c", `my.yaml:6:14: space.parameters[0].name: hard.c line 1 defines TILE itself: put #ifndef TILE before it, or rename the parameter
my.yaml:14:25: source.reference.function: hard.c has no function "plain" (want f)`},
		{sourceText, "name: TILE", "name: n2", "my.yaml:6:14: space.parameters[0].name: argument 3 has this name too, which the #define of the parameter would replace: rename one of them"},
		{sourceText, "name: TILE", "name: plain", "my.yaml:6:14: space.parameters[0].name: a function has this name too, which the #define of the parameter would replace: rename one of them"},
		{sourceText, "name: TILE", "name: int", `my.yaml:6:14: space.parameters[0].name: int is a word of C: a #define of it would break the source: rename the parameter`},
		{sourceText, "name: TILE", "name: seed", `my.yaml:6:14: space.parameters[0].name: seed is a reserved name: choose another one`},
		{sourceText, "file: f.c", "file: t.c\n  parameters: template", `t.c:3:17: source.file: {{TIEL}}: there is no parameter and no constant of this name (did you mean "TILE"?)`},
		{sourceText, "file: f.c", "file: f.c\n  parameters: templ", `my.yaml:9:15: source.parameters: "templ": want one of define, template`},
		{sourceText, "type: int, value", "type: itn, value", `my.yaml:13:23: source.arguments[2].type: "itn": want one of float, double, int8_t, uint8_t, int16_t, uint16_t, int, int32_t, unsigned, uint32_t, long, int64_t, size_t, uint64_t, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64 (did you mean "int"?)`},
		{sourceText, "value: n}", "value: n * m}", `my.yaml:13:39: source.arguments[2].value: there is no parameter and no constant "m" (want one of n, TILE)`},
		{sourceText, "value: n}", "value: 'n * (2'}", `my.yaml:13:42: source.arguments[2].value: expected ")", found end of the expression`},
		{sourceText, "value: n}", "value: 0.5}", `my.yaml:13:35: source.arguments[2].value: 0.5 is not a whole number`},
		{sourceText, "value: n}", "value: n // 0}", `my.yaml:13:35: source.arguments[2].value: n // 0 divides by zero`},
		{sourceText, "value: n}", "value: n, length: 3}", `my.yaml:13:46: source.arguments[2].length: a scalar has a value and no length: leave it out`},
		{sourceText, "name: n, type", "name: x, type", `my.yaml:13:14: source.arguments[2].name: argument 1 has this name already`},
		{sourceText, "length: n, access: write", "length: n - 8, access: write", `my.yaml:12:38: source.arguments[1].length: n - 8, which is 0, is out of range: want 1 to 17179869184`},
		{sourceText, "length: n, access: write", "length: 2 ** 33, access: write", `my.yaml:12:38: source.arguments[1].length: the buffers take more than 16 GiB`},
		{sourceText, ", access: write", ", access: writes", `my.yaml:12:49: source.arguments[1].access: "writes": want one of read, write, update (did you mean "write"?)`},
		{sourceText, ", access: write", "", `my.yaml:12:7: source.arguments[1]: the field access is missing: what the function does with a buffer: read, write, or update (both)`},
		{sourceText, "length: n, access: read", "access: read", `my.yaml:11:7: source.arguments[0]: want a length, for a buffer, or a value, for a scalar`},
		{sourceText, "access: write", "access: write, fill: {constant: 1}", `my.yaml:12:62: source.arguments[1].fill: what a buffer holds that is only written has no meaning: leave it out, or use access: update`},
		{sourceText, "access: read", "access: read, fill: {random: [1, 1]}", `my.yaml:11:61: source.arguments[0].fill: the range from 1 to 1 is empty`},
		{sourceText, "access: read", "access: read, fill: {random: [1]}", `my.yaml:11:70: source.arguments[0].fill.random: want a range [from, to], as in [-1, 1]`},
		{sourceText, "access: read", "access: read, fill: {random: 1}", `my.yaml:11:70: source.arguments[0].fill.random: want a range [from, to], as in [-1, 1]`},
		{sourceText, "access: read", "access: read, fill: {random: [0, 1], constant: 1}", `my.yaml:11:61: source.arguments[0].fill: want one of random, constant and file`},
		{sourceText, "access: read", "access: read, fill: {constant: 1, integers: true}", `my.yaml:11:85: source.arguments[0].fill.integers: it applies to random numbers: leave it out, or write random: [from, to]`},
		{sourceText, "access: read", "access: read, fill: {file: none.bin}", `my.yaml:11:68: source.arguments[0].fill.file: there is no file none.bin`},
		{sourceText, "access: read", "access: read, fill: {file: odd.bin}", `my.yaml:11:68: source.arguments[0].fill.file: odd.bin has 5 bytes, which is not a multiple of the element size, 4 bytes: want whole elements, or numbers as text in a .txt or .csv file`},
		{sourceText, "access: read", "access: read, fill: {file: words.txt}", `my.yaml:11:68: source.arguments[0].fill.file: words.txt: element 2: "two" is not a number`},
		{sourceText, "access: read", "access: read, fill: {file: one.txt}", `my.yaml:11:61: source.arguments[0].fill: one.txt holds 3 elements, but the buffer has 8: mend the file, or the length`},
		{sourceText, "type: float, length: n, access: read", "type: uint8_t, length: n, access: read, fill: {random: [0, 256]}", `my.yaml:11:63: source.arguments[0].fill: 256 does not fit uint8_t`},
		{sourceText, "{function: plain}", "{function: plan}", `my.yaml:14:25: source.reference.function: f.c has no function "plan" (did you mean "plain"?)`},
		{sourceText, "{function: plain}", "{tolerance: exact}", `my.yaml:14:14: source.reference: want function: a function to compare with, or outputs: files of expected results`},
		{sourceText, "{function: plain}", "{function: plain, tolerance: exat}", `my.yaml:14:43: source.reference.tolerance: "exat": want exact, or a mapping with absolute and relative, as in {absolute: 1.0e-6, relative: 1.0e-5} (did you mean "exact"?)`},
		{sourceText, "{function: plain}", "{function: plain, tolerance: {absolut: 1}}", `my.yaml:14:44: source.reference.tolerance.absolut: a tolerance has no field "absolut" (did you mean "absolute"?)`},
		{sourceText, "{function: plain}", "{function: plain, tolerance: {absolute: -1}}", `my.yaml:14:54: source.reference.tolerance.absolute: want a number that is not negative`},
		{sourceText, "{function: plain}", "{function: plain, shapes: [{m: 3}, {n: 0}]}", `my.yaml:14:42: source.reference.shapes[0].m: there is no constant "m" (want n)
my.yaml:14:53: source.reference.shapes[1].n: want a whole number from 1 to 1099511627776`},
		{sourceText, "{function: plain}", "{function: plain, parameters: {TIEL: 1, TILE: 3}, flags: [-O1, -o, '-D{{q}}']}", `my.yaml:14:45: source.reference.parameters.TIEL: there is no parameter "TIEL" (did you mean "TILE"?)
my.yaml:14:60: source.reference.parameters.TILE: parameter "TILE" has no value 3; its domain is 1..8 (powers of two)
my.yaml:14:77: source.reference.flags[1]: tune sets this itself, to make a shared object: leave -o out
my.yaml:14:84: source.reference.flags[2]: {{q}}: there is no parameter and no constant of this name (want one of n, TILE)`},
		{sourceText, "{function: plain}", "{function: plain, parameters: {TILE: [1]}}", `my.yaml:14:51: source.reference.parameters.TILE: want a value of the parameter: 1..8 (powers of two)`},
		{sourceText, "{function: plain}", "{function: plain, parameters: {compiler: gcc}}", `my.yaml:14:45: source.reference.parameters.compiler: there is no parameter "compiler" (want TILE)`},
		{sourceText, "{function: plain}", "{function: plain, parameters: {compiler: icc}}\n  compilers: [clang, gcc]", `my.yaml:14:55: source.reference.parameters.compiler: "icc": want one of clang, gcc (did you mean "gcc"?)`},
		{sourceText, "{function: plain}", "{outputs: {y: one.txt}, parameters: {TILE: 1}}", `my.yaml:14:24: source.reference.outputs: argument x has random inputs, for which no file can hold the result: give it fill: {constant: …} or {file: …}
my.yaml:14:50: source.reference.parameters: outputs takes the place of a reference function: leave this field out`},
		{sourceText, "{function: plain}", "{outputs: {y: one.txt}}", `my.yaml:14:24: source.reference.outputs: argument x has random inputs, for which no file can hold the result: give it fill: {constant: …} or {file: …}`},
		{sourceText, "  reference: {function: plain}\n", "", `my.yaml:8:3: source: the field reference is missing: how to tell a right result: a function or files to compare with`},
		{sourceText, "  reference:", "  compilers: [gcc, ./icc, gcc]\n  reference:", `my.yaml:14:20: source.compilers[1]: there is no file ./icc: want the path of a compiler, or the name of one such as gcc or clang-18
my.yaml:14:27: source.compilers[2]: gcc is listed already: leave one of the two out`},
		{sourceText, "  reference:", "  flags: [-O3, -o, x]\n  reference:", `my.yaml:14:16: source.flags[1]: tune sets this itself, to make a shared object: leave -o out`},
		{sourceText, "  reference:", "  flags: ['-DT={{TLE}}']\n  reference:", `my.yaml:14:16: source.flags[0]: {{TLE}}: there is no parameter and no constant of this name (did you mean "TILE"?)`},
		{sourceText, "  reference:", "  flags: [-O2, {{TILE}}]\n  reference:", `my.yaml:14:16: source.flags[1]: YAML reads {{TILE}} without quotes as a mapping: write it in quotes, "{{TILE}}"`},
		{sourceText, "  reference:", "  flags: {{TILE}}\n  reference:", `my.yaml:14:10: source.flags: YAML reads {{TILE}} without quotes as a mapping: write it in quotes, "{{TILE}}"`},
		{sourceText, "  reference:", "  flags: [-O2, -DT={{TILE}}]\n  reference:", `my.yaml:14:20: {{ begins a mapping in YAML: write a text that has it in quotes, "…{{…}}…"`},
		{sourceText, "  reference:", "  flags:\n    - {{TILE}}x # {{\n    - -O1\n  reference:", `my.yaml:15:7: {{ begins a mapping in YAML: write a text that has it in quotes, "…{{…}}…"`},
		{sourceText, "to: 8}", "to: 8, flag: {{TILE}}}", `my.yaml:6:54: space.parameters[0].flag: YAML reads {{TILE}} without quotes as a mapping: write it in quotes, "{{TILE}}"`},
		{sourceText, "value: n}", "value: {{n}}}", `my.yaml:13:35: source.arguments[2].value: YAML reads {{n}} without quotes as a mapping: write it in quotes, "{{n}}"`},
		{sourceText, "  reference:", "  flags: ['-DT={{TILE', '-DU={{ TILE * 2}', '-DV={{1,TILE}']\n  reference:", `my.yaml:14:16: source.flags[0]: {{TILE has no closing braces: write {{TILE}}
my.yaml:14:30: source.flags[1]: {{TILE has no closing braces: write {{TILE}}`},
		{sourceText, "type: pow2, from: 1, to: 8", "type: pow2, values: [1, 2]", `my.yaml:6:40: space.parameters[0].values: type pow2 takes from and to instead of a list: leave values out, or write type: enum`},
		{sourceText, "  reference:", "  threads: TILE +\n  reference:", `my.yaml:14:18: source.threads: the expression ends where a value should stand`},
		{sourceText, "  reference:", "  threads: 0\n  reference:", `my.yaml:14:12: source.threads: 0 is out of range: want 1 to 1024`},
		{sourceText, "  reference:", "  threads: 100000\n  reference:", `my.yaml:14:12: source.threads: 100000 is out of range: want 1 to 1024`},
		{sourceText, "length: n, access: read", "length: 99999999999999999999, access: read", `my.yaml:11:38: source.arguments[0].length: 99999999999999999999 is out of range: want 1 to 17179869184`},
		{sourceText, "length: n, access: read", "length: n*9007199254740993*3, access: read", `my.yaml:11:38: source.arguments[0].length: n*9007199254740993*3, which is about 2.162e+17, is out of range: want 1 to 17179869184`},
		{sourceText, "space:", "# \x01\nspace:", `my.yaml:4:3: control characters are not allowed: remove it`},
		{sourceText, "  reference:", "  metric: {operations: TILE, bytes: q}\n  reference:", `my.yaml:14:24: source.metric.operations: TILE is a parameter: only constants of the shape may stand here
my.yaml:14:37: source.metric.bytes: there is no constant "q" (want n)`},
		{sourceText, "  reference:", "  limits: {call: 10, memory: 4}\n  reference:", `my.yaml:14:18: source.limits.call: want a time with a unit, from 1ms to 24h, such as 30s or 2m
my.yaml:14:30: source.limits.memory: want a size with a unit, such as 64MiB or 4GiB`},
		{sourceText, "value: n}", "value: \"'a'\"}", `my.yaml:13:35: source.arguments[2].value: the expression is a text: want a number`},
		{sourceText, "    - {name: TILE, type: pow2, from: 1, to: 8}\n", "    []\n", `my.yaml:6:5: space.parameters: want at least one parameter, as in [{name: tile, type: pow2, from: 1, to: 8}]`},
		{sourceText, "name: demo", `doc: "a\0b"`, `my.yaml:2:8: kernel.doc: it contains a NUL character or invalid UTF-8: remove it`},
		{sourceText, "name: demo", `doc: "a\nb"`, `my.yaml:2:8: kernel.doc: want one line`},
		{sourceText, "name: demo", "? [doc]\n  : x", `my.yaml:2:5: kernel: the name of a field has to be a text`},
		{sourceText, "name: demo", `doc: ""`, `my.yaml:2:8: kernel.doc: it is empty: write a text, or leave it out`},
		{sourceText, "type: pow2, from: 1, to: 8", `type: enum, values: ["a\\b"]`, `my.yaml:6:14: space.parameters[0].name: value "a\\b" cannot stand in a #define: write parameters: template, and {{TILE}} in the source`},
		{sourceText, "access: read", "access: read, fill: {file: blank.txt}", `my.yaml:11:68: source.arguments[0].fill.file: blank.txt contains no number: write the elements, separated by blanks, commas or new lines`},
		{sourceText, "access: read", "access: read, fill: {random: [0, 9007199254740994], integers: true}", `my.yaml:11:61: source.arguments[0].fill: the range from 0 to 9.007199254740994e+15 is not one of whole numbers up to 2^53`},
		{sourceText, "type: float, length: n, access: read", "type: uint64_t, length: n, access: read, fill: {file: words.txt}", `my.yaml:11:71: source.arguments[0].fill.file: words.txt: element 2: "two" is not an integer from 0 to 2^64-1`},
		{sourceText, "type: float, length: n, access: read", "type: int8_t, length: n, access: read, fill: {file: large.csv}", `my.yaml:11:69: source.arguments[0].fill.file: large.csv: element 2: "128" is not an integer from -128 to 127`},
		{sourceText, "{function: plain}", "{function: plain, shapes: [{n: 3}]}\n  flags: ['-DN={{n}}']", `my.yaml:14:40: source.reference.shapes: the source or a flag contains {{n}}, a constant of the shape, so it is right for one shape only: leave shapes out, or pass the constant as an argument`},
		{sourceText, "{function: plain}", "{outputs: {z: one.txt}}", `my.yaml:14:24: source.reference.outputs: argument x has random inputs, for which no file can hold the result: give it fill: {constant: …} or {file: …}
my.yaml:14:24: source.reference.outputs: there is no file for argument y
my.yaml:14:25: source.reference.outputs.z: the function writes no argument "z" (want y)`},
		{sourceText, "file: f.c", "file: many.c", `my.yaml:8:9: source.file: many.c includes more than 200 files`},
		{sourceText, "  reference:", "  metric: {operations: 3 - n}\n  reference:", `my.yaml:14:11: source.metric: 3 - n, which is -5, is below 0`},
		{sourceText, "space:\n  parameters:\n    - {name: TILE, type: pow2, from: 1, to: 8}\n", "space: {parameters: {TILE: {type: pow2, from: 1, to: 8}}}\n", `my.yaml:4:21: space.parameters: want a list of parameters, each with its name, as in [{name: TILE, type: int, from: 1, to: 8}]`},
		{sourceText, "source:", "parameters: []\nsource:", `my.yaml:7:1: parameters: a kernel file has no field "parameters": write it under space`},
		{sourceText, "source:", "  start: {TILE: 2}\nsource:", `my.yaml:7:10: space.start: want a list, as in [{TILE: 2}]`},
		{sourceText, "source:", "  constraints:\n    - ! TILE > n\nsource:", `my.yaml:8:7: YAML leaves out a ! that a blank follows: put the text into quotes, "! TILE > n"`},
		{sourceText, "source:", "  constraints:\n    - !TILE > n\nsource:", `my.yaml:8:7: a text cannot begin with ! without quotes: put it into quotes`},
		{sourceText, "source:", "  constraints:\n    - &TILE\nsource:", `my.yaml:8:7: space.constraints[0]: YAML takes &TILE for the name of this value: put an expression that begins with & into quotes`},
		{sourceText, "source:", "  constraints: [&TILE <= 4]\nsource:", `my.yaml:7:17: space.constraints[0]: YAML takes &TILE for the name of this value: put an expression that begins with & into quotes`},
		{sourceText, "  arguments:", "  args:", `my.yaml:10:3: source.args: a source has no field "args" (did you mean "arguments"?)`},
		{sourceText, "  arguments:", "  parameters:", `my.yaml:10:3: source.parameters: want define or template: a list of the arguments of the function stands under arguments`},
		{sourceText, "  file:", "  src:", `my.yaml:8:3: source.src: a source has no field "src" (did you mean "file"?)`},
		{sourceText, "length: n, access: read", "size: n, access: read", `my.yaml:11:30: source.arguments[0].size: an argument has no field "size" (did you mean "length"?)`},
		{sourceText, "access: read", "mode: read", `my.yaml:11:41: source.arguments[0].mode: an argument has no field "mode" (did you mean "access"?)`},
		{sourceText, "  reference:", "  timeout: 3s\n  reference:", `my.yaml:14:3: source.timeout: a source has no field "timeout": write limits: {call: 10s}, and compile for its compilation`},
		{sourceText, "  reference:", "  env: {A: 1}\n  reference:", `my.yaml:14:3: source.env: a source has no field "env": a function is called in a process of tune's own; give it values by flags, as in -DNAME=value`},
		{sourceText, "source:", "timeout: 3s\nsource:", `my.yaml:7:1: timeout: a kernel file has no field "timeout": write it under source or command, as in limits: {run: 10s} for a command`},
		{sourceText, "source:", "env: {A: 1}\nsource:", `my.yaml:7:1: env: a kernel file has no field "env": write environment under command`},
		{sourceText, "space:", "  scale: log\nspace:", `my.yaml:4:3: kernel.scale: a kernel has no field "scale": it is a field of a parameter of type int or float, as in {name: x, type: int, from: 1, to: 64, scale: log}`},
		{commandText, "  run:", "  timeout: 3s\n  run:", `my.yaml:6:3: command.timeout: a command has no field "timeout": write limits: {run: 10s}, and build, check and others for those commands`},
		{commandText, "  run:", "  env: {A: 1}\n  run:", `my.yaml:6:3: command.env: a command has no field "env" (did you mean "environment"?)`},
		{sourceText, "{n: 8}", "{n: [1, 4096]}", `my.yaml:3:14: kernel.shape.n: want a number, or a range with the number that holds without --shape, as in {default: 4096, from: 1, to: 4096}`},
		{sourceText, "{n: 8}", "{n: 1..64}", `my.yaml:3:14: kernel.shape.n: want a number, or a range with the number that holds without --shape, as in {default: 64, from: 1, to: 64}`},
		{sourceText, "{function: plain}", "{function: plain, tolerance: 1%}", `my.yaml:14:43: source.reference.tolerance: "1%": want exact, or a mapping with absolute and relative, as in {relative: 1%}`},
		{sourceText, "{function: plain}", "{function: plain, tolerance: {relative: x%}}", `my.yaml:14:54: source.reference.tolerance.relative: want a number that is not negative, or a share such as 1%`},
		{sourceText, "{function: plain}", "{function: saxpy}", `my.yaml:14:25: source.reference.function: f.c has no function "saxpy" (want one of twice, f, plain)`},
		{commandText, "  run:", "  metric: {pattern: 'time [0-9.]+', unit: ms}\n  run:", `my.yaml:6:21: command.metric.pattern: it has no group, so that all of its match would be the number, and that begins with "time ": put parentheses around the number, as in ([0-9.]+)`},
		{sourceText, "source:", "budget: 5s\nsource:", `my.yaml:7:1: budget: a kernel file has no field "budget": want one of kernel, space, source, command, run, presets; settings, such as budget, stand under run`},
		{sourceText, "{n: 8}", "{n: 1e6}", `my.yaml:3:14: kernel.shape.n: want a whole number in digits: write 1000000`},
		{sourceText, "{n: 8}", "n=8", `my.yaml:3:10: kernel.shape: want a mapping from names to numbers, as in {n: 1024}`},
		{sourceText, "  reference:", "  flags: -O2\n  reference:", `my.yaml:14:10: source.flags: want a list, as in [-O2]`},
		{sourceText, "  reference:", "  flags: [-x, c, -O3, O2]\n  reference:", `my.yaml:14:23: source.flags[3]: O2 is no flag, and a compiler takes it for a file: write -O2`},
		{sourceText, "  reference:", "  flags: [-I include lib.a march=native]\n  reference:", `my.yaml:14:11: source.flags[0]: march=native is no flag, and a compiler takes it for a file: write -march=native`},
		{sourceText, "  reference:", "  flags: [\"$TILE\"]\n  reference:", `my.yaml:14:11: source.flags[0]: no shell reads a flag: write the value of TILE as {{TILE}}, in quotes`},
		{sourceText, "  reference:", "  flags: ['-O${TILE}']\n  reference:", `my.yaml:14:11: source.flags[0]: no shell reads a flag: write the value of TILE as {{TILE}}, in quotes`},
		{sourceText, "  reference:", "  flags: ['{TILE}']\n  reference:", `my.yaml:14:11: source.flags[0]: no shell reads a flag: write the value of TILE as {{TILE}}, in quotes`},
		{sourceText, "type: pow2, from: 1, to: 8}\n", "type: bool, flag: funroll}\n", `my.yaml:6:38: space.parameters[0].flag: funroll is no flag, and a compiler takes it for a file: write -funroll`},
		{sourceText, "type: pow2, from: 1, to: 8}\nsource:\n", "type: enum, values: [O2, O3]}\nsource:\n  flags: [\"{{TILE}}\"]\n", `my.yaml:8:11: source.flags[0]: {{TILE}} puts O2 here, which is no flag, and a compiler takes it for a file: write -{{TILE}}, or -O2 among the values`},
		{sourceText, "length: n, access: read", "length: [n], access: read", `my.yaml:11:38: source.arguments[0].length: want an expression`},
		{sourceText, ", access: write", ", access: read", `my.yaml:11:5: source.arguments: the function writes no buffer: one needs access: write or update`},
		{sourceText, "access: read}", "access: read, tolerance: exact}", `my.yaml:11:66: source.arguments[0].tolerance: a buffer that is only read is not compared`},
		{sourceText, "  reference:", "  peers: [{name: a, function: plain}, {name: a, function: plain}]\n  reference:", `my.yaml:14:46: source.peers[1].name: another peer has the name a already`},
		{sourceText, "name: TILE, type: pow2, from: 1, to: 8}\nsource:\n", "name: compiler, type: pow2, from: 1, to: 8}\nsource:\n  compilers: [gcc, clang]\n", `my.yaml:8:14: source.compilers: there is a parameter named compiler already: rename it, or list one compiler`},
		{sourceText, "source:", "run: fast\nsource:", `my.yaml:7:6: run: want settings, one on each line, such as budget: 90s`},
		{sourceText, "source:", "command: {run: x}\nsource:", `my.yaml:7:10: command: there is a source already, on line 9: want one of the two`},

		{commandText, "  run: [", "  rnu: [", `my.yaml:6:3: command.rnu: a command has no field "rnu" (did you mean "run"?)`},
		{commandText, "{{TILE}}", "{{TILE}} {{TIL}}", `my.yaml:6:25: command.run[1]: {{TIL}}: there is no parameter and no constant of this name (did you mean "TILE"?)`},
		{commandText, `"{{TILE}}"`, "{{TILE}}", `my.yaml:6:15: command.run[1]: YAML reads {{TILE}} without quotes as a mapping: write it in quotes, "{{TILE}}"`},
		{commandText, `"{{TILE}}"`, "-{{TILE}}", `my.yaml:6:16: {{ begins a mapping in YAML: write a text that has it in quotes, "…{{…}}…"`},
		{commandText, "{{TILE}}", "{{TILE}} {{TILE -k", `my.yaml:6:25: command.run[1]: {{TILE has no closing braces: write {{TILE}}`},
		{commandText, "{{TILE}}", "{{seed}}", `my.yaml:6:16: command.run[1]: {{seed}}: there is no parameter and no constant of this name (want one of n, TILE, here)`},
		{commandText, "[echo", "['', echo", `my.yaml:6:9: command.run[0]: want a word of a command`},
		{commandText, `[echo, "{{TILE}}"]`, "[]", `my.yaml:6:8: command.run: want a command`},
		{commandText, "  run:", "  directory: dub\n  run:", `my.yaml:6:14: command.directory: there is no directory dub`},
		{commandText, "  run:", "  directory: sub\n  files: [f.c]\n  run:", `my.yaml:7:10: command.files: candidates either share a directory or have one each with these files: leave one of the two out`},
		{commandText, "  run:", "  files: [f.c, ./f.c, g.c]\n  run:", `my.yaml:6:16: command.files[1]: there is no file ./f.c
my.yaml:6:23: command.files[2]: there is no file g.c`},
		{commandText, "  run:", "  files: [f.c, f.c]\n  run:", `my.yaml:6:16: command.files[1]: another file is copied to f.c already: rename one of them`},
		{commandText, "  run:", "  environment: {A: 1, A: 2}\n  run:", `my.yaml:6:23: command.environment.A: it is given twice: leave one of the two out`},
		{commandText, "  run:", "  files: [" + strings.Repeat("f.c, ", 1001) + "]\n  run:", `my.yaml:6:10: command.files: there are 1001 elements, and at most 1000 are allowed`},
		{commandText, "  run:", "  templates: [conf.in]\n  run:", `conf.in:2:3: command.templates[0]: {{BUF}}: there is no parameter and no constant of this name (want one of n, TILE, here)`},
		{commandText, "  run:", "  environment: {A=B: 1}\n  run:", `my.yaml:6:17: command.environment.A=B: "A=B" cannot name a variable: want letters, digits and _`},
		{commandText, "  run:", "  metric: {from: outptu}\n  run:", `my.yaml:6:18: command.metric.from: "outptu": want one of output, stderr, time, cpu, size (did you mean "output"?)`},
		{commandText, "  run:", "  metric: {from: time, pattern: x, exact: true}\n  run:", `my.yaml:6:33: command.metric.pattern: it needs from: output or stderr, but this metric has from: time
my.yaml:6:43: command.metric.exact: times are never exact: leave exact out`},
		{commandText, "  run:", "  metric: {from: size}\n  run:", `my.yaml:6:11: command.metric: the field file is missing: the file whose size is the metric, relative to where the command runs`},
		{commandText, "  run:", "  metric: {pattern: '(', repeats: 0}\n  run:", `my.yaml:6:21: command.metric.pattern: missing closing ): ` + "`(`" + `
my.yaml:6:35: command.metric.repeats: want a whole number from 1 to 1000`},
		{commandText, "  run:", "  metric: {json: 'a[x]'}\n  run:", `my.yaml:6:18: command.metric.json: "a[x]" is not a path at "[x]": want one such as benchmarks[0].real_time`},
		{commandText, "  run:", "  metric: {json: a, pattern: b}\n  run:", `my.yaml:6:18: command.metric.json: there is a pattern already, on line 6: want one of the two`},
		{commandText, "  run:", "  metric: {goal: maximize}\n  run:", `my.yaml:6:18: command.metric.goal: "maximize": want one of minimise, maximise (did you mean "maximise"?)`},
	} {
		text := strings.Replace(test.base, test.old, test.new, 1)
		if test.new == "name: n2" {
			text = strings.Replace(text, "{name: n, type", "{name: n2, type", 1)
		}
		if test.base == "" {
			text = test.new
		}
		_, err := read("my.yaml", []byte(text), library)
		var faults Faults
		if !errors.As(err, &faults) || err.Error() != test.want {
			t.Errorf("%q for %q:\ngot  %v\nwant %s", test.new, test.old, err, test.want)
		}
	}
}

// TestReferenceWithoutPoint: values of the reference that no point has are told with their field.
func TestReferenceWithoutPoint(t *testing.T) {
	text := func(constraint, value string) []byte {
		return []byte(strings.NewReplacer("source:", "  constraints: ["+constraint+"]\nsource:", "{function: plain}", "{function: plain, parameters: {TILE: "+value+"}}").Replace(sourceText))
	}
	want := "my.yaml:15:44: source.reference.parameters: no point has these values: change one of them, or leave it out"
	if _, err := read("my.yaml", text("TILE > 2", "1"), library); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	k, err := read("my.yaml", text("TILE <= n", "8"), library)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := kernels.ParseShape(k.d.shape, "n=4")
	if err != nil {
		t.Fatal(err)
	}
	want = "no point has the values of reference.parameters: "
	if _, err := k.On(native.NewHost(native.HostOptions{})).Problem(shape); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("at another shape: got %v, want %s", err, want)
	}
}

// TestNoActiveParameter: a shape at which the conditions of all parameters are false is refused, and one where they hold is not. A shape
// that candidates are only checked on may be such a one.
func TestNoActiveParameter(t *testing.T) {
	for _, text := range []string{sourceText, commandText} {
		when := strings.NewReplacer("to: 8}", `to: 8, when: "n > 10"}`, "to: 4}", `to: 4, when: "n > 10"}`, "{function: plain}", "{function: plain, shapes: [{n: 2}]}")
		k, err := read("my.yaml", []byte(when.Replace(text)), library)
		if err != nil {
			t.Fatal(err)
		}
		open := func(text string) error {
			shape, err := kernels.ParseShape(k.d.shape, text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := k.On(native.NewHost(native.HostOptions{})).Problem(shape)
			if err == nil && p.Space().Default().Key() == "" {
				t.Errorf("%s: the baseline has no value", text)
			}
			return err
		}
		want := "is false here: change the shape, or remove a condition (when)"
		if err := open("n=8"); err == nil || !strings.HasPrefix(err.Error(), "at the shape n=8: space.parameters: no parameter is active: n > 10, ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("n=8: got %v, want an error that ends in %q", err, want)
		}
		if err := open("n=16"); err != nil {
			t.Errorf("n=16: %v", err)
		}
	}
}

func TestReadWarnings(t *testing.T) {
	text := strings.Replace(commandText, `"{{TILE}}"`, "x", 1)
	text = strings.Replace(text, "  run:", "  check: [no-such-program, x]\n  run:", 1)
	k, err := read("my.yaml", []byte(text), library)
	if err != nil {
		t.Fatal(err)
	}
	one := strings.Replace(commandText, "type: int, from: 1, to: 4", "type: enum, values: [1 2 4]", 1) + "  check: [echo]\n  files: []\n"
	spaced, err := read("my.yaml", []byte(one), library)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Faults(spaced.Warnings()).Error(), `my.yaml:4:40: space.parameters[0].values: "1 2 4" is one value: values have commas between them, as in [1, 2, 4]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	redirected, err := read("my.yaml", []byte(strings.Replace(commandText, `[echo, "{{TILE}}"]`, `[echo, "{{TILE}}", ">", out.txt]`, 1)+"  check: [echo, a > b]\n  files: []\n"), library)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Faults(redirected.Warnings()).Error(), `my.yaml:6:27: command.run[2]: > is an argument here, because a list of words runs without a shell: write the command as a text, or its first words as sh, -c`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got := Faults(k.Warnings()).Error()
	want := `my.yaml:4:14: space.parameters[0].name: parameter TILE is used in no command: its values make no difference: write {{TILE}} where its value belongs
my.yaml:6:10: command.check: candidates share a directory, where the check may find the output of an earlier one: remove the output at the beginning of run, or give each candidate a directory of its own with files
my.yaml:6:11: command.check[0]: there is no program no-such-program on this machine`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestReadItself: a reference that is the tuned function proves little, wherever it stands.
func TestReadItself(t *testing.T) {
	const want = "f is the tuned function itself: what it does wrong with all values passes for right; write a plain function of the same result beside it, and name that"
	for reference, warns := range map[string]bool{"{function: f}": true, "{function: f, file: f.c}": true, "{function: f, file: g.c}": false, "{function: plain}": false} {
		shelf := shelf{"f.c": library["f.c"], "f.h": library["f.h"], "g.c": "void f(const float *x, float *y, int n) {}\n"}
		k, err := read("my.yaml", []byte(strings.Replace(sourceText, "{function: plain}", reference, 1)), shelf)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(Faults(k.Warnings()).Error(), "source.reference.function: "+want); got != warns {
			t.Errorf("%s: warnings %v", reference, k.Warnings())
		}
	}
}

// TestReadOptions: a source with options of its own is no strict reference.
func TestReadOptions(t *testing.T) {
	for line, want := range map[string]string{
		`#pragma GCC optimize("Ofast")`:                        `#pragma GCC optimize`,
		` # pragma STDC FP_CONTRACT ON`:                        `# pragma STDC FP_CONTRACT ON`,
		`#pragma clang fp contract(fast)`:                      `#pragma clang fp`,
		`__attribute__((noinline, optimize("fast-math")))`:     `__attribute__((noinline, optimize(`,
		`#pragma STDC FP_CONTRACT OFF`:                         "",
		`#pragma omp parallel`:                                 "",
		`void optimize(int x);`:                                "",
		`__attribute__((noinline)) void optimize(int always);`: "",
	} {
		source := library["f.c"] + line + "\n"
		shelf := shelf{"f.c": source, "f.h": library["f.h"], "g.c": "void plain(const float *x, float *y, int n) {}\n"}
		k, err := read("my.yaml", []byte(sourceText), shelf)
		if err != nil {
			t.Fatal(err)
		}
		if want != "" {
			want = fmt.Sprintf("my.yaml:14:25: source.reference.function: f.c has %q, which may hold for the reference too, whatever its flags are: keep the reference in a file without it", want)
		}
		if got := Faults(k.Warnings()).Error(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", line, got, want)
		}
		k, err = read("my.yaml", []byte(strings.Replace(sourceText, "{function: plain}", "{function: plain, file: g.c}", 1)), shelf)
		if err != nil || len(k.Warnings()) > 0 {
			t.Errorf("%s: %v, %v", line, err, k.Warnings())
		}
	}
}

// TestReadUnchecked: a file whose checks show little says so.
func TestReadUnchecked(t *testing.T) {
	fill := strings.NewReplacer("length: n, access: read", "length: n, access: read, fill: {FILL}", "length: n, access: write", "length: n, access: update, fill: {constant: 1}").Replace(sourceText)
	const fixed = "my.yaml:11:5: source.arguments: no buffer is filled with random numbers, so that all checks are on one input, and a kernel that always gives its result is right"
	const accepted = "my.yaml:11:5: source.arguments: all checks and all timed calls are on one input, as the file accepts: a candidate that always gives its result is right, and one that remembers it is scored as fast"
	for text, want := range map[string]string{
		commandText: "my.yaml:6:8: command.run: nothing says whether its result is right, so that a command that does nothing may win: add a field check",
		commandText + "  check: [echo]\n  files: []\n":                                        "",
		commandText + "  check: [echo]\n":                                                     "my.yaml:7:10: command.check: candidates share a directory, where the check may find the output of an earlier one: remove the output at the beginning of run, or give each candidate a directory of its own with files",
		sourceText:                                                                            "",
		strings.Replace(fill, "FILL", "constant: 3", 1):                                       fixed,
		strings.Replace(fill, "FILL", "random: [n, 8], integers: true", 1):                    fixed,
		strings.Replace(fill, "FILL", "random: [n, 9], integers: true", 1):                    "",
		strings.Replace(sourceText, "access: read}", "access: write}", 1) + "  vary: false\n": accepted,
		strings.Replace(sourceText, "access: read}", "access: update}", 1):                    "",
		strings.Replace(sourceText, "name: x, type: float, length: n, access: read", "name: x, type: float, length: 3, access: read, fill: {file: one.txt}", 1): fixed,
	} {
		k, err := read("my.yaml", []byte(text), library)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		if got := Faults(k.Warnings()).Error(); got != want {
			t.Errorf("got %s\nwant %s\n%s", got, want, text)
		}
	}
}

func TestIsKernel(t *testing.T) {
	for text, want := range map[string]bool{
		sourceText: true, commandText: true, "source: {}": true, "kernel: {name: x}": true,
		"kernel: treehash\nseed: 3": false, "": false, "[": false, "[1]": false, "seed: 3": false,
	} {
		if got := IsKernel([]byte(text)); got != want {
			t.Errorf("IsKernel(%q) = %v", text, got)
		}
	}
}

func TestExpressions(t *testing.T) {
	v := values{"n": space.IntValue(10), "m": space.IntValue(3)}
	for text, want := range map[string]float64{
		"n": 10, "n*m+1": 31, "2**3**2": 512, "-n + 1": -9, "-2**2": -4, "n/4": 2.5, "n//4": 2, "-n//4": -3, "n%4": 2, "-n%4": 2,
		"min(n, m, 7)": 3, "max(n,m)": 10, "(n+1)*2": 22, "n if m > 2 else m": 10, "n if m == 2 else m": 3, "1e3": 1000, "0x10": 16,
		"0xe+1": 15, "n >= 10": 1, "n != 10": 0, ".5*n": 5, "1 if n < 3 else 2 if n < 11 else 3": 2, "1e-2": 0.01,
	} {
		e, err := parseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.number(v); err != nil || got != want {
			t.Errorf("%s = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "the expression is empty", "n +": "ends where a value should stand", "n n": "unexpected n after the end", "(n": `expected ")"`, "n @": `unexpected character '@'`, "1.2.3": "not a finite number",
		"min n": `expected "("`, "if": "unexpected if where a value should stand", "n if m": "an if has no else", strings.Repeat("(", 300): "nested deeper", strings.Repeat("-", 300): "nested deeper",
		strings.Repeat("1+", 3000) + "1": "nests more than", strings.Repeat("1+", 40000) + "1": "longer than", "08x": "leading zero",
	} {
		if _, err := parseExpr(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{"n/0": "divides by zero", "'x' if n else m": "is the text x: want a number", "10**400": "no finite value", "q": "reads q, which is inactive"} {
		e, err := parseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.number(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	values := values{"a": space.IntValue(1), "bc": space.StringValue("x y"), "on": space.BoolValue(true), "f": space.FloatValue(2)}
	for text, want := range map[string]string{
		"{{a + 1}}x{{ a * 6 // 4 }}": "2x1", "{{a / 2}} {{f * 2}} {{f}} {{a > 0}} {{on}}": "0.5 4.0 2.0 1 1", "{{'-x' if bc == 'x y' else ''}}!": "-x!",
		"{{0}} {{1}} {{}} {{a b}} {{a, 2}} {{\"a\"}}": "{{0}} {{1}} {{}} {{a b}} {{a, 2}} {{\"a\"}}", "{{a +\n1}}": "{{a +\n1}}", "{{gone if a > 1 else a}}": "1",
		"": "", "{{a}}": "1", "-{{ a }}-{{bc}}": "-1-x y", "{{1,2},{3}}": "{{1,2},{3}}", "{{a}": "{{a}", "{{{a}}}": "{1}",
	} {
		if got, whole := parseTemplate(text).expand(values); got != want || !whole {
			t.Errorf("%q: got %q, %v", text, got, whole)
		}
	}
	if got := expandAll([]template{parseTemplate("-a{{a}}"), parseTemplate("-q{{q}}"), parseTemplate("-q{{q + a}}"), parseTemplate("z")}, values); !slices.Equal(got, []string{"-a1", "z"}) {
		t.Errorf("a word with an inactive parameter: %q", got)
	}
}

func TestConstantsInConstraints(t *testing.T) {
	text := strings.Replace(sourceText, "source:", "  constraints: [TILE <= n]\nsource:", 1)
	k, err := read("my.yaml", []byte(text), library)
	if err != nil {
		t.Fatal(err)
	}
	for shape, want := range map[string]int{"": 4, "n=3": 2, "n=1": 1} {
		s, err := kernels.ParseShape(k.d.shape, shape)
		if err != nil {
			t.Fatal(err)
		}
		p, err := k.On(native.NewHost(native.HostOptions{})).Problem(s)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := p.Space().Len(); n != uint64(want) {
			t.Errorf("shape %q: %d points, want %d", shape, n, want)
		}
	}
	k.Close()
}

// TestSchema compares the published schema with the tables, and the examples with the schema, so far as the fields go.
// TestShares: a relative tolerance may be a share.
func TestShares(t *testing.T) {
	for text, want := range map[string]float64{"1%": 0.01, "0.5 %": 0.005, "0.25": 0.25} {
		k, err := read("my.yaml", []byte(strings.Replace(sourceText, "{function: plain}", "{function: plain, tolerance: {relative: "+text+"}}", 1)), library)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.d.source.arguments[1].tolerance.relative; got != want {
			t.Errorf("%s is %g, want %g", text, got, want)
		}
	}
}

// TestConstantsAlone: a constant that stands for true or false keeps that meaning where its value is put in its place.
func TestConstantsAlone(t *testing.T) {
	for constraint, want := range map[string]int{"TILE > 1 and n": 3, "TILE > 1 and +n": 3, "+n and TILE > 1": 3, "TILE > 1 and (+n)": 3, "TILE > 4 or -n": 4, "TILE > 4 or n - n": 1, "n and n": 4} {
		text := strings.Replace(sourceText, "source:", "  constraints: [\""+constraint+"\"]\nsource:", 1)
		k, err := read("my.yaml", []byte(text), library)
		if err != nil {
			t.Errorf("%s: %v", constraint, err)
			continue
		}
		sp, err := k.d.space.make(map[string]int{"n": 8})
		if err != nil {
			t.Errorf("%s: %v", constraint, err)
			continue
		}
		if n, _ := sp.Len(); n != uint64(want) {
			t.Errorf("%s: %d points, want %d", constraint, n, want)
		}
	}
}

func TestSchema(t *testing.T) {
	schematest.Published(t, filepath.Join("..", "..", "docs", "kernel.schema.json"), Schema(), *update)
	var schema any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"source": sourceText, "command": commandText, "example": string(Example(false)[0].Text), "example command": string(Example(true)[0].Text)} {
		var doc any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if err := conforms(schema, doc, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, run := range []string{"{objective: [time, error], evals: 3}", "{objective: 'time,error'}"} {
		var doc any
		if err := yaml.Unmarshal([]byte(commandText+"\nrun: "+run+"\npresets: {one: "+run+"}\n"), &doc); err != nil {
			t.Fatal(err)
		}
		if err := conforms(schema, doc, ""); err != nil {
			t.Errorf("%s: %v", run, err)
		}
	}
	if err := conforms(schema, map[string]any{"space": map[string]any{"parameters": []any{}}, "source": 3}, ""); err == nil {
		t.Error("a source that is a number conforms")
	}
}

// conforms checks the parts of JSON schema that ours has.
func conforms(schema, v any, path string) error {
	s := schema.(map[string]any)
	kind := func(v any) string {
		switch v.(type) {
		case map[string]any:
			return "object"
		case []any:
			return "array"
		case string:
			return "string"
		case bool:
			return "boolean"
		case int:
			return "integer"
		}
		return "number"
	}
	if want, ok := s["type"]; ok {
		var types []any
		if list, ok := want.([]any); ok {
			types = list
		} else {
			types = []any{want}
		}
		if !slices.ContainsFunc(types, func(x any) bool { return x == kind(v) || x == "number" && kind(v) == "integer" }) {
			return fmt.Errorf("%s: a %s, want %v", path, kind(v), want)
		}
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Errorf("%s: %v is none of %v", path, v, enum)
	}
	if c, ok := s["const"]; ok && c != v {
		return fmt.Errorf("%s: %v is not %v", path, v, c)
	}
	if object, ok := v.(map[string]any); ok && s["properties"] != nil {
		for key, value := range object {
			property, ok := s["properties"].(map[string]any)[key]
			if other, is := s["additionalProperties"].(map[string]any); !ok && is {
				property = other
			} else if !ok {
				return fmt.Errorf("%s: no field %s", path, key)
			}
			if err := conforms(property, value, path+"."+key); err != nil {
				return err
			}
		}
		required, _ := s["required"].([]any)
		for _, key := range required {
			if object[key.(string)] == nil {
				return fmt.Errorf("%s: %s is missing", path, key)
			}
		}
	}
	if list, ok := v.([]any); ok && s["items"] != nil {
		for i, value := range list {
			if err := conforms(s["items"], value, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	if choices, ok := s["oneOf"].([]any); ok {
		n := 0
		for _, c := range choices {
			if c := c.(map[string]any); c["type"] == nil && c["required"] != nil {
				if object, _ := v.(map[string]any); object[c["required"].([]any)[0].(string)] != nil {
					n++
				}
			} else if conforms(c, v, path) == nil {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%s: %d of the choices fit", path, n)
		}
	}
	return nil
}

func FuzzRead(f *testing.F) {
	f.Add(sourceText)
	f.Add(commandText)
	f.Add(string(Example(false)[0].Text))
	f.Add(string(Example(true)[0].Text))
	f.Add("space: &s {parameters: [*s]}\nsource: *s")
	f.Add("\"0\r\r")
	f.Add("kernel: {shape: {n: {default: 3, from: 5}}}\nspace: {parameters: [{name: a, type: enum, values: [x, 1]}]}\ncommand: {run: [a, [b]], metric: {json: '$', repeats: 3}}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		k, err := read("my.yaml", []byte(text), library)
		if err == nil {
			// What is read without a fault can be made.
			shape, err := kernels.ParseShape(k.d.shape, "")
			if err != nil {
				t.Fatal(err)
			}
			if p, err := k.On(native.NewHost(native.HostOptions{})).Problem(shape); err != nil || len(p.Presets()) == 0 {
				t.Fatalf("%v\n%s", err, text)
			}
			k.Close()
			return
		}
		var faults Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("%T %v", err, err)
		}
		// YAML breaks lines at a lone carriage return and at some characters of Unicode too.
		lines := 1
		for _, line := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
			lines += strings.Count(text, line)
		}
		for _, fault := range faults {
			if fault.Line < 0 || fault.Column < 0 || fault.Text == "" || fault.File == "my.yaml" && fault.Line > lines+1 {
				t.Fatalf("%+v", fault)
			}
		}
	})
}
