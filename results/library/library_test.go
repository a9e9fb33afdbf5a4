package library

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/internal/orderedjson/schematest"
	"tune/kernels"
	"tune/kernels/attention"
	"tune/kernels/gemm"
	"tune/kernels/gemmi8"
	"tune/kernels/library/choice"
	"tune/kernels/native"
	_ "tune/kernels/native/nativetest" // which starts small workers
	"tune/kernels/qgemm"
	"tune/kernels/rowwise"
	"tune/kernels/treehash"
	"tune/kernels/user"
	"tune/results/schedule"
	"tune/results/session"
	"tune/space"
)

func find(t *testing.T) Kernels {
	t.Helper()
	host := native.NewHost(native.HostOptions{})
	table := kernels.Table{gemm.Kernel{Host: host}, rowwise.Kernel{Host: host}, qgemm.Kernel{Host: host}, gemmi8.Kernel{Host: host}, attention.Kernel{Host: host}, treehash.Kernel{}}
	return Kernels{Lookup: table.Lookup, Load: func(path string) (kernels.Kernel, error) {
		k, err := user.Load(path)
		if err != nil {
			return nil, err
		}
		return k.On(host), nil
	}}
}

// planOf makes the plan of a file with the given text.
func planOf(t *testing.T, text string, more ...string) (*Plan, error) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i+1 < len(more); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, more[i]), []byte(more[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "lib.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err == nil {
		var p *Plan
		if p, err = f.Plan(find(t), "here"); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), dir+"/", ""))
}

const ranges = `
name: lib
tasks:
  - kernel: gemm-f32
    function: f
    samples: 12
    held_out: 6
    variants: 4
    ranges:
      m: {from: 1, to: 64}
      n: {from: 1, to: 64, draw: uniform}
      k: {from: 3, to: 3}
`

func TestFileFaults(t *testing.T) {
	task := func(fields string) string { return "name: lib\ntasks:\n  - kernel: gemm-f32\n    " + fields + "\n" }
	for text, want := range map[string]string{
		"":                     `lib.yaml: it is empty: want name and tasks`,
		"name: [":              `lib.yaml:1:7: [ is not closed: write ]`,
		"name: int\ntasks: []": `lib.yaml:1: name: "int" cannot be the name of a library`,
		"name: 1x\ntasks: []":  `lib.yaml:1: name: "1x" cannot be the name of a library`,
		"name: lib":            `lib.yaml:1: tasks: there is none`,
		"tasks: []":            `lib.yaml:1: name: it is missing: want the name of the library, as in name: mine`,
		"nam: lib":             `lib.yaml:1: there is no field "nam" (did you mean "name"?)`,
		task("function: double\n    shapes: [{m: 1, n: 1, k: 1}]"): `lib.yaml:4: tasks[0].function: "double" cannot be the name of a function: it is a word of C or C++`,
		task("shap: []"):                                                        `lib.yaml:4: there is no field "shap": want one of kernel, function, `,
		task("variants: 2"):                                                     `lib.yaml:3: tasks[0]: it has no shapes: want shapes, log or ranges`,
		task("shapes: [{m: 1}]"):                                                `lib.yaml:4: tasks[0].shapes[0]: n is missing`,
		"name: lib\ntasks: []\n":                                                `lib.yaml:2: tasks: there is none: want a list, each with kernel and shapes, log or ranges`,
		task("shapes: [{m: 1, n: 1}]"):                                          `tasks[0].shapes[0]: k is missing: give its value, or one for all calls in fixed`,
		task("fixed: {m: 1, n: 1, k: 1}\n    shapes: [{m: 1}]"):                 `tasks[0].fixed: no field is left that calls differ in: leave one of them out of fixed`,
		task("ranges: {q: {from: 1, to: 2}}"):                                   `tasks[0].ranges.q: it is none of the fields that calls of gemm-f32 differ in (want one of m, n, k)`,
		task("ranges: {m: {from: 4, to: 2}}"):                                   `tasks[0].ranges.m: from 4 to 2: want 1 or more, and from no larger than to`,
		task("log: calls.csv\n    ranges: {m: {from: 1, to: 2}}"):               `tasks[0].ranges: a task has a log or ranges: make them two tasks`,
		task("log: blank.csv"):                                                  `blank.csv: want a first line with the names of the columns, such as m,n,k,count: `,
		task("log: head.csv"):                                                   `head.csv: it has no calls: want a line for each shape below the names of the columns`,
		task("shapes: [{m: 1, q: 2}]"):                                          `lib.yaml:4: tasks[0].shapes[0]: q is none of the fields that calls differ in (want one of m, n, k)`,
		task("shapes: [{m: 1, n: x, k: 3}]"):                                    `lib.yaml:4: tasks[0].shapes[0]: n: "x": want a whole number`,
		task("shapes: [{m: 0, n: 1, k: 3}]"):                                    `lib.yaml:4: tasks[0].shapes[0]: `,
		task("shapes: [{m: 1, n: 1, k: 3, weight: 0}]"):                         `lib.yaml:4: tasks[0].shapes[0].weight: 0: want more than 0`,
		task("ranges: {m: {from: 4, to: 2}}"):                                   `lib.yaml:4: tasks[0].ranges.m: from 4 to 2`,
		task("ranges: {m: {from: 1, to: 2}}"):                                   `lib.yaml:4: tasks[0].ranges: n is missing: give its range, or its value in fixed`,
		task("ranges: {m: {from: 1, to: 2, draw: normal}}"):                     `lib.yaml:4: tasks[0].ranges.m.draw: "normal": want log or uniform`,
		task("fixed: {layuot: nt}\n    shapes: [{m: 1, n: 1, k: 1}]"):           `lib.yaml:4: tasks[0].fixed.layuot: the shape of gemm-f32 has no field layuot (did you mean "layout"?)`,
		task("fixed: {layout: tt}\n    shapes: [{m: 1, n: 1, k: 1}]"):           `tasks[0].kernel: `,
		task("regret: 2\n    shapes: [{m: 1, n: 1, k: 1}]"):                     `lib.yaml:4: tasks[0].regret: "2": want a percentage, such as 2%`,
		task("variants: 0\n    shapes: [{m: 1, n: 1, k: 1}]"):                   `lib.yaml:4: tasks[0].variants: 0: want 1 to 64`,
		task("log: none.csv"):                                                   `tasks[0].log: `,
		task("log: calls.csv\n    shapes: [{m: 1, n: 1, k: 1}]"):                `tasks[0].log: a log has numbers of calls`,
		task("shapes: [{m: 1, n: 1, k: 3, weight: .inf}]"):                      `lib.yaml:4: tasks[0].shapes[0].weight: +Inf: want more than 0, from 1e-15 to 1e15`,
		task("weight: .inf\n    shapes: [{m: 1, n: 1, k: 3}]"):                  `lib.yaml:4: tasks[0].weight: +Inf: want more than 0, from 1e-15 to 1e15`,
		task("log: endless.csv"):                                                `endless.csv:2: count: "inf": want a number above 0, from 1e-15 to 1e15`,
		strings.Replace(task("shapes: [{m: 1, n: 1, k: 3}]"), "lib", "math", 1): `lib.yaml:1: name: "math" cannot be the name of a library: math.h, libmath or a target of CMake is something else: choose another name`,
		task("function: kernel\n    shapes: [{m: 1, n: 1, k: 3}]"):              `lib.yaml:4: tasks[0].function: function kernel: every library has a name lib_kernel of its own: choose another name`,
		task("function: lock\n    shapes: [{m: 1, n: 1, k: 3}]"):                `lib.yaml:4: tasks[0].function: lock: the folder of the library has a file of that name`,
		task("shapes: [{m: 1, n: 1, k: 1}]") + "  - {kernel: gemm-f32, function: gemm_f32_pack, shapes: [{m: 1, n: 1, k: 1}]}\n": `lib.yaml:5: tasks[1].function: function gemm_f32_pack: the symbol lib_gemm_f32_pack would be there twice: choose another name`,
		task("log: bad.csv"): `bad.csv:2: count: "-1": want a number above 0`,
		"name: lib\ntasks:\n  - {kernel: gemm-f23, shapes: [{m: 1}]}\n":                                         `lib.yaml:3: tasks[0].kernel: `,
		"name: lib\ntasks:\n  - {kernel: treehash, fixed: {height: 8}, shapes: [{batch: 2}]}\n":                 `lib.yaml:3: tasks[0].kernel: kernel treehash with height=8 has no function that can be called at any shape: a library can be made of `,
		"name: lib\ntasks:\n  - {kernel: rowwise, fixed: {op: rope}, shapes: [{rows: 3, cols: 2, heads: 2}]}\n": `rows=3 is not a multiple of heads=2`,
		"name: lib\ntasks:\n  - {shapes: [{m: 1}]}\n":                                                           `lib.yaml:3: tasks[0].kernel: it is missing: want the name of a kernel, as 'tune list' has them, or the YAML file of your own`,
		"name: lib\ntasks: gemm-f32\n":                                                                          `lib.yaml:2: "gemm-f32": want a list of tasks, each with kernel and shapes, log or ranges`,
		"name: lib\nname: other\ntasks: []\n":                                                                   `lib.yaml:2: mapping key "name" already defined at line 1: leave one of the two out`,
		"name: lib\ntasks:\n  - {kernel: gemm-f32, shapes: {m: 1}}\n":                                           `lib.yaml:3: want a list of shapes, as in [{m: 64, n: 64}]`,
		"name: lib\nnam: x\n": `lib.yaml:2: there is no field "nam" (did you mean "name"?)`,
		"name: lib\ntasks:\n  - {kernel: gemm-f32, shapes: [{m: 1}}\n":                                  `lib.yaml:3:39: } cannot close the [ of line 3, column 32: write ] before it`,
		task("shapes: [{m: 1, n: 1, k: 1}]") + "  - {kernel: gemm-f32, shapes: [{m: 1, n: 1, k: 1}]}\n": `lib.yaml:5: tasks[1].function: two tasks have the function gemm_f32`,
	} {
		_, err := planOf(t, text, "calls.csv", "m,n,k,count\n1,2,3,4\n", "bad.csv", "m,n,k,count\n1,2,3,-1\n", "blank.csv", "", "head.csv", "m,n,k,count\n", "endless.csv", "m,n,k,count\n1,2,3,inf\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives\n%v\nwant\n%s", text, err, want)
		}
	}
}

