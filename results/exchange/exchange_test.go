package exchange

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tune/space"
)

// shared is the folder of public tuning data that stands beside a checkout; tests that need it are skipped without.
const shared = "../../../shared/tuning-data"

// sharedFiles lists the data files there.
func sharedFiles(t testing.TB) []string {
	t.Helper()
	dir := shared
	if d := os.Getenv("TUNING_DATA"); d != "" {
		dir = d
	}
	var files []string
	for _, pattern := range []string{"*.json.gz", "kernel-tuner/*.T4.json.gz", "kernel-tuner/*.cache.json*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skipf("no tuning data in %s (TUNING_DATA names another folder)", dir)
	}
	return files
}

func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t testing.TB, f *File, format Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func reread(t testing.TB, path, text string) *File {
	t.Helper()
	f, err := Read(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// tokens are the values of a JSON text as they are written, without blanks.
func tokens(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rowsOf are the rows as anybody sees them.
func rowsOf(f *File) []string {
	var out []string
	for i := range f.Rows {
		r := &f.Rows[i]
		line := ""
		for k, v := range f.values(r) {
			line += fmt.Sprintf("%s=%v ", f.Parameters[k].Name, v)
		}
		out = append(out, fmt.Sprintf("%s %v %v", line, r.Outcome.Status, r.Outcome.Cost))
	}
	return out
}

func TestReadRecorded(t *testing.T) {
	f := open(t, "testdata/square.json")
	if f.Format != Recorded || f.Space != "square__desk" || f.Device != "desk" || f.Unit != "ms" || len(f.Rows) != 10 {
		t.Fatalf("%+v", f)
	}
	want := []space.Status{space.OK, space.OK, space.OK, space.OK, space.Crashed, space.OK, space.CompileFailed, space.Timeout, space.OK, space.Invalid}
	for i, r := range f.Rows {
		if r.Outcome.Status != want[i] {
			t.Errorf("row %d is %v, want %v", i, r.Outcome.Status, want[i])
		}
	}
	if r := f.Rows[4].Outcome; r.Seconds != 0.5 || r.Reason != "RuntimeFailedConfig" {
		t.Errorf("row 4: %+v", r)
	}
	if b := f.Best(); b.Outcome.Cost != 1 || b.Outcome.Seconds != 1 {
		t.Errorf("best %+v", b)
	}
	if s := f.Rows[0].Stats; s == nil || s[3] != 0.05 {
		t.Errorf("stats %v", s)
	}
	s, err := f.MakeSpace()
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := s.Len(); n != 10 || s.Name() != "square__desk" {
		t.Errorf("%d points in %s", n, s.Name())
	}
}

// TestOpenCache reads a cache whose tuner was stopped before it wrote the end.
func TestOpenCache(t *testing.T) {
	f := open(t, "testdata/open.cache.json")
	if f.Format != KernelTuner || f.Space != "open" || f.Device != "desk" || len(f.Rows) != 3 {
		t.Fatalf("%+v", f)
	}
	r := f.Rows[0]
	if r.Outcome.Cost != 0.5 || r.Outcome.Seconds != 0.102 || r.CompileSeconds != 0.1 || len(r.Repeats) != 3 || r.Timestamp == "" {
		t.Errorf("row 0: %+v", r)
	}
	if s := r.Spread(); s[0] != 0.4 || s[1] != 0.5 || s[2] != 0.6 || s[3] < 0.0816 || s[3] > 0.0817 {
		t.Errorf("stats %v", *s)
	}
	text, _ := os.ReadFile("testdata/open.cache.json")
	whole := strings.TrimSuffix(string(text), ",\n") + "}\n}"
	if got := write(t, f, KernelTuner); got != whole {
		t.Errorf("written again:\n%s", got)
	}
	// Closed by one brace only, without the comma, with it and the line.
	for _, end := range []string{"\n}", "", ",", ",\n", "\n"} {
		g := reread(t, "a.cache.json", strings.TrimSuffix(string(text), ",\n")+end)
		if !slices.Equal(rowsOf(f), rowsOf(g)) {
			t.Errorf("with the end %q: %v", end, rowsOf(g))
		}
	}
}

// TestRoundTrips: what is written in the format that was read is the same text; what goes through another form loses
// nothing of the original, and nothing that all forms have.
func TestRoundTrips(t *testing.T) {
	files := []string{"testdata/square.json", "testdata/open.cache.json"}
	if !testing.Short() {
		files = append(files, sharedFilesOrNone()...)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := open(t, path)
			same := write(t, f, f.Format)
			if root, err := parse(f.text); err == nil {
				var flat bytes.Buffer
				if err := emit(&flat, func(e emitter) error { e.flat(&root); return nil }); err != nil {
					t.Fatal(err)
				}
				if tokens(t, same) != tokens(t, flat.String()) || tokens(t, same) != tokens(t, f.text) {
					t.Error("the same format has other values")
				}
			}
			own := reread(t, "x.json", write(t, f, Recorded))
			if !slices.Equal(rowsOf(f), rowsOf(own)) {
				t.Error("the recorded form has other rows")
			}
			if f.Format != Recorded {
				if back := write(t, own, f.Format); back != same {
					t.Errorf("%s through the recorded form and back is another text", f.Format)
				}
				if again := write(t, own, Recorded); again != write(t, f, Recorded) {
					t.Error("the recorded form is not stable")
				}
			}
			for _, other := range Formats() {
				g := reread(t, "x.json", write(t, f, other))
				a, b := rowsOf(f), rowsOf(g)
				if !slices.Equal(a, b) {
					t.Errorf("%s has other rows: %s", other, firstDifference(a, b))
				}
				for i := range f.Rows {
					if d := f.Rows[i].Outcome.Seconds - g.Rows[i].Outcome.Seconds; d > 1e-9 || d < -1e-9 {
						// T4 has no time of measuring, but only those of the repeats.
						if other != T4 && f.Format != T4 {
							t.Fatalf("%s: row %d took %v s, not %v", other, i, g.Rows[i].Outcome.Seconds, f.Rows[i].Outcome.Seconds)
						}
					}
				}
			}
		})
	}
}

func sharedFilesOrNone() []string {
	var files []string
	for _, pattern := range []string{"*RTX_3090.json.gz", "kernel-tuner/*.T4.json.gz", "kernel-tuner/*.cache.json*"} {
		found, _ := filepath.Glob(filepath.Join(shared, pattern))
		files = append(files, found...)
	}
	return files
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%q is %q", a[i], b[i])
		}
	}
	return fmt.Sprintf("%d rows and %d", len(a), len(b))
}

