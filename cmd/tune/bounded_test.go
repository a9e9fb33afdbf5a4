//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mostMemory is what tune may have resident, in bytes, while it refuses a file.
const mostMemory = 700 << 20

// gzipped compresses a head, n blocks of 64 KiB that repeat a text, and a tail. The blocks are members of the file, which is how gzip joins
// what was compressed apart: so equal ones are compressed once.
func gzipped(t *testing.T, path, head, body, tail string, n int) {
	t.Helper()
	const together = 16
	member := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := block(body)
	writeText(t, path, member(head)+strings.Repeat(member(strings.Repeat(text, together)), n/together)+
		member(strings.Repeat(text, n%together)+tail))
}

// block repeats a text to 64 KiB.
func block(body string) string { return strings.Repeat(body, 1<<16/len(body)+1) }

func writeText(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever a user names as a file, or finds in a directory of somebody else, is refused in little time and memory.
func TestFilesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes large files")
	}
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const blocks = 1 << 13 // of 64 KiB: half a GiB
	gzipped(t, at("zero.json.gz"), "", "\x00", "", blocks)
	gzipped(t, at("dense.json.gz"), `{"rows":[`, "0,", "0]}", denseBlocks) // which has no more than an honest file may have
	gzipped(t, at("blank.json.gz"), "{", " ", "", blocks)
	gzipped(t, at("values.json.gz"), `{"rows":[`, "0,", "0]}", blocks)
	gzipped(t, at("t1.json.gz"), `{"ConfigurationSpace":[`, "0,", "0]}", blocks)
	gzipped(t, at("cache.json.gz"), `{"cache":{"a":[`, "[],", "0]}}", blocks)
	gzipped(t, at("t4.json.gz"), `{"results":[`, "{},", "{}]}", blocks)
	gzipped(t, at("vectors.json.gz"), `{"trees":[`, "{},", "{}]}", blocks)
	large := func(name, head, body, tail string, n int) {
		writeText(t, at(name), head+strings.Repeat(block(body), n)+tail)
	}
	large("wide.yaml", "space: [", "a,", "a]\n", 33)
	large("near.yaml", "space: [", "a,", "a]\n", 28)
	large("near-space.yaml", "parameters: [", "a,", "a]\n", 28)
	large("near-settings.yaml", "budget: [", "a,", "a]\n", 28)
	large("deep.yaml", "space: ", "[", "\n", 28)
	large("deep-expression.yaml", "space: {parameters: [{name: a, type: int, from: 1, to: 2}], constraints: [\"", "(", "1\"]}\ncommand: {run: x}\n", 20)
	large("deep-space.yaml", "parameters: [{name: a, type: int, from: 1, to: 2}]\nconstraints: [\"", "(", "1\"]\n", 20)
	large("deep-length.yaml", "space: {parameters: [{name: a, type: int, from: 1, to: 2}]}\nsource: {text: \"void f(float*x){}\", function: f, arguments: [{name: x, type: float, access: write, length: \"", "(", "1\"}]}\n", 20)
	large("deep.json", "", "[", "", 100)
	large("deep-cache.json", `{"cache":`, `{"a":`, "", 100)
	large("t1.json", `{"ConfigurationSpace":[`, "0,", "0]}", 28)
	large("empty-from.json", `{"format":1,"sources":[{"name":"x","observations":[`, "{},", "{}]}]}", 1000)
	large("empty-artifacts.json", `{"format":1,"artifacts":[`, "{},", "{}]}", 60)
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		prev, next := string(rune('a'+i))+"0", string(rune('b'+i))+"0"
		laughs.WriteString(next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+", ", 9), ", ") + "]\n")
	}
	writeText(t, at("laughs.yaml"), laughs.String()+"space: {parameters: *m0}\ncommand: {run: *m0}\n")
	writeText(t, at("laughs-space.yaml"), laughs.String()+"parameters: *m0\n")
	writeText(t, at("circle.yaml"), "space: &s {parameters: [*s, *s]}\ncommand: &c {run: [*c, *c], environment: *c}\n")
	writeText(t, at("header.yaml"), "space: {parameters: [{name: a, type: bool}]}\nsource: {file: k.c, function: f, arguments: [{name: x, type: float, access: write, length: 4}]}\n")
	writeText(t, at("k.c"), "#include \"/dev/zero\"\nvoid f(float *x) { x[0] = a; }\n")
	writeText(t, at("fill.yaml"), "space: {parameters: [{name: a, type: bool}]}\nsource: {text: \"void f(const float *x, float *y) { y[0] = x[0] + a; }\", function: f, arguments: [{name: x, type: float, access: read, length: 4, fill: {file: /dev/zero}}, {name: y, type: float, access: write, length: 1}]}\n")
	writeText(t, at("files.yaml"), "space: {parameters: [{name: a, type: bool}]}\ncommand: {files: [/dev/zero], run: \"echo {{a}}\"}\n")
	if err := os.Truncate(at("k.c"), 200<<20); err != nil {
		t.Fatal(err)
	}
	writeText(t, at("sparse.json"), "{")
	if err := os.Truncate(at("sparse.json"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fifo", at("fifo.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", at("zero.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run.json", "best.json", "from.json", "journal.jsonl", "kernel/kernel.json", "data/data.json"} {
		for kind, make := range map[string]func(string) error{
			"zero":   func(path string) error { return os.Symlink("/dev/zero", path) },
			"fifo":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"sparse": func(path string) error { os.WriteFile(path, nil, 0o644); return os.Truncate(path, 1<<40) },
		} {
			path := at(kind + "-" + strings.ReplaceAll(name, "/", "-") + "/" + name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "/") {
				writeText(t, at(kind+"-"+strings.ReplaceAll(name, "/", "-")+"/run.json"), "{}")
			}
		}
	}
	type boundedCase struct{ args, want string }
	cases := []boundedCase{
		{"space /dev/zero", "is not a regular file"},
		{"space ./zero.yaml", "is not a regular file"},
		{"check /dev/zero", "is not a regular file"},
		{"check zero.yaml", "is not a regular file"},
		{"check fifo.yaml", "is not a regular file"},
		{"space ./fifo.yaml", "empty"},
		{"run -c /dev/zero", "is not a regular file"},
		{"run -c ./fifo.yaml", "empty"},
		{"run --data /dev/zero", "is not a regular file"},
		{"run --data fifo", "ends too early"},
		{"run --evals 1 --from /dev/zero", "is not a regular file"},
		{"run --evals 1 --from fifo", "ends too early"},
		{"import /dev/zero", "is not a regular file"},
		{"export /dev/zero --format t4", "is not a regular file"},
		{"sim /dev/zero", "is not a regular file"},
		{"sim --vectors /dev/zero", "is not a regular file"},
		{"verify /dev/zero", "is not a regular file"},
		{"explain /dev/zero", "is not a regular file"},
		{"bench search --data /dev/zero", "is not a regular file"},
		{"check header.yaml", "more than 64 MiB"},
		{"check fill.yaml", "is not a regular file"},
		{"check files.yaml", "is not a regular file"},
		{"run --data sparse.json", "more than 1 GiB"},
		{"import sparse.json", "more than 1 GiB"},
		{"run --evals 1 --from sparse.json", "more than 1 GiB"},
		{"sim sparse.json", "more than"},
		{"run --data zero.json.gz", "when it is decompressed"},
		{"run --data dense.json.gz", ""},
		{"run --data blank.json.gz", "when it is decompressed"},
		{"run --data values.json.gz", "when it is decompressed"},
		{"import t1.json.gz", "when it is decompressed"},
		{"import cache.json.gz", "when it is decompressed"},
		{"space ./t1.json.gz", "when it is decompressed"},
		{"import t4.json.gz", "when it is decompressed"},
		{"run --evals 1 --from t4.json.gz", "when it is decompressed"},
		{"export t4.json.gz --format t4", "when it is decompressed"},
		{"sim --vectors vectors.json.gz", "more than"},
		{"check wide.yaml", "more than 2 MiB"},
		{"run -c ./wide.yaml", "more than 2 MiB"},
		{"space ./wide.yaml", "more than 2 MiB"},
		{"check near.yaml", ""},
		{"check deep.yaml", "depth"},
		{"space ./deep.yaml", "depth"},
		{"run -c ./deep.yaml", "depth"},
		{"check deep-expression.yaml", ""},
		{"space ./deep-space.yaml", ""},
		{"check deep-length.yaml", ""},
		{"import deep.json", "nest deeper"},
		{"import deep-cache.json", "nest deeper"},
		{"run --data deep.json", "nest deeper"},
		{"sim deep.json", ""},
		{"verify deep.json", ""},
		{"import t1.json", ""},
		{"verify empty-artifacts.json", ""},
		{"check laughs.yaml", ""},
		{"space ./laughs-space.yaml", ""},
		{"run -c ./laughs.yaml", ""},
		{"check circle.yaml", ""},
		{"run -c ./circle.yaml", ""},
		{"resume zero-run.json", ""},
		{"resume fifo-run.json", ""},
		{"resume sparse-run.json", "more than 4 MiB"},
		{"export zero-run.json", ""},
		{"verify zero-best.json", "leads out of"},
		{"verify fifo-best.json", "is not a regular file"},
		{"verify sparse-best.json", "more than 4 MiB"},
		{"resume zero-kernel-kernel.json", "leads out of"},
		{"resume fifo-kernel-kernel.json", "is not a regular file"},
		{"resume sparse-kernel-kernel.json", "more than 4 MiB"},
		{"replay zero-data-data.json", "leads out of"},
		{"replay fifo-data-data.json", "is not a regular file"},
	}
	if largestFiles {
		cases = append(cases, []boundedCase{
			{"space ./near-space.yaml", ""},
			{"run -c ./near-settings.yaml", ""},
		}...)
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.args, "/", "_"), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "tune", strings.Fields(c.args)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), heapVariable+"=", "XDG_STATE_HOME="+at("state"))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			began := time.Now()
			err := cmd.Run()
			text := out.String()
			if len(text) > 4000 {
				t.Errorf("it says %d bytes", len(text))
				text = text[:4000]
			}
			if _, ended := err.(*exec.ExitError); !ended || cmd.ProcessState.ExitCode() < 0 {
				t.Fatalf("%v after %v:\n%s", err, time.Since(began), text)
			}
			if !strings.Contains(text, c.want) || strings.Contains(text, "goroutine ") {
				t.Errorf("it does not say %q:\n%s", c.want, text)
			}
			most := int64(mostMemory)
			if largestFiles && strings.Contains(c.args, "dense") {
				most *= 3 // for all the values that a file may have
			}
			if used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; used > most {
				t.Errorf("it took %d MiB:\n%s", used>>20, text)
			}
		})
	}
}
