package t1

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tune/space"
)

func TestOpen(t *testing.T) {
	for _, test := range opened {
		t.Run(test.name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + test.name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			f, err := Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			s, err := f.Space()
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := s.Len(); n != test.points || !ok || s.Product().Uint64() != test.product {
				t.Errorf("it has %d points of %d, not %d of %d", n, s.Product(), test.points, test.product)
			}
		})
	}
}

// TestHub reads the hub's whole files where they are at hand, and writes them back.
func TestHub(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/tuning-data/kernel-tuner/*.T1.json")
	if len(files) == 0 {
		t.Skip("the hub's files are not here")
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkSame(t, f, data)
	}
}

// checkSame writes f and compares what it holds with data.
func checkSame(t *testing.T, f *File, data []byte) {
	var out bytes.Buffer
	if err := Write(&out, f); err != nil {
		t.Fatal(err)
	}
	var before, after any
	if err := json.Unmarshal(data, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &after); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("something is lost:\n%s", out.String())
	}
}

const small = `{
  "General": {"BenchmarkName": "small"},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "x", "Type": "int", "Values": "[1, 2, 4]", "Default": 2, "Note": "kept"},
      {"Name": "y", "Type": "string", "Values": "['row', 'column']"}
    ],
    "Conditions": [
      {"Parameters": ["x", "y"], "Expression": "x > 1 or y == 'row'"}
    ]
  },
  "KernelSpecification": {
    "Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu",
    "GlobalSize": {"X": "1"}, "LocalSize": {"X": "x"}
  },
  "Extra": {"pi": 3.14159265358979323846, "list": [null, 1e400]}
}`

func TestSmall(t *testing.T) {
	f, err := Read(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Space()
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := s.Len(); n != 5 || s.Default().Key() != "x=2 y=row" || f.Name != "small" || f.Kernel != "k" {
		t.Errorf("%d points, default %v, name %q, kernel %q", n, s.Default(), f.Name, f.Kernel)
	}
	var out bytes.Buffer
	if err := Write(&out, f); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`"Note": "kept"`, "3.14159265358979323846", "1e400"} {
		if !strings.Contains(out.String(), kept) {
			t.Errorf("%s is lost", kept)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"empty", small, " ", "the file is empty"},
		{"cut", small, small[:200], "line 6: the document ends too early"},
		{"syntax", `"Default": 2,`, `"Default": 2`, `line 5: a comma is missing before "`},
		{"comment", `"Default": 2,`, `"Default": 2, // two`, "line 5: JSON has no comments: leave it out"},
		{"twice", `"Note": "kept"`, `"Name": "z"`, `line 5: field "Name" is given twice`},
		{"after", `1e400]}` + "\n}", `1e400]}` + "\n} {}", "something follows"},
		{"array", small, "[]", "line 1: file: this is an array, not an object"},
		{"missing", `"Values": "[1, 2, 4]"`, `"Value": "[1, 2, 4]"`, `line 5: ConfigurationSpace.TuningParameters[0]: the field "Values" is missing (is it "Value"?)`},
		{"type", `"Type": "int"`, `"Type": "integer"`, `line 5: ConfigurationSpace.TuningParameters[0].Type: there is no "integer"; it is one of int, uint, float, bool, string`},
		{"kind", `"[1, 2, 4]"`, `[1, 2, 4]`, "Values: this is an array, not a string"},
		{"language", `"CUDA"`, `"Cuda"`, `line 13: KernelSpecification.Language: there is no "Cuda"`},
		{"size", `{"X": "x"}`, `{}`, `KernelSpecification.LocalSize: the field "X" is missing`},
		{"list", `"[1, 2, 4]"`, `"[1, 2"`, `line 5: TuningParameters[0] "x": Values: column 6`},
		{"value", `"[1, 2, 4]"`, `"[1, 2.5]"`, "Values: 2.5 is not of type int"},
		{"no list", `"[1, 2, 4]"`, `"7"`, "Values: 7 is not a list of values"},
		{"name", "x > 1", "xx > 1", `line 9: Conditions[0].Expression: column 1: there is no parameter "xx" (did you mean "x"?)`},
		{"grammar", "x > 1", "x >> > 1", "line 9: Conditions[0].Expression: column 6"},
		{"bits", "x > 1", "x & 1", "bitwise operators are not understood"},
		{"divided", "x > 1", "1 / 0", "this divides by zero"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(small, test.old) {
				t.Fatal("the test replaces nothing")
			}
			_, err := Read(strings.NewReader(strings.Replace(small, test.old, test.new, 1)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	// What only opening the space can tell names the line as well.
	for _, test := range []struct{ old, new, want string }{
		{"[1, 2, 4]", "[1, 2, 2]", `line 5: space "small": parameter "x": the value 2 is listed twice`},
		{"x > 1 or y == 'row'", "False", `line 9: space "small": constraint 1: false is never true`},
		{"x > 1 or y == 'row'", "x > 9", "none satisfies x > 9"},
	} {
		f, err := Read(strings.NewReader(strings.Replace(small, test.old, test.new, 1)))
		if err == nil {
			_, err = f.Space()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.new, err, test.want)
		}
	}
}

// TestNew writes a space as a file and opens that.
func TestNew(t *testing.T) {
	s, err := space.New("mine", []space.Parameter{
		space.Range("n", 1, 20), space.Pow2("p", 1, 16), space.Bool("on"), space.Enum("word", "it's", `a "b"`, "ü"), space.Floats("f", 0.5, 2, 1e-7),
		space.LogFloat("g", 0.1, 10, 2), space.LogRange("h", 1, 100, 2),
	}, "n % p == 0 || on", "g * h <= n * (1 + on) or not on and h", "min(h) < 100 or n in [1, on]", "on ? n > 2 : !(word == 'ü')", "f * n < 12 && n / p <= 4 or true", "word != \"it's\" or f == 0.5")
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(s, Kernel{Name: "k", File: "k.cu"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, f); err != nil {
		t.Fatal(err)
	}
	again, err := Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	o, err := again.Space()
	if err != nil {
		t.Fatal(err)
	}
	n, _ := s.Len()
	if m, _ := o.Len(); m != n {
		t.Fatalf("%d points become %d", n, m)
	}
	for i := range n {
		if s.At(i).Key() != o.At(i).Key() {
			t.Fatalf("point %d is %v and %v", i, s.At(i), o.At(i))
		}
	}
	conditional, err := space.New("c", []space.Parameter{space.Bool("a"), space.Range("b", 1, 2).If("a")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(conditional, Kernel{Name: "k", File: "k.cu"}); err == nil || !strings.Contains(err.Error(), `parameter "b"`) {
		t.Errorf("a conditional parameter: %v", err)
	}
}