// TestSharedData reads all public data, and writes what Python wrote byte for byte.
func TestSharedData(t *testing.T) {
	for _, path := range sharedFiles(t) {
		f := open(t, path)
		if _, err := f.MakeSpace(); err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(path, "small.cache.json") {
			continue // which is indented in another way
		}
		if got := write(t, f, f.Format); got != strings.TrimRight(f.text, "\n") {
			t.Errorf("%s comes out as another text", path)
		}
	}
}

// TestT4Schema: what is written has what the schema of T4 asks for.
func TestT4Schema(t *testing.T) {
	for _, path := range []string{"testdata/square.json", "testdata/open.cache.json"} {
		var doc struct {
			SchemaVersion string `json:"schema_version"`
			Results       []struct {
				Timestamp     *string        `json:"timestamp"`
				Configuration map[string]any `json:"configuration"`
				Objectives    []string       `json:"objectives"`
				Times         map[string]any `json:"times"`
				Invalidity    string         `json:"invalidity"`
				Correctness   *float64       `json:"correctness"`
				Measurements  []struct {
					Name  string  `json:"name"`
					Value any     `json:"value"`
					Unit  *string `json:"unit"`
				} `json:"measurements"`
			} `json:"results"`
		}
		if err := json.Unmarshal([]byte(write(t, open(t, path), T4)), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.SchemaVersion != "1.0.0" {
			t.Errorf("version %q", doc.SchemaVersion)
		}
		known := []string{"timeout", "compile", "runtime", "correctness", "constraints", "correct"}
		for i, r := range doc.Results {
			if r.Timestamp == nil || len(r.Configuration) == 0 || len(r.Objectives) != 1 || len(r.Times) == 0 ||
				!slices.Contains(known, r.Invalidity) || r.Correctness == nil || len(r.Measurements) == 0 || r.Measurements[0].Unit == nil {
				t.Errorf("%s: result %d lacks something: %+v", path, i, r)
			}
		}
	}
}

// TestFaults: each malformed file is refused with its line, its column and the field.
// TestObserver: who reads and writes a large file is told how far that is.
func TestObserver(t *testing.T) {
	var values, rows []string
	for i := range 3000 {
		values = append(values, strconv.Itoa(i))
		rows = append(rows, fmt.Sprintf(`[[%d], 1, "", 1, null]`, i))
	}
	text := `{"names": ["a"], "values": [[` + strings.Join(values, ",") + `]], "rows": [` + strings.Join(rows, ",") + "]}"
	steps, last := map[Step]int{}, map[Step]int{}
	observe := func(step Step, done, total int) {
		if done < last[step] || done > total {
			t.Errorf("%s: %d of %d after %d", step, done, total, last[step])
		}
		steps[step]++
		last[step] = done
	}
	f, err := ReadObserved("large.json", []byte(text), observe)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(io.Discard, T4); err != nil {
		t.Fatal(err)
	}
	if steps[Reading] < 2 || steps[Checking] != 3000 || steps[Writing] != 3000 {
		t.Errorf("it was told %v", steps)
	}
}

func TestFaults(t *testing.T) {
	recorded := func(rows string) string {
		return "{\"names\": [\"a\"],\n\"values\": [[1, 2]],\n\"rows\": [\n" + rows + "]}"
	}
	cache := func(entries string) string {
		return "{\"tune_params_keys\": [\"a\"],\n\"tune_params\": {\"a\": [1, 2]},\n\"cache\": {\n" + entries + "}}"
	}
	t4 := func(results string) string { return "{\"results\": [\n" + results + "]}" }
	tests := []struct{ text, want string }{
		{"", "bad.json:1:1: it ends too early"},
		{"[1]", "bad.json:1:1: want a JSON object, not a list"},
		{"{\"a\": 1}", "bad.json:1:1: want the key rows (a recorded space), cache (Kernel Tuner) or results (T4)"},
		{"{\"a\":\n  tru}", "bad.json:2:3: want a JSON value, not \"t\""},
		{"{\"a\": 1,\n\"a\": 2}", `bad.json:2:1: the key "a" is there twice`},
		{"{\"a\": 1, // one\n}", `bad.json:1:10: want a key in quotes, not "/": JSON has no comments; leave it out`},
		{"{\"a\": 1,\n}", `bad.json:2:1: want a key in quotes, not "}"`},
		{"{\"µ\": 01}", `bad.json:1:7: "01}" is not a JSON number`},
		{"{\"a\" 1}", `bad.json:1:6: want a colon after the key "a", not "1"`},
		{"{\"a\": 1 \"b\": 2}", `bad.json:1:9: want a comma or "}", not "\""`},
		{"{\"a\": \"\\u12\"}", `the string has an escape \u without four hexadecimal digits`},
		{"{\"a\": \"\t\"}", `bad.json:1:8: a string has the control character '\t': want an escape`},
		{"{\"a\": \"\\q\"}", `bad.json:1:7: the string has the unknown escape \q`},
		{"{\"a\": 1} x", "bad.json:1:10: there is text after"},
		{"{\"a\": " + strings.Repeat("[", 100), "values nest deeper than 64 levels"},
		{"{\"ConfigurationSpace\": {}}", "ConfigurationSpace: this is a T1 file, which describes a space and holds no measurements"},
		{recorded(""), "it holds no configuration"},
		{recorded("[[0], 1, \"\", 1, null],\n[[0], 2, \"\", 1, null]"), "bad.json:5:1: row 2: it has the values of row 1: a=1"},
		{recorded("[[2], 1, \"\", 1, null]"), "bad.json:4:3: rows[0][0][0]: want a position in the values of a, 0 to 1"},
		{recorded("[[0], null]"), ""},
		{recorded("[[0], \"1\"]"), `bad.json:4:7: rows[0][1]: "1" is a number in quotes, which only the name of an error has: write 1`},
		{recorded("[[0], [], \"\"]"), "bad.json:4:7: rows[0][1]: want a number"},
		{recorded("[[0], 1, 7]"), "rows[0][2]: want the text of an error"},
		{recorded("[[0], 1, \"\", -1]"), "bad.json:4:14: rows[0][3]: -1: want a time of 0 or more"},
		{recorded("[[0], 1, \"\", \"1\"]"), "rows[0][3]: want the seconds that it took, 0 or more, or null"},
		{recorded("[[0], -0.5, \"\", 1]"), "bad.json:4:7: rows[0][1]: -0.5: want a time of 0 or more"},
		{recorded("[[0], NaN, \"\", 1]"), "rows[0][1]: NaN is not a measurement: want a number, or where it failed null or the name of the error"},
		{recorded("[[0], Infinity, \"\", 1]"), "rows[0][1]: Infinity is not a measurement"},
		{recorded("[[0], -Infinity, \"\", 1]"), "rows[0][1]: -Infinity is not a measurement"},
		{recorded("[[0], 1e999, \"\", 1]"), "rows[0][1]: 1e999 is not a measurement"},
		{recorded("[[0], 1e300, \"\", 1]"), "rows[0][1]: 1e300: no time is longer than ten years"},
		{recorded("[[0], 1, \"\", 1e300]"), "rows[0][3]: 1e300: no time is longer than ten years"},
		{recorded("[[0], 1, \"\", NaN]"), "rows[0][3]: NaN: want a time"},
		{recorded("[[0], 1, \"\", 1, [-1, 1, 1, 0]]"), "rows[0][4][0]: -1: want a time of 0 or more"},
		{cache("\"1\": {\"a\": 1, \"time\": -3}"), `cache."1".time: -3: want a time of 0 or more`},
		{cache("\"1\": {\"a\": 1, \"time\": 1e19}"), `cache."1".time: 1e19: no time is longer than ten years`},
		{cache("\"1\": {\"a\": 1, \"time\": \" 1.25\"}"), `cache."1".time: " 1.25" is a number in quotes, which only the name of an error has: write 1.25`},
		{cache("\"1\": {\"a\": 1, \"time\": \"NaN\"}"), `cache."1".time: "NaN" is not a measurement: want a number, or where it failed null`},
		{cache("\"1\": {\"a\": 1, \"time\": \"1e999\"}"), `cache."1".time: "1e999" is not a measurement: want a number, or where it failed null`},
		{cache("\"1\": {\"a\": 1, \"time\": \"3DGridError\"}"), ""},
		{cache("\"1\": {\"a\": 1, \"time\": NaN}"), `cache."1".time: NaN is not a measurement`},
		{cache("\"1\": {\"a\": 1, \"time\": 1, \"times\": [1, -1]}"), `cache."1".times[1]: -1: want a time of 0 or more`},
		{cache("\"1\": {\"a\": 1, \"time\": 1, \"compile_time\": 1e30}"), `cache."1".compile_time: 1e30: no time is longer`},
		{t4time("-1", "1"), `results[0].measurements: -1: want a time of 0 or more`},
		{t4time("\"1.25\"", "1"), `results[0].measurements: "1.25" is a number in quotes, which only the name of an error has: write 1.25`},
		{t4time("NaN", "1"), `results[0].measurements: NaN is not a measurement`},
		{t4time("1", "-1"), `results[0].times.runtimes[0]: -1: want a time of 0 or more`},
		{t4time("1", "1e300"), `results[0].times.runtimes[0]: 1e300: no time is longer`},
		{recorded("[[0], 1, \"\", 1, [1, 2]]"), "rows[0][4]: want [min, median, max, std]"},
		{recorded("[[0], 1, \"\", 1, null, {}]"), "rows[0][5]: the file names no source_format for it"},
		{recorded("7"), "rows[0]: want [indices, value, error, cost_s, repeats]"},
		{"{\"names\": [\"a b\"], \"values\": [[1]], \"rows\": []}", `values[0]: parameter "a b": "a b" is not an identifier`},
		{"{\"names\": [\"a\"], \"values\": [[1, 1]], \"rows\": []}", "the value 1 is listed twice"},
		{"{\"names\": [\"a\"], \"values\": [], \"rows\": []}", "values: it has 0 lists for 1 names"},
		{"{\"objective\": \"GFLOP/s\", \"names\": [], \"values\": [], \"rows\": []}", "objective: of GFLOP/s more is better: want an objective of which less is, such as time"},
		{cache("\"3\": {\"a\": 3, \"time\": 1}"), `bad.json:4:12: cache."3".a: 3 is not among the values`},
		{cache("\"1\": {\"a\": 1}"), `cache."1".time: the objective is missing`},
		{cache("\"1\": {\"a\": 1, \"time\": 1, \"compile_time\": -4}"), `cache."1".compile_time: -4: want a time of 0 or more`},
		{cache("\"1\": {\"time\": 1}"), `cache."1".a: it is missing`},
		{cache("\"1\": {\"a\": 1, \"time\": 1, \"times\": [1, \"x\"]}"), `cache."1".times[1]: want a number, not a string`},
		{cache("\"1\": 5"), `cache."1": want an object, not a number`},
		{"{\"cache\": {}}", "tune_params_keys: it is missing"},
		{"{\"tune_params_keys\": [1], \"cache\": {\"1\": {}}}", "tune_params_keys[0]: want a string, not a number"},
		{"{\"tune_params_keys\": [\"a\"], \"cache\": {\"1\": {\"time\": 1}}}", "a: the entry has no value of this parameter"},
		{cache("\"1\": {\"a\": 1, \"time\": 1, \"times\": [NaN]}"), `cache."1".times[0]: NaN is not finite`},
		{"{\"names\": [\"a\"], \"values\": [1], \"rows\": []}", "values[0]: want a list of values, not a number"},
		{"{\"source_format\": \"kerneltuner\", \"source\": {}, " + recorded("[[0], 1, \"\", 1, null, 5]")[1:], "rows[0][5]: want the key and the entry of a cache"},
		{t4("{\"configuration\": {\"a\": 1}, \"measurements\": [{\"name\": \"time\", \"value\": 1, \"unit\": \"s\"}]},\n{\"configuration\": {\"a\": 2}, \"measurements\": [{\"name\": \"time\", \"value\": 1, \"unit\": \"ms\"}]}"),
			`results[1].measurements: the unit is "ms", and that of the first configuration "s"`},
		{"{\"tune_params_keys\": [\"a\"],\n\"cache\": {\"1\": {\"a\": 1, \"ti", "bad.json:2:28: it ends too early"},
		{t4(""), "results: it holds no configuration"},
		{t4("{\"configuration\": {\"a\": 1},\n\"invalidity\": \"corect\"}"), `bad.json:3:15: results[0].invalidity: unknown invalidity "corect" (did you mean "correct"?)`},
		{t4("{\"configuration\": {\"a\": 1}, \"measurements\": []}"), `results[0].measurements: none is called "time", which is the objective`},
		{t4("{\"configuration\": {\"a\": 1}, \"measurements\": [{\"name\": \"time\", \"value\": 1}]},\n{\"configuration\": {\"a\": 1, \"b\": 2}}"), "results[1].configuration: it has 2 parameters, and the first one 1"},
		{"{\"metadata\": {\"timeunit\": \"weeks\"}, \"results\": [{\"configuration\": {\"a\": 1}}]}", `metadata.timeunit: unknown unit "weeks": want seconds, milliseconds, microseconds or nanoseconds`},
	}
	for _, test := range tests {
		_, err := Read("bad.json", []byte(test.text))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", test.text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\n%v\nwant %s", test.text, err, test.want)
		}
		if _, ok := errors.AsType[*Error](err); err != nil && !ok {
			t.Errorf("%s: the error is a %T", test.text, err)
		}
	}
}