// TestDamage: what tune wrote, and was changed since, says what does not fit, and what to do.
func TestDamage(t *testing.T) {
	for text, want := range map[string]string{
		`{"format": 99}`: "field format is 99, want 1: another version of tune has begun this library",
		`{"format": 1, "tasks": [{"representatives": [3]}]}`:                                         "field tasks[0].representatives: 3 is no training shape: give --out a new folder",
		`{"format": 1, "tasks": [{"fields": ["m"], "training": [{"fields": [1, 2], "weight": 1}]}]}`: "field tasks[0]: the shape [1 2] with weight 1 does not fit the fields m: give --out a new folder",
		`{"format": 1, "tasks": [{"fields": ["m"], "variants": 1}]}`:                                 "field tasks[0].training: there is none: give --out a new folder",
	} {
		if _, err := parsePlan([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := readMeasured(write("measured.jsonl", "{}\nx\n"), false); err == nil || !strings.Contains(err.Error(), ": remove the line, and what it measured is measured again") {
		t.Error(err)
	}
	old := &maker{Options: Options{Plan: &Plan{Tasks: []TaskPlan{{Kernel: "gemm-f32", Function: "f", Version: "0"}}}, Dir: "lib", Kernels: find(t), Version: "1.2"}}
	if err := old.load(); err == nil || !strings.HasSuffix(err.Error(), ", and the library was begun with version 0: it needs the tune that made it, 1.2, or another library, made by this one") {
		t.Error(err)
	}
	old.locked = true
	if err := old.load(); err == nil || !strings.HasSuffix(err.Error(), ", and the library was begun with version 0: give --out a new folder") {
		t.Error(err)
	}
	write(manifestName, `{"format": 99}`)
	if _, err := ReadReport(dir); err == nil || !strings.Contains(err.Error(), "format is 99, want ") {
		t.Error(err)
	}
	write(variantsName, `[{"name": "x", "tuned": [1, 2]}]`)
	if err := (&task{TaskPlan: TaskPlan{Fields: []string{"m"}}, dir: dir}).readVariants(); err == nil || !strings.Contains(err.Error(), ` does not fit the fields [m]: remove the file, and repeat 'tune library'`) {
		t.Error(err)
	}
	if _, err := (Kernels{}).of(&File{}, Task{Kernel: "mine.yaml"}); err == nil || err.Error() != "kernel mine.yaml is a user's, and cannot be used here: take one of tune's" {
		t.Error(err)
	}
	if _, err := (&Plan{Name: "a"}).Extend(&Plan{Name: "b"}); err == nil || err.Error() != "field name: the library is a, and the file makes b: give --out another folder" {
		t.Error(err)
	}
	if _, err := (&Plan{Machine: "x"}).Extend(&Plan{Machine: "y"}); err == nil || err.Error() != "the library was measured on another processor (x): make a new one with --out" {
		t.Error(err)
	}
}

// TestBLASFile: a BLAS is made of two tasks of any shape.
func TestBLASFile(t *testing.T) {
	const shapes = "shapes: [{m: 4, n: 4, k: 4}]"
	file := func(nn, nt string) string {
		return "name: lib\nblas: true\ntasks:\n  - {function: nn, " + nn + "}\n  - {function: nt, " + nt + "}\n"
	}
	const nn, nt = "kernel: gemm-f32, " + shapes, "kernel: gemm-f32, fixed: {layout: nt}, " + shapes
	for text, want := range map[string]string{
		"name: lib\nblas: true\ntasks:\n  - {function: nn, " + nn + "}\n": `lib.yaml:2: blas: cblas_sgemm is made of two functions: add a task with function: nt, kernel: gemm-f32 and fixed: {layout: nt}`,
		"name: lib\nblas: maybe\ntasks: []\n":                             `lib.yaml:2: "maybe": want true or false`,
		file(nn, "kernel: elementwise-f32, "+shapes):                      `lib.yaml:5: tasks[1].kernel: elementwise-f32: with blas: true, the function nt needs kernel: gemm-f32`,
		file(nn, nn): `lib.yaml:5: tasks[1].fixed: with blas: true, the function nt needs layout: nt`,
		file(nt, nt): `lib.yaml:4: tasks[0].fixed: with blas: true, the function nn needs layout: nn`,
		file(nn, "kernel: gemm-f32, fixed: {layout: nt, m: 4}, shapes: [{n: 4, k: 4}]"): `lib.yaml:5: tasks[1].fixed.m: 4: with blas: true, calls have any m: leave it out`,
		file("kernel: gemm-f32, fixed: {threads: 2}, "+shapes, nt):                      `lib.yaml:4: tasks[0].fixed.threads: 2: with blas: true, calls divide their work among threads themselves: leave it out`,
	} {
		if _, err := planOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives\n%v\nwant\n%s", text, err, want)
		}
	}
	p, err := planOf(t, file(nn, nt))
	if err != nil || !p.BLAS {
		t.Fatalf("the plan is %+v: %v", p, err)
	}
	plain, err := planOf(t, strings.Replace(file(nn, nt), "blas: true\n", "", 1))
	if err != nil || plain.BLAS {
		t.Fatalf("the plan is %+v: %v", plain, err)
	}
	if text, err := json.Marshal(plain); err != nil || strings.Contains(string(text), "blas") {
		t.Errorf("a plan without a BLAS says %s: %v", text, err)
	}
	for _, both := range [][2]*Plan{{p, plain}, {plain, p}} {
		if out, err := both[0].Extend(both[1]); err != nil || !out.BLAS {
			t.Errorf("extended: %+v: %v", out, err)
		}
	}
}

// TestExamples: the files of configs/libraries can be planned.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../configs/libraries/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Plan(find(t), "here")
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if blas := filepath.Base(path) == "blas.yaml"; p.BLAS != blas {
			t.Errorf("%s: blas is %v", path, p.BLAS)
		}
	}
}

