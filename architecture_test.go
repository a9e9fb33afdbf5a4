package tune

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the picture of packages into ARCHITECTURE.md")

// rooms says what the packages of a room may import, by the longest prefix of their path: "" is the root package. A room may
// import itself, and the packages internal/files, internal/guard, internal/linear, internal/orderedjson, internal/pattern and
// internal/plain, which know nothing of tune.
var rooms = map[string][]string{
	"space":                {},
	"sim":                  {},
	"search":               {"space"},
	"search/bench":         {"space", "search", "kernels", "kernels/recorded", "results/earlier", "results"},
	"kernels":              {"space", "sim", "internal/cpu", "internal/counters"},
	"kernels/recorded":     {"space", "kernels", "results"},
	"kernels/asktell":      {"space", "kernels", "results"},
	"kernels/catalog":      {"space", "kernels", "kernels/asktell", "kernels/recorded", "results"},
	"kernels/remote":       {"space", "kernels", "internal/cpu"},
	"kernels/bench":        {"space", "search", "search/bench", "kernels", "results", "results/schedule"},
	"results":              {"space", "internal/cpu"},
	"results/earlier":      {"space", "search", "kernels", "kernels/recorded", "results"},
	"results/schedule":     {"space", "search", "kernels", "results"},
	"results/session":      {"space", "search", "kernels", "results", "results/earlier", "results/schedule"},
	"results/library":      {"space", "search", "kernels", "results", "results/schedule", "results/session"},
	"results/model":        {"space", "search", "kernels", "kernels/bench", "results", "results/schedule", "results/session"},
	"configs":              {"space"},
	"internal/cpu":         {},
	"internal/counters":    {"space"},
	"internal/files":       {},
	"internal/guard":       {},
	"internal/linear":      {},
	"internal/orderedjson": {},
	"internal/pattern":     {},
	"internal/plain":       {},
	"internal/trust":       {"", "space", "search", "kernels", "results", "results/schedule"},
	"":                     {"space", "search", "kernels", "results", "results/earlier", "results/schedule", "results/session"},
	"cmd/tune":             {"", "space", "sim", "search", "search/bench", "kernels", "kernels/asktell", "kernels/remote", "kernels/recorded", "internal/cpu", "kernels/catalog", "kernels/bench", "results", "results/library", "results/model", "results/schedule", "results/session", "configs"},
}

// tools are the rooms that every other one may import.
var tools = []string{"internal/files", "internal/guard", "internal/linear", "internal/orderedjson", "internal/pattern", "internal/plain"}

// roomOf returns the room of a package.
func roomOf(path string) string {
	for {
		if _, ok := rooms[path]; ok || path == "" {
			return path
		}
		at := strings.LastIndexByte(path, '/')
		path = path[:max(at, 0)]
	}
}

// TestArchitecture: the picture of packages in ARCHITECTURE.md is that of the code, and no room imports one that it must not know.
func TestArchitecture(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	short := func(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, "tune"), "/") }
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		ours := slices.DeleteFunc(words[1:], func(path string) bool { return path != "tune" && !strings.HasPrefix(path, "tune/") })
		for i := range ours {
			ours[i] = short(ours[i])
		}
		imports[short(words[0])] = slices.Sorted(slices.Values(ours))
	}
	for path, list := range imports {
		room := roomOf(path)
		for _, other := range list {
			into := roomOf(other)
			if into != room && !slices.Contains(tools, into) && !slices.Contains(rooms[room], into) {
				t.Errorf("%s is of the room %q and imports %s, which is of the room %q", cmp.Or(path, "."), room, other, into)
			}
		}
	}
	want := picture(imports)
	const file, begin, end = "ARCHITECTURE.md", "<!-- packages -->\n```\n", "```\n<!-- end of packages -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no picture between %q and %q", file, begin, end)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s: the picture of packages is not that of the code; go test . -run Architecture -update writes it:\n%s", file, want)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDesignIndex: the list in docs/design names each of its pages once, and nothing else.
func TestDesignIndex(t *testing.T) {
	data, err := os.ReadFile("docs/design/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/design/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, link := range regexp.MustCompile(`(?m)^- \[[^]]+\]\(([a-z-]+\.md)\): `).FindAllStringSubmatch(string(data), -1) {
		got = append(got, link[1])
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" {
			want = append(want, name)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("docs/design/README.md lists %v, and the folder has %v", got, want)
	}
}

// TestRootIsSmall: the root package says what a Go program can do, and leaves the work to the others.
func TestRootIsSmall(t *testing.T) {
	const most = 600
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(data), "\n")
	}
	if lines > most {
		t.Errorf("the root package has %d lines, more than %d: move what a Go program does not call", lines, most)
	}
}

// longFunction is how many lines a function has that says why it is that long, in a sentence of its comment that begins with because.
const (
	longFunction = 90
	because      = "Long because "
)

// TestFunctionsAreShort: a function is short, or it says why it is not.
func TestFunctionsAreShort(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			begin, end := files.Position(f.Pos()), files.Position(f.End())
			said := strings.Contains(strings.Join(strings.Fields(f.Doc.Text()), " "), because)
			switch lines := end.Line - begin.Line + 1; {
			case lines >= longFunction && !said:
				t.Errorf("%v: %s has %d lines: split it where it changes its subject, or let its comment say %q", begin, f.Name.Name, lines, because+"…")
			case lines < longFunction && said:
				t.Errorf("%v: %s has %d lines, which is not long: leave the reason out", begin, f.Name.Name, lines)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPatterns: expressions that are compiled at their first use are right.
func TestPatterns(t *testing.T) {
	seen := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "pattern.Lazy(") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Lazy" || fmt.Sprint(f.X) != "pattern" {
				return true
			}
			seen++
			if value, err := types.Eval(files, nil, token.NoPos, types.ExprString(call.Args[0])); err != nil || value.Value == nil {
				t.Errorf("%v: the expression is no constant: %v", files.Position(call.Pos()), err)
			} else if _, err := regexp.Compile(constant.StringVal(value.Value)); err != nil {
				t.Errorf("%v: %v", files.Position(call.Pos()), err)
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 40 {
		t.Errorf("%d expressions, %v", seen, err)
	}
}

// picture draws packages in levels: each imports packages of the levels above it alone. There is no circle, because Go has none.
func picture(imports map[string][]string) string {
	level := map[string]int{}
	var of func(path string) int
	of = func(path string) int {
		if n, ok := level[path]; ok {
			return n
		}
		n := 0
		for _, other := range imports[path] {
			n = max(n, of(other)+1)
		}
		level[path] = n
		return n
	}
	for path := range imports {
		of(path)
	}
	paths := slices.SortedFunc(maps.Keys(imports), func(a, b string) int {
		return cmp.Or(cmp.Compare(level[a], level[b]), cmp.Compare(a, b))
	})
	var b strings.Builder
	for i, path := range paths {
		if i > 0 && level[path] != level[paths[i-1]] {
			b.WriteByte('\n')
		}
		names := slices.Clone(imports[path])
		for j, name := range names {
			names[j] = cmp.Or(name, ".")
		}
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(fmt.Sprintf("%-32s %s", cmp.Or(path, "."), strings.Join(names, " ")), " "))
	}
	return b.String()
}