func TestCompressed(t *testing.T) {
	text, _ := os.ReadFile("testdata/square.json")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	f, err := Read("square.json.gz", b.Bytes())
	if err != nil || len(f.Rows) != 10 {
		t.Fatal(err)
	}
	for _, cut := range []int{5, 20, b.Len() - 3} {
		if _, err := Read("square.json.gz", b.Bytes()[:cut]); err == nil || !strings.Contains(err.Error(), "square.json.gz: it cannot be decompressed: ") {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// TestSlim: without what only writing it again needs, a file has the same rows, and can still be written.
func TestSlim(t *testing.T) {
	for _, path := range []string{"testdata/square.json", "testdata/open.cache.json"} {
		f := open(t, path)
		want := rowsOf(f)
		f.Slim()
		for _, format := range Formats() {
			if got := rowsOf(reread(t, "x.json", write(t, f, format))); !slices.Equal(got, want) {
				t.Errorf("%s as %s: %s", path, format, firstDifference(got, want))
			}
		}
	}
}

// TestStrings: whatever a string holds, it reads back.
func TestStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		n := textNode(s)
		if !json.Valid([]byte(n.raw)) && strings.ToValidUTF8(s, "") == s {
			t.Fatalf("%q is written as %s", s, n.raw)
		}
		got, err := parse(n.raw)
		if err != nil || got.str() != strings.ToValidUTF8(s, "\uFFFD") {
			t.Fatalf("%q reads back as %q, %v", s, got.str(), err)
		}
	})
}