// TestPlanOfMultiples: fields that have to be multiples of a block, or of another field, are drawn so.
func TestPlanOfMultiples(t *testing.T) {
	p, err := planOf(t, `name: lib
tasks:
  - kernel: qgemm
    fixed: {format: q4_k, n: 64}
    ranges: {m: {from: 1, to: 9}, k: {from: 100, to: 3000, draw: uniform}}
  - kernel: rowwise
    function: turned
    fixed: {op: rope}
    ranges: {rows: {from: 1, to: 90}, cols: {from: 3, to: 99}, heads: {from: 1, to: 9}}
  - kernel: rowwise
    function: fixed
    fixed: {op: rope, heads: 7}
    ranges: {rows: {from: 1, to: 90}, cols: {from: 4, to: 6}}
`)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[int64]bool{}
	for _, s := range append(p.Tasks[0].Training, p.Tasks[0].HeldOut...) {
		if k := s.Fields[1]; k%256 != 0 || k < 100 || k > 3000 {
			t.Errorf("k=%d", k)
		}
		sizes[s.Fields[1]] = true
	}
	if len(sizes) != 11 {
		t.Errorf("of the 11 multiples of 256 there are %v", sizes)
	}
	for _, s := range p.Tasks[1].Training {
		if rows, cols, heads := s.Fields[0], s.Fields[1], s.Fields[2]; rows%heads != 0 || cols%2 != 0 || heads > 9 {
			t.Errorf("rows=%d cols=%d heads=%d", rows, cols, heads)
		}
	}
	for _, s := range p.Tasks[2].Training {
		if rows, cols := s.Fields[0], s.Fields[1]; rows%7 != 0 || cols%2 != 0 {
			t.Errorf("rows=%d cols=%d of 7 heads", rows, cols)
		}
	}
}

func TestPlanOfRanges(t *testing.T) {
	p, err := planOf(t, ranges)
	if err != nil {
		t.Fatal(err)
	}
	again, err := planOf(t, ranges)
	if err != nil || !reflect.DeepEqual(p, again) {
		t.Errorf("the same file has two plans: %v", err)
	}
	other, err := planOf(t, "seed: 2\n"+ranges)
	if err != nil || reflect.DeepEqual(p.Tasks[0].Training, other.Tasks[0].Training) {
		t.Errorf("another seed draws the same shapes: %v", err)
	}
	task := p.Tasks[0]
	if len(task.Training) != 12 || len(task.HeldOut) != 6 || len(task.Representatives) != 6 {
		t.Errorf("%d training, %d held-out shapes and %d representatives", len(task.Training), len(task.HeldOut), len(task.Representatives))
	}
	for _, s := range task.HeldOut {
		if s.Fields[0] < 1 || s.Fields[0] > 64 || s.Fields[2] != 3 {
			t.Errorf("the shape %v is out of its ranges", s.Fields)
		}
		if slices.ContainsFunc(task.Training, func(o PlannedShape) bool { return slices.Equal(o.Fields, s.Fields) }) {
			t.Errorf("the held-out shape %v is a training shape too", s.Fields)
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	read, err := parsePlan(text)
	if err != nil || !reflect.DeepEqual(p, read) {
		t.Errorf("a plan reads back as another one: %v", err)
	}
}

// A heavy shape is a representative, and one that stands apart is the next.
func TestRepresentatives(t *testing.T) {
	p, err := planOf(t, `
name: lib
tasks:
  - kernel: gemm-f32
    representatives: 2
    shapes:
      - {m: 100, n: 100, k: 100}
      - {m: 101, n: 100, k: 100, weight: 100}
      - {m: 102, n: 100, k: 100}
      - {m: 2, n: 2, k: 2, weight: 3}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Tasks[0].Representatives; !slices.Equal(got, []int{1, 3}) {
		t.Errorf("the representatives are %v", got)
	}
}

func TestPlanOfLog(t *testing.T) {
	p, err := planOf(t, "name: lib\ntasks:\n  - {kernel: gemm-f32, log: calls.csv, samples: 2, held_out: 1}\n",
		"calls.csv", "m,n,k,count\n1,2,3,4\n9,9,9,50\n1,2,3,40\n7,7,7,30\n5,5,5,1\n")
	if err != nil {
		t.Fatal(err)
	}
	task := p.Tasks[0]
	want := []PlannedShape{{[]int64{9, 9, 9}, 50}, {[]int64{1, 2, 3}, 44}}
	if !reflect.DeepEqual(task.Training, want) || !reflect.DeepEqual(task.HeldOut, []PlannedShape{{[]int64{7, 7, 7}, 30}}) || !task.Counted {
		t.Errorf("the log gives %+v", task)
	}
}

// TestSameShapes: what is the same shape counts once with the sum of the weights, however its numbers are written.
func TestSameShapes(t *testing.T) {
	p, err := planOf(t, "name: lib\ntasks:\n  - {kernel: gemm-f32, log: calls.csv, samples: 2, held_out: 0}\n  - {kernel: gemm-f32, function: f, shapes: [{m: 1, n: 2, k: 3}, {m: 4, n: 4, k: 4}, {m: '1 ', n: 2, k: 3, weight: 2}]}\n",
		"calls.csv", "\ufeffm,n,k,count\n1,2,3,4\n9,9,9,5\n1 ,02,3,40\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]PlannedShape{{{[]int64{1, 2, 3}, 44}, {[]int64{9, 9, 9}, 5}}, {{[]int64{1, 2, 3}, 3}, {[]int64{4, 4, 4}, 1}}} {
		if got := p.Tasks[i].Training; !reflect.DeepEqual(got, want) {
			t.Errorf("the shapes are %+v, want %+v", got, want)
		}
	}
}

func TestExtend(t *testing.T) {
	old, err := planOf(t, ranges)
	if err != nil {
		t.Fatal(err)
	}
	with, err := planOf(t, strings.Replace(ranges, "samples: 12", "samples: 20", 1)+"    shapes: [{m: 5, n: 6, k: 7, weight: 9}]\n")
	if err != nil {
		t.Fatal(err)
	}
	out, err := old.Extend(with)
	if err != nil {
		t.Fatal(err)
	}
	a, b := old.Tasks[0], out.Tasks[0]
	if !slices.EqualFunc(a.Training, b.Training[:len(a.Training)], func(x, y PlannedShape) bool { return slices.Equal(x.Fields, y.Fields) }) {
		t.Errorf("shapes that the library has are gone")
	}
	if !slices.Equal(a.Representatives, b.Representatives[:len(a.Representatives)]) || len(b.Training) <= len(a.Training) {
		t.Errorf("the extended task is %+v", b)
	}
	for _, s := range b.HeldOut {
		if slices.ContainsFunc(b.Training, func(o PlannedShape) bool { return slices.Equal(o.Fields, s.Fields) }) {
			t.Errorf("the held-out shape %v is a training shape too", s.Fields)
		}
	}
	logged := func(counts string) *Plan {
		p, err := planOf(t, "name: lib\ntasks:\n  - {kernel: gemm-f32, function: f, log: calls.csv, samples: 1, held_out: 1}\n", "calls.csv", "m,n,k,count\n"+counts)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if out, err := logged("1,1,1,9\n2,2,2,3\n").Extend(logged("1,1,1,9\n2,2,2,7\n")); err != nil || out.Tasks[0].HeldOut[0].Weight != 7 {
		t.Errorf("a held-out shape keeps the number of calls of the first log: %+v, %v", out, err)
	}
	other := *with
	other.Machine = "elsewhere"
	if _, err := old.Extend(&other); err == nil || !strings.Contains(err.Error(), "another processor") {
		t.Errorf("a plan of another machine: %v", err)
	}
	fixed, err := planOf(t, strings.Replace(ranges, "    ranges:", "    fixed: {layout: nt}\n    ranges:", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Extend(fixed); err == nil || !strings.Contains(err.Error(), "give it another name") {
		t.Errorf("a task with another layout: %v", err)
	}
}

// measuredTask is a task with two variants, measured at some shapes.
func measuredTask() *task {
	t := &task{TaskPlan: TaskPlan{Function: "f", Fields: []string{"m"}, Variants: 2, Training: []PlannedShape{
		{[]int64{1}, 1}, {[]int64{2}, 1}, {[]int64{100}, 1}, {[]int64{200}, 1},
	}, HeldOut: []PlannedShape{{[]int64{3}, 1}}}}
	t.variants = []variant{{Name: "m1", Tuned: []int64{1}}, {Name: "m100", Tuned: []int64{100}}}
	for _, s := range t.Training {
		a, b := 10.0, 20.0
		if s.Fields[0] >= 100 {
			a, b = 200, 100
		}
		t.measured = append(t.measured, measurement{Role: training, Fields: s.Fields, Costs: []measured{{Variant: "m1", Cost: a}, {Variant: "m100", Cost: b}}})
	}
	return t
}

func TestSettle(t *testing.T) {
	one := measuredTask()
	s, err := one.settle(1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.chosen.Variants, []int{0, 1}) || s.chosen.Mean != 0 {
		t.Errorf("the choice is %+v", s.chosen)
	}
	// A variant that is wrong at any shape, even at one that is held out, is in no library.
	one.measured = append(one.measured, measurement{Role: heldOut, Fields: []int64{3}, Costs: []measured{{Variant: "m100", Cost: 1}}, Refused: []refused{{"m1", "wrong answer"}}})
	if s, err = one.settle(1); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.used, []int{1}) || s.matrix.Costs[0][0] != choice.Missing {
		t.Errorf("the library holds %v, of which one was wrong", s.used)
	}
}

// TestBefore: what is known of shapes stays known when a variant is added and the budget does not reach them again.
func TestBefore(t *testing.T) {
	one := measuredTask()
	one.Training = append(one.Training, PlannedShape{[]int64{7}, 1})
	one.variants = append(one.variants, variant{Name: "m7", Tuned: []int64{7}})
	one.measured = append(one.measured, measurement{Role: training, Fields: []int64{7}, Costs: []measured{{Variant: "m1", Cost: 9}, {Variant: "m100", Cost: 30}, {Variant: "m7", Cost: 3}}})
	one.Variants = 3
	s, err := one.settle(1)
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range map[int64]string{1: "m1", 2: "m1", 100: "m100", 200: "m100"} {
		if got := s.variants[s.tree.At([]int64{m})].Name; got != want {
			t.Errorf("at m=%d the library takes %s, want %s", m, got, want)
		}
	}
	if r, err := s.report(1); err != nil || r.Measured != 1 || r.Planned != 5 || r.Plain != 0 {
		t.Errorf("the report is %+v: %v", r, err)
	}
}

// TestGuarded: a variant of a library is held to the low ends of the ratios that were recorded, and is as fast as the baseline at least.
func TestGuarded(t *testing.T) {
	none := 0.0
	for name, c := range map[string]struct {
		low, high  float64
		unverified bool
		recorded   float64
		promise    float64
	}{
		"recorded":          {3.5, 4.5, false, 4, 3.5},
		"slower for long":   {0.5, 4.5, false, 4, 1},
		"no interval":       {0, 0, false, 0, 1},
		"on a busy machine": {3.5, 4.5, true, 0, 1},
	} {
		one := measuredTask()
		one.kernel = gemm.Kernel{}
		one.measured[0].Costs = []measured{{Variant: "m100", Cost: 20, Ratio: 1, Low: 1, High: 1}, {Variant: "m1", Cost: 10, Ratio: 2, Low: 1.8, High: 2.2}}
		one.measured = append(one.measured, measurement{Role: besideBaseline, Fields: []int64{1}, Choice: "m1", Unverified: c.unverified, Costs: []measured{
			{Variant: baselineName, Cost: 40, Ratio: 1, Low: 1, High: 1, Pairs: 9}, {Variant: "m1", Cost: 10, Ratio: 4, Low: c.low, High: c.high, Pairs: 9},
		}})
		s, err := one.settle(1)
		if err != nil {
			t.Fatal(err)
		}
		bouts := s.bouts(0)
		if len(bouts) != 2 {
			t.Fatalf("%s: %d bouts", name, len(bouts))
		}
		g := bouts[0].asked("lib", "another", &none)
		if g.Name != "lib: m1" || g.Against != "the baseline" || g.Recorded != c.recorded || g.Promise != c.promise || g.Bar != c.promise || (g.Processor != "") != (c.recorded > 0) {
			t.Errorf("%s: beside the baseline %+v", name, g)
		}
		if g := bouts[1].asked("lib", "another", nil); g.Against != "m100" || g.Recorded != 2 || g.Promise != 1.8 || g.Bar != 1.8/1.02 || g.Processor != "another" {
			t.Errorf("%s: beside the other %+v", name, g)
		}
		if bouts := s.bouts(1); bouts[0].ratio != 0 {
			t.Errorf("%s: of the other variant, of which nothing is recorded, %+v", name, bouts)
		}
		r, err := s.report(1)
		if want := (ReportRatio{4, c.low, c.high, 9, c.unverified}); err != nil || len(r.Variants) != 2 || r.Variants[0].Baseline == nil || *r.Variants[0].Baseline != want || r.Variants[1].Baseline != nil {
			t.Errorf("%s: the report says %+v: %v", name, r.Variants, err)
		}
	}
}

// TestGuardFaults: a variant that is wrong is broken, of one whose rival is wrong the guard cannot tell, and a wrong baseline is an error.
func TestGuardFaults(t *testing.T) {
	wrong := kernels.Reject(space.WrongAnswer, "bad")
	of := func(which string) error {
		return &schedule.SideError{Which: which, Name: "m100", Wrong: true, Err: wrong}
	}
	for name, c := range map[string]struct {
		rival *variant
		err   error
		want  schedule.GuardStanding
		words string
	}{
		"itself":           {nil, wrong, schedule.Broken, "broken: it is wrong: wrong answer: bad"},
		"in timed calls":   {&variant{}, of("what is guarded"), schedule.Broken, "broken: it is wrong: wrong answer: bad"},
		"its rival":        {&variant{}, of(schedule.BaseSide), schedule.CannotTell, "cannot tell: what it is compared with, m100, is wrong: wrong answer: bad"},
		"the baseline":     {nil, of(schedule.BaseSide), "", ""},
		"an error of tune": {&variant{}, errors.New("no compiler"), "", ""},
	} {
		g := &schedule.Guarded{}
		err := (&bout{rival: c.rival}).fault(g, c.err)
		if (err != nil) != (c.want == "") || g.Standing != c.want || c.want != "" && g.Words() != c.words {
			t.Errorf("%s: %v, %+v", name, err, g)
		}
	}
}

// The last measurement that has all variants counts; one without a new variant does not.
func TestCovers(t *testing.T) {
	one := measuredTask()
	if one.at(training, []int64{1}) == nil || one.at(heldOut, []int64{1}) != nil {
		t.Error("a measurement is not found by its role")
	}
	one.variants = append(one.variants, variant{Name: "m7", Tuned: []int64{7}})
	if one.at(training, []int64{1}) != nil {
		t.Error("a measurement without a new variant counts")
	}
	again := measurement{Role: training, Fields: []int64{1}, Costs: []measured{{Variant: "m1", Cost: 3}, {Variant: "m100", Cost: 4}, {Variant: "m7", Cost: 5}}}
	one.measured = append(one.measured, again)
	if got := one.at(training, []int64{1}); got == nil || got.Costs[0].Cost != 3 {
		t.Errorf("the last measurement is %+v", got)
	}
}

// A process that is killed leaves a line cut off at any byte. What stands before it is kept, and what follows is written after it.
func TestTornMeasurements(t *testing.T) {
	one := measuredTask()
	whole := one.measured
	one.dir, one.measured = t.TempDir(), nil
	for _, m := range whole {
		if err := one.keep(m); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(one.dir, measuredName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range text {
		if err := os.WriteFile(path, text[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := readMeasured(path, false); err != nil || len(got) != strings.Count(string(text[:cut]), "\n") {
			t.Fatalf("cut at %d, and only read: %d measurements: %v", cut, len(got), err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(cut) {
			t.Fatalf("cut at %d: reading has changed the file: %v", cut, err)
		}
		got, err := readMeasured(path, true)
		if want := strings.Count(string(text[:cut]), "\n"); err != nil || len(got) != want {
			t.Fatalf("cut at %d: %d measurements, want %d: %v", cut, len(got), want, err)
		}
		if cut%97 == 0 {
			one.measured = got
			if err := one.keep(whole[0]); err != nil {
				t.Fatal(err)
			}
			if again, err := readMeasured(path, true); err != nil || len(again) != len(got)+1 {
				t.Fatalf("cut at %d, then written: %d measurements: %v", cut, len(again), err)
			}
		}
	}
	if err := os.WriteFile(path, append([]byte("{\n"), text...), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readMeasured(path, true); err == nil || !strings.Contains(err.Error(), "measured.jsonl: line 1: ") {
		t.Errorf("a damaged line: %v", err)
	}
}

func TestMerge(t *testing.T) {
	first := []measured{{Variant: "a", Cost: 10}, {Variant: "b", Cost: 30}, {Variant: "c", Cost: 11}}
	got := merge(first, []measured{{Variant: "a", Cost: 19, Ratio: 1}, {Variant: "c", Cost: 23, Ratio: .8}})
	want := []measured{{Variant: "a", Cost: 19, Ratio: 1}, {Variant: "c", Cost: 23, Ratio: .8}, {Variant: "b", Cost: 60}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("merged: %v", got)
	}
	if got := bestBeside(want, "c"); got != "a" {
		t.Errorf("the best beside c is %q", got)
	}
	if got := bestBeside(want, "a"); got != "" {
		t.Errorf("beside the best there is %q", got)
	}
}

// Those that may be the fastest take turns, and never so many that it takes long.
func TestClose(t *testing.T) {
	f := field{names: []string{"a", "b", "c", "d", "e", "f"}}
	for _, test := range []struct {
		costs []float64
		want  []int
	}{
		{[]float64{200, 109, 100, 111, 300, 110}, []int{2, 1, 5}},
		{[]float64{105, 104, 103, 102, 101, 100}, []int{5, 4, 3, 2}},
		{[]float64{100, 200, 200, 200, 200, 200}, []int{0}},
	} {
		var costs []measured
		for i, c := range test.costs {
			costs = append(costs, measured{Variant: f.names[i], Cost: c})
		}
		if got := f.close(costs); !slices.Equal(got, test.want) {
			t.Errorf("of %v %v take turns, want %v", test.costs, got, test.want)
		}
	}
}

func TestRatios(t *testing.T) {
	got := ratios([]BesideRow{
		{Ratios: map[string]float64{"x": 2, "y": 4}, BestPeer: "x"},
		{Ratios: map[string]float64{"x": 8, "y": 0.5}, BestPeer: "y"},
	})
	want := map[string]Ratios{
		"x": {Shapes: 2, Mean: 4, P5: 2.3, Worst: 2, Ahead: 1}, "y": {Shapes: 2, Mean: math.Sqrt2, P5: 0.675, Worst: 0.5, Ahead: 0.5},
		"best": {Shapes: 2, Mean: 1, P5: 0.575, Worst: 0.5, Ahead: 0.5},
	}
	for name, w := range want {
		g := got[name]
		if math.Abs(g.Mean-w.Mean) > 1e-12 || math.Abs(g.P5-w.P5) > 1e-12 || g.Shapes != w.Shapes || g.Worst != w.Worst || g.Ahead != w.Ahead {
			t.Errorf("%s: %+v, want %+v", name, g, w)
		}
	}
	if got := PeersInOrder(BesideResult{Peers: got}); !slices.Equal(got, []string{"x", "y", "best"}) {
		t.Errorf("in the order %v", got)
	}
}

// TestOwnPlan: a kernel of a user is planned by the fields that its function takes. Shapes that it does not have are drawn again.
func TestOwnPlan(t *testing.T) {
	const kernel = `
kernel: {name: mine, shape: {n: 8, m: 8, deep: 1}}
space:
  parameters: [{name: STEP, type: pow2, from: 1, to: 8}]
  constraints: [n % 2 == 0, STEP <= n]
source:
  text: "void one(float *x, int n, int m) { for (int i = 0; i < n * m; i++) x[i] = STEP - STEP + 1; }"
  language: c
  function: one
  vary: false
  arguments: [{name: x, type: float, length: n * m, access: write}, {name: n, type: int, value: n}, {name: m, type: int, value: m}]
  reference: {function: one}
  flags: [-O1]
`
	file := func(more string) string { return "name: lib\ntasks:\n  - kernel: mine.yaml\n    " + more + "\n" }
	p, err := planOf(t, file("fixed: {deep: 1}\n    samples: 30\n    ranges: {n: {from: 1, to: 99}, m: {from: 2, to: 3}}"), "mine.yaml", kernel)
	if err != nil {
		t.Fatal(err)
	}
	task := p.Tasks[0]
	if task.Kernel != "mine" || !task.Own || task.Function != "mine" || !slices.Equal(task.Fields, []string{"n", "m"}) || p.own["mine"] == nil {
		t.Errorf("the plan is %+v", task)
	}
	for _, s := range append(slices.Clone(task.Training), task.HeldOut...) {
		if s.Fields[0]%2 != 0 {
			t.Errorf("the shape %v is one that the kernel does not have", s.Fields)
		}
	}
	for more, want := range map[string]string{
		"shapes: [{n: 2, m: 2}]": `lib.yaml:3: tasks[0].fixed: deep is missing: all calls of a library share it, because no argument of the function carries it. Give its value, as in fixed: {deep: 64}`,
		"fixed: {deep: 1}\n    ranges: {n: {from: 3, to: 3}, m: {from: 1, to: 2}}": `lib.yaml:5: tasks[0].ranges: of 20 shapes that were drawn one after another, the kernel has none; of the last: `,
		"fixed: {deep: 1}\n    shapes: [{n: 3, m: 2}]":                             `lib.yaml:5: tasks[0].shapes: n=3,m=2: `,
	} {
		if _, err := planOf(t, file(more), "mine.yaml", kernel); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives\n%v\nwant\n%s", more, err, want)
		}
	}
	if _, err := planOf(t, file("shapes: [{n: 2}]")); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Error(err)
	}
}

// TestUnknownPair: a held-out shape at which the machine told nothing is no part of the certificate, and does not keep the library from being made.
func TestUnknownPair(t *testing.T) {
	one := measuredTask()
	one.HeldOut = []PlannedShape{{[]int64{3}, 1}, {[]int64{5}, 1}, {[]int64{150}, 1}}
	for i, c := range []*confirmed{nil, {Choice: "m1", Best: "m100"}, {Choice: "m100", Best: "m1", Ratio: 1.5, Low: 1.4, High: 1.6, Pairs: 9}} {
		choice := "m1"
		if i == 2 {
			choice = "m100"
		}
		one.measured = append(one.measured, measurement{
			Role: heldOut, Fields: one.HeldOut[i].Fields, Costs: []measured{{Variant: "m1", Cost: 1}, {Variant: "m100", Cost: 2}}, Choice: choice, Confirmed: c,
		})
	}
	s, err := one.settle(1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.report(1)
	if err != nil || r.Certificate == nil || r.Certificate.Shapes != 2 || r.Certificate.Worst[0] != 0.5 {
		t.Errorf("the certificate is %+v: %v", r.Certificate, err)
	}
}

// TestRecorded: what a library has recorded tells which variant it chooses, also where it compares predicted costs.
func TestRecorded(t *testing.T) {
	one := &task{TaskPlan: TaskPlan{Kernel: "k", Function: "f", Fields: []string{"m"}, Variants: 2, Representatives: []int{0, 1}, Training: []PlannedShape{{[]int64{10}, 1}, {[]int64{64}, 1}}}}
	dir := t.TempDir()
	one.dir = filepath.Join(dir, tuningDir, "f")
	if err := os.MkdirAll(one.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for m := int64(20); m < 640; m += 13 {
		one.Training = append(one.Training, PlannedShape{[]int64{m}, 1})
	}
	one.variants = []variant{{Name: "m10", Tuned: []int64{10}, Amounts: [][]string{{"m"}}}, {Name: "m64", Tuned: []int64{64}, Amounts: [][]string{{"(m + 63) // 64"}}}}
	for _, s := range one.Training {
		m := float64(s.Fields[0])
		if err := one.keep(measurement{Role: training, Fields: s.Fields, Costs: []measured{{Variant: "m10", Cost: 1.3 * m}, {Variant: "m64", Cost: 64 * math.Ceil(m/64)}}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range map[string]any{filepath.Join(dir, tuningDir, planName): Plan{Format: planFormat, Tasks: []TaskPlan{one.TaskPlan}}, filepath.Join(one.dir, variantsName): one.variants} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i := range one.variants {
		var err error
		if one.variants[i].amounts, err = choice.ParseAmounts(one.variants[i].Amounts); err != nil {
			t.Fatal(err)
		}
	}
	made, err := one.settle(0)
	if err != nil || made.tree.Root.Predictor == nil {
		t.Fatalf("the library does not predict costs: %v", err)
	}
	read, err := recorded(dir)
	if err != nil {
		t.Fatal(err)
	}
	for m := int64(1); m < 700; m++ {
		if a, b := made.choice([]int64{m}), read[0].choice([]int64{m}); a != b {
			t.Fatalf("at m=%d the library takes %+v, and what it has recorded says %+v", m, a, b)
		}
	}
}

// TestOutside: where no variant takes a shape, the plain form runs, and no regret is known. A choice that does not take a shape has none
// either.
func TestOutside(t *testing.T) {
	one := measuredTask()
	one.measured[0].Costs, one.measured[0].Outside = nil, []string{"m1", "m100"}
	one.measured[1].Costs, one.measured[1].Outside = one.measured[1].Costs[:1], []string{"m100"}
	s, err := one.settle(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.matrix.Shapes) != 3 || s.matrix.Costs[0][1] != choice.Missing || s.matrix.Costs[0][0] == choice.Missing {
		t.Errorf("the matrix is %+v", s.matrix)
	}
	r, err := s.report(1)
	if err != nil || r.Plain != 1 || r.Measured != 4 || r.TreeRegret != 0 {
		t.Errorf("the report is %+v: %v", r, err)
	}
	if text, err := json.Marshal(RuleResult{Mean: Share(math.Inf(1)), P95: 0.5}); err != nil || !strings.Contains(string(text), `"mean":null,"p95":0.5`) {
		t.Errorf("%s: %v", text, err)
	}
	var back RuleResult
	if err := json.Unmarshal([]byte(`{"mean":null,"p95":0.5}`), &back); err != nil || !math.IsInf(float64(back.Mean), 1) || back.P95 != 0.5 {
		t.Errorf("%+v: %v", back, err)
	}
	if bestBeside(nil, plainName) != "" || bestBeside([]measured{{Variant: "a", Cost: 3}}, plainName) != "a" {
		t.Error("the plain form is not held against the best variant")
	}
}

// TestTaken: the last measurement of a held-out shape counts, and a variant takes no shape at which the plain form runs.
func TestTaken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, tuningDir, "f", measuredName)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for _, m := range []measurement{
		{Role: training, Fields: []int64{1}},
		{Role: heldOut, Fields: []int64{5}, Choice: "a"},
		{Role: heldOut, Fields: []int64{3}, Choice: "a"},
		{Role: heldOut, Fields: []int64{4}, Choice: "a"},
		{Role: heldOut, Fields: []int64{3}, Choice: "b", Outside: []string{"a"}},
		{Role: heldOut, Fields: []int64{4}, Choice: "b", Outside: []string{"a", "b"}},
		{Role: heldOut, Fields: []int64{2}, Choice: "a"},
	} {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if err := os.WriteFile(path, lines, 0o666); err != nil {
		t.Fatal(err)
	}
	want := map[string][][]int64{"a": {{2}, {5}}, "b": {{3}}}
	if got, err := (&Report{Dir: dir}).Taken("f"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

var update = flag.Bool("update", false, "write docs/library.schema.json")

// TestSchema compares the published schema with the tables, and the tables with what the reader decodes.
func TestSchema(t *testing.T) {
	schematest.Published(t, filepath.Join("..", "..", "docs", "library.schema.json"), Schema(), *update)
	for name, kind := range map[string]reflect.Type{"File": reflect.TypeFor[File](), "Task": reflect.TypeFor[Task](), "Range": reflect.TypeFor[Range]()} {
		var tags []string
		for i := range kind.NumField() {
			if tag := kind.Field(i).Tag.Get("yaml"); tag != "" {
				tags = append(tags, tag)
			}
		}
		slices.Sort(tags)
		if want := slices.Sorted(slices.Values(objects[name].names())); !slices.Equal(tags, want) {
			t.Errorf("%s reads %v, and the table has %v", name, tags, want)
		}
	}
}

// TestNeighbours: a search starts from the best points of the nearest shapes of its own task, whatever fields the shapes of others have.
func TestNeighbours(t *testing.T) {
	one := &task{TaskPlan: TaskPlan{Function: "f", Fields: []string{"m", "n"}, Training: []PlannedShape{{[]int64{4, 4}, 1}, {[]int64{5, 4}, 1}, {[]int64{90, 90}, 1}, {[]int64{8, 8}, 1}}}}
	other := &task{TaskPlan: TaskPlan{Function: "g", Fields: []string{"n"}, Training: []PlannedShape{{[]int64{4}, 1}}}}
	var all []*searched
	for i, best := range []string{"", "a=1", "a=2", "a=3"} {
		all = append(all, &searched{session.Sliced{Best: best}, one, i})
	}
	all = append([]*searched{{session.Sliced{Best: "a=0"}, other, 0}}, all...)
	sp, err := space.New("", []space.Parameter{space.Range("a", 0, 3)})
	if err != nil {
		t.Fatal(err)
	}
	if got := neighbours(all[1], all, spaceOnly{sp}); !slices.Equal(got, []string{"a=1", "a=3"}) {
		t.Errorf("it starts from %v", got)
	}
	if got := neighbours(all[0], all, spaceOnly{sp}); !slices.Equal(got, []string{"a=0"}) {
		t.Errorf("the other starts from %v", got)
	}
}

// spaceOnly is a problem of which only the space is asked for.
type spaceOnly struct{ space *space.Space }

func (p spaceOnly) Space() *space.Space                                         { return p.space }
func (spaceOnly) Presets() []kernels.Preset                                     { return nil }
func (spaceOnly) Traits() kernels.Traits                                        { return kernels.Traits{} }
func (spaceOnly) Build(context.Context, space.Point) (kernels.Candidate, error) { return nil, nil }

// scripted is a candidate with the scores of a test.
type scripted struct {
	kernels.Candidate
	scores []float64 // 0 is a rejection
	asked  int
}

func (s *scripted) Score(context.Context, int) (kernels.Score, error) {
	cost := s.scores[min(s.asked, len(s.scores)-1)]
	s.asked++
	if cost == 0 {
		return kernels.Score{}, kernels.Reject(space.Crashed, "it fell over")
	}
	return kernels.Score{Cost: cost}, nil
}

// TestScores: a variant is scored again until two of its scores agree, unless it is far behind, and the least counts. One that is refused is not
// asked again.
func TestScores(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Minute} {
		list := []*scripted{
			{scores: []float64{100, 103}}, {scores: []float64{190, 99, 140, 98}}, {scores: []float64{700, 100}}, {scores: []float64{300, 0}}, {scores: []float64{200, 190, 180, 170, 160}},
		}
		f := &field{}
		for i, c := range list {
			f.names, f.candidates = append(f.names, string(rune('a'+i))), append(f.candidates, c)
		}
		var out measurement
		got, err := f.score(t.Context(), &task{}, &out, limit)
		if err != nil {
			t.Fatal(err)
		}
		want, asked := "[{a 100} {b 98} {c 700} {e 170}] [{d crashed: it fell over}]", []int{2, 4, 1, 2, 4}
		if limit == 0 {
			want, asked = "[{a 100} {b 190} {c 700} {d 300} {e 200}] []", []int{1, 1, 1, 1, 1}
		}
		var costs []string
		for _, m := range got {
			costs = append(costs, fmt.Sprintf("{%s %g}", m.Variant, m.Cost))
		}
		if text := fmt.Sprint(costs, out.Refused); text != want {
			t.Errorf("limit %v: %s, want %s", limit, text, want)
		}
		for i, c := range list {
			if c.asked != asked[i] {
				t.Errorf("limit %v: %s was asked %d times, want %d", limit, f.names[i], c.asked, asked[i])
			}
		}
	}
}

// TestSurveyed: candidates that are none of this machine's are an error of the task, and one without any right variant is another.
func TestSurveyed(t *testing.T) {
	one := &task{TaskPlan: TaskPlan{Function: "f", Fields: []string{"m"}}}
	f := &field{problem: &native.Problem{}, names: []string{"a"}, candidates: []kernels.Candidate{&scripted{}}}
	out := measurement{Fields: []int64{3}}
	_, err := f.survey(t.Context(), one, &out, time.Second)
	if want := "f: turns at m=3: native: cannot survey a candidate of type *library.scripted"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	out.Refused = []refused{{"a", "crashed: it fell over"}}
	if err := f.some(one, &out, 0); err == nil || err.Error() != "f: no variant is right at m=3: crashed: it fell over" {
		t.Errorf("without a right variant: %v", err)
	}
	if err := f.some(one, &out, 1); err != nil {
		t.Error(err)
	}
}

// TestPinned: code that is called at many shapes is not searched for what is fast at one of them alone.
func TestPinned(t *testing.T) {
	few := "name: lib\ntasks:\n  - kernel: gemm-f32\n    variants: 2\n    shapes: [{m: 8, n: 8, k: 8}, {m: 9, n: 9, k: 9}]\n"
	for text, want := range map[string]map[string]string{
		ranges: {"fixed": "false"},
		few:    nil,
		few[:len(few)-2] + ", {m: 1, n: 1, k: 1}]\n": {"fixed": "false"},
	} {
		plan, err := planOf(t, text)
		if err != nil {
			t.Fatal(err)
		}
		p, l, err := openLinked(gemm.Kernel{Host: native.NewHost(native.HostOptions{})}, "", "m=8,n=8,k=8")
		if err != nil {
			t.Fatal(err)
		}
		got := (&task{TaskPlan: plan.Tasks[0], linkage: l}).pinned()
		if !maps.Equal(got, want) {
			t.Errorf("%s\nhas the pinned values %v, want %v", text, got, want)
		}
		if _, err := kernels.Pin(p, got); err != nil {
			t.Errorf("the kernel does not have %v: %v", got, err)
		}
	}
}

// TestUntil: a budget says how long a step may take, and a number of evaluations does not.
func TestUntil(t *testing.T) {
	m := &maker{Options: Options{Budget: 100 * time.Second, Began: time.Now()}, spent: 40, before: 30}
	if got := m.until(searchUntil); got > 40*time.Second || got < 39*time.Second {
		t.Errorf("after 10 s of a budget of 100 s there are %v until %v of it", got, searchUntil)
	}
	m.spent = 200
	if got := m.until(searchUntil); got != 0 {
		t.Errorf("after the budget there are %v", got)
	}
	m.Evaluations, m.spent = 5, 0
	if got := m.until(searchUntil); got != 0 {
		t.Errorf("without a budget there are %v", got)
	}
}