// TestFloats: whatever a number is, it reads back.
func TestFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		got, err := parse(floatNode(v).raw)
		if err != nil || !reflect.DeepEqual(got.float(), v) && v == v {
			t.Fatalf("%v is written as %s and reads back as %v, %v", v, floatNode(v).raw, got.float(), err)
		}
	})
}

// FuzzRead: whatever the bytes are, they are read or refused with an *Error, and what was read can be written in every
// format and read again.
func FuzzRead(f *testing.F) {
	for _, path := range []string{"testdata/square.json", "testdata/open.cache.json"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		file, err := Read(path, text)
		if err != nil {
			f.Fatal(err)
		}
		for _, format := range Formats() {
			var b bytes.Buffer
			if err := file.Write(&b, format); err != nil {
				f.Fatal(err)
			}
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read("x.json", data)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			return
		}
		for _, format := range Formats() {
			var b bytes.Buffer
			if err := file.Write(&b, format); err != nil {
				t.Fatal(err)
			}
			again, err := Read("y.json", b.Bytes())
			if err != nil {
				t.Fatalf("as %s it cannot be read: %v\n%s", format, err, b.Bytes())
			}
			if len(again.Rows) != len(file.Rows) {
				t.Fatalf("as %s it has %d rows, not %d", format, len(again.Rows), len(file.Rows))
			}
		}
		_ = file.Write(io.Discard, file.Format)
	})
}

// t4time is a T4 file of one configuration with the given time and runtime.
func t4time(value, runtime string) string {
	return `{"results": [{"configuration": {"a": 1}, "times": {"runtimes": [` + runtime + `]}, "invalidity": "correct", "correctness": 1, ` +
		`"measurements": [{"name": "time", "value": ` + value + `, "unit": "ms"}], "objectives": ["time"]}], "schema_version": "1.0.0"}`
}
