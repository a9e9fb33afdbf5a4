package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tune/internal/pattern"
)

// catalogued are the packages whose errors reach users.
var catalogued = []string{
	"", "cmd/tune", "kernels/gguf", "kernels/gofunc", "kernels/library", "kernels/model", "kernels/native", "kernels/user", "results", "results/db",
	"results/exchange", "results/library", "results/model", "results/schedule", "results/session", "search", "search/constant", "search/strategies", "space",
}

// advising are those of these packages that read what people write, so that their messages say what to do. The others read what tune writes: what does
// not fit there is damage, or was changed by hand, and the commands add what helps.
var advising = []string{"cmd/tune", "kernels/gofunc", "kernels/model", "kernels/user", "results/library", "results/model", "search/constant", "search/strategies", "space"}

// maker is a function that makes a message, beside errors.New, fmt.Errorf and methods named Error: at is the position of the text among its
// arguments, and by the adder of what it puts before the text.
type maker struct {
	at int
	by string
}

// makers are the makers of packages. A receiver before the name sets one apart from others of that name.
var makers = map[string]map[string]maker{
	"kernels/user":     {"fault": {1, "place"}, "warn": {1, "place"}, "faultInside": {2, "place"}, "bad": {1, "place"}, "want": {1, "place"}, "fail": {0, "travel"}},
	"kernels/model":    {"at": {1, "model"}},
	"kernels/gguf":     {"fail": {1, "byte"}, "fault": {2, "byte"}},
	"results/library":  {"fault": {1, "library"}},
	"results/exchange": {"wrong": {2, "data"}, "p.fail": {0, "data"}},
	"space":            {"fail": {1, "column"}, "f.fail": {1, "line"}, "w.fail": {0, "formula"}},
}

// adder says who names what is wrong where a message does not, and shows it: text that a script or a test asserts, with such a name and
// message.
type adder struct{ who, shown string }

// message is the text of an error where it is made.
type message struct {
	place string     // file:line
	where string     // what makes it: package.Function, package.Type.Method or package.variable, and Function in the root package
	text  string     // with verbs
	by    string     // the adder of its maker; "" for none
	args  []ast.Expr // what the verbs stand for, as far as the call says
}

// verbs matches what is filled in.
var verbs = pattern.Lazy(`%(?:\[(\d)\])?[-+#.\d]*([a-zA-Z])`)

// words returns the parts of a text that are not filled in.
func (m message) words() []string {
	var out []string
	for _, part := range verbs().Split(strings.ReplaceAll(m.text, "%%", "%"), -1) {
		if part = strings.Trim(part, " :;,()"); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// subjects matches words of a text that say where something is wrong: a flag, a command, a variable, a field, a line, a file.
var subjects = pattern.Lazy(`--[a-z%]|-o %s|-- %s|'tune |\bTUNE_|\bfields? [A-Za-z%]|\b[a-z]+\.[a-z]+|\bOptions\.|\bChanges\.|\bthe (machine|schedule|library B) |\bA (and B|has)\b|\b(line|column|trial|batch|element|row|argument|buffer|kernel|strategy|parameter|point|constraint|space|run|preset|key|peer|command|metric|program|variable) %[a-z.]`)

// subjectVerb matches the names of variables, fields and functions in whose values something is wrong.
var subjectVerb = pattern.Lazy(`(?i)^(args?|.*(path|dir|directory|file|saved|src|formula|key|label|against|strategy|name|names|flag|config|field|commandpath|variable|host|url|folder))$`)

// named reports whether a message names what is wrong: by its words, or by what a verb other than %w stands for.
func (m message) named() bool {
	if subjects().MatchString(m.text) {
		return true
	}
	next := 0
	for _, verb := range verbs().FindAllStringSubmatch(m.text, -1) {
		at := next
		if n, err := strconv.Atoi(verb[1]); err == nil {
			at = n - 1
		}
		if next = at + 1; verb[2] != "w" && at < len(m.args) && isName(m.args[at]) {
			return true
		}
	}
	return false
}

// remedies match what a message says to do, or lists to choose from, or what is there already and has to go.
var remedies = pattern.Lazy(`\b(wants?|write|leave|use|give|choose|name|make|mend|remove|start|continues?|see|did you mean|install|list|put|fix|repeat|try|` +
	`move|add|wait|rename|replace|needs?|takes?|fill|keep|indent|instead|swap|set|state|declare|compare|correct|print|loosen|decompress|unset|only|at most|at least|most|` +
	`longer than|more than|limit|twice|already|unknown|missing|empty|exclude|no effect|there is no|has no|have to|has to|may name|such as|as in)\b|'tune |%s%s|--[a-z-]+ says`)

// advises reports whether a message says what to do, or hands on another message, which does.
func (m message) advises() bool {
	return len(m.words()) == 0 || remedies().MatchString(m.text) || strings.Contains(m.text, "%w") || strings.HasSuffix(m.text, "%s") || strings.HasSuffix(m.text, ": %v")
}

// isName reports whether an expression is the name of something: a variable, a field or the result of a function that is called so,
// or such a one within a call that shows it, such as quoted(path).
func isName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return subjectVerb().MatchString(e.Name)
	case *ast.SelectorExpr:
		return subjectVerb().MatchString(e.Sel.Name)
	case *ast.IndexExpr:
		return isName(e.X)
	case *ast.CallExpr:
		return isName(e.Fun) || slices.ContainsFunc(e.Args, isName)
	}
	return false
}

// literalText returns the text that an expression makes, with verbs for what is filled in, and what they stand for. ok is false where it has
// no text of its own.
func literalText(e ast.Expr) (text string, args []ast.Expr, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", nil, false
		}
		text, err := strconv.Unquote(e.Value)
		return text, nil, err == nil
	case *ast.BinaryExpr:
		left, a, _ := literalText(e.X)
		right, b, _ := literalText(e.Y)
		if left == "" && right == "" {
			return "", nil, false
		}
		if left == "" {
			left, a = "%s", []ast.Expr{e.X}
		}
		if right == "" {
			right, b = "%s", []ast.Expr{e.Y}
		}
		return left + right, append(a, b...), true
	case *ast.CallExpr:
		if name := called(e); name == "fmt.Sprintf" || name == "fmt.Sprint" {
			text, _, ok := literalText(e.Args[0])
			return text, e.Args[1:], ok
		}
	}
	return "", nil, false
}

// called returns the function of a call: its name, or that of a package or receiver and its name.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	}
	return ""
}

// messageOf returns the message that a call makes. ok is false where it makes none, or hands on that of another.
func messageOf(pkg string, call *ast.CallExpr) (m message, ok bool) {
	name := called(call)
	if name == "errors.New" || name == "fmt.Errorf" {
		text, args, ok := literalText(call.Args[0])
		if !ok {
			return message{text: "%s", args: call.Args[:1]}, true
		}
		if name == "errors.New" && len(args) == 0 {
			text = strings.ReplaceAll(text, "%", "%%")
		}
		return message{text: text, args: append(args, call.Args[1:]...)}, true
	}
	by, known := makers[pkg][name]
	if _, short, found := strings.Cut(name, "."); !known && found {
		by, known = makers[pkg][short]
	}
	if !known || by.at >= len(call.Args) {
		return message{}, false
	}
	text, args, ok := literalText(call.Args[by.at])
	if strings.HasSuffix(name, ".want") {
		text = "want " + text
	}
	return message{text: text, args: append(args, call.Args[by.at+1:]...), by: by.by}, ok
}

// messagesOf returns the messages of a package.
func messagesOf(t *testing.T, root, pkg string) []message {
	names, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no source: %v", pkg, err)
	}
	var out []message
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			where := strings.TrimPrefix(pkg+"."+declared(d), ".")
			add := func(n ast.Node, m message) {
				m.place, m.where = fmt.Sprintf("%s:%d", filepath.Join(pkg, filepath.Base(name)), set.Position(n.Pos()).Line), where
				out = append(out, m)
			}
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if m, ok := messageOf(pkg, call); ok {
					add(call, m)
				}
				return true
			})
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Error" {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
					if text, args, ok := literalText(r.Results[0]); ok && text != "" {
						add(r, message{text: text, args: args})
					}
				}
				return true
			})
		}
	}
	return out
}

// declared returns the name of what a declaration declares: Function, Type.Method, or the first variable.
func declared(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		recv := d.Recv.List[0].Type
		if star, ok := recv.(*ast.StarExpr); ok {
			recv = star.X
		}
		if generic, ok := recv.(*ast.IndexExpr); ok {
			recv = generic.X
		}
		return recv.(*ast.Ident).Name + "." + d.Name.Name
	case *ast.GenDecl:
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return ""
}

// asserts matches a line of a script that wants a text in what tune says.
var asserts = pattern.Lazy(`^(?:\[[^]]*\] +)?(mistake|misuse|fault|stderr|stdout|grep|json)\b`)

// assertions returns what scripts and tests compare, one a line: the lines of scripts that must match, the files that scripts compare output
// with, and the literals of tests, but not the comments of either.
func assertions(t *testing.T, root string) string {
	var all strings.Builder
	plainly := strings.NewReplacer("''", "'", "\\", "")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			archive := txtar.Parse(data)
			for line := range strings.SplitSeq(string(archive.Comment), "\n") {
				if asserts().MatchString(line) {
					all.WriteString(plainly.Replace(line) + "\n")
				}
				for _, f := range archive.Files {
					if words := strings.Fields(line); len(words) == 3 && words[0] == "cmp" && words[2] == f.Name {
						all.WriteString(plainly.Replace(string(f.Data)))
					}
				}
			}
		case strings.HasSuffix(path, "_test.go") && d.Name() != "messages_test.go":
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						all.WriteString(plainly.Replace(strings.ReplaceAll(text, "\n", " ")) + "\n")
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// provoked reports whether an assertion has a message: the beginning of its longest part that is not filled in, or of another long one. A
// text without words of its own only adds a name to another message.
func (m message) provoked(asserted string) bool {
	const long, enough = 16, 22
	parts := m.words()
	slices.SortStableFunc(parts, func(a, b string) int { return len(b) - len(a) })
	for i, part := range parts {
		part = strings.ReplaceAll(part, "\\", "")
		if (i == 0 || len(part) >= long) && strings.Contains(asserted, part[:min(len(part), enough)]) {
			return true
		}
	}
	return len(parts) == 0 || !strings.ContainsAny(parts[0], "abcdefghijklmnopqrstuvwxyz")
}

// TestMessageRules: what the catalogue takes for a name, for a remedy and for a proof.
func TestMessageRules(t *testing.T) {
	messages := func(text string) []message {
		dir := t.TempDir()
		source := "package p\nfunc f() error { return " + text + " }\n"
		if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		return messagesOf(t, dir, "")
	}
	for _, c := range []struct {
		text                     string
		named, advises, provoked bool
	}{
		{`fmt.Errorf("bad: %w", err)`, false, true, false},
		{`fmt.Errorf("it is %v: want 3", v)`, false, true, false},
		{`fmt.Errorf("%s is no number of the right kind", path)`, true, false, true},
		{`fmt.Errorf("--seed: %w", err)`, true, true, false},
		{`errors.New("field jobs is " + text + ": want 1 or more")`, true, true, true},
		{`errors.New(text)`, false, true, true},
	} {
		all := messages(c.text)
		if len(all) != 1 || all[0].where != "f" {
			t.Errorf("%s: %d messages", c.text, len(all))
			continue
		}
		asserted := "stderr '^x is no number of the right kind$'\nwant 1 or more\n"
		if m := all[0]; m.named() != c.named || m.advises() != c.advises || m.provoked(asserted) != c.provoked {
			t.Errorf("%s: named %t, advises %t, provoked %t", c.text, m.named(), m.advises(), m.provoked(asserted))
		}
	}
	dir := t.TempDir()
	script := "# a comment\nmistake 1 'it is said' -- tune\n! stderr 'not this'\ncmp stdout want.txt\n-- want.txt --\ncompared\n-- other.txt --\nleft\n"
	code := "package p\n\n// comment\nvar x = \"a literal\"\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a.txtar"), []byte(script), 0o666), os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(code), 0o666)); err != nil {
		t.Fatal(err)
	}
	if got, want := assertions(t, dir), "mistake 1 'it is said' -- tune\ncompared\na literal\n"; got != want {
		t.Errorf("the assertions are %q, want %q", got, want)
	}
}

// TestMessages: each error that reaches users is one line without a full stop; names what is wrong, or is made where another function is
// known to add the name; says what to do, or is known to need no such words; and is provoked by a script or a test.
func TestMessages(t *testing.T) {
	const root = "../.."
	asserted := assertions(t, root)
	use := map[string]bool{} // of the entries of the tables
	for _, pkg := range catalogued {
		all := messagesOf(t, root, pkg)
		for _, m := range all {
			if strings.HasSuffix(m.text, ".") && !strings.HasSuffix(m.text, " .") || m.text == "" || strings.Contains(m.text, "\n") {
				t.Errorf("%s: %s: not one line without a full stop: %q", m.place, m.where, m.text)
			}
			if !m.named() {
				by := m.by
				if by == "" {
					by = added[m.where]
					use[m.where] = true
				}
				if _, ok := adders[by]; !ok {
					t.Errorf("%s: %s: it names no file, field or flag: %q", m.place, m.where, m.text)
				}
				use[by] = true
			}
			if slices.Contains(advising, pkg) && !m.advises() {
				if evident[m.text] == "" {
					t.Errorf("%s: %s: it says not what to do: %q", m.place, m.where, m.text)
				}
				use["evident "+m.text] = true
			}
			if !m.provoked(asserted) {
				if unseen[m.text] == "" {
					t.Errorf("%s: %s: no script and no test provokes it: %q", m.place, m.where, m.text)
				}
				use["unseen "+m.text] = true
			}
		}
		if least := map[string]int{"cmd/tune": 250, "kernels/user": 200, "space": 200}[pkg]; len(all) <= least {
			t.Errorf("%s: only %d messages were found", pkg, len(all))
		}
	}
	for by, a := range adders {
		if !use[by] {
			t.Errorf("nothing needs the adder %q", by)
		}
		if !strings.Contains(asserted, strings.ReplaceAll(a.shown, "\\", "")) {
			t.Errorf("no script and no test shows what %q adds: %q", by, a.shown)
		}
	}
	for where := range added {
		if !use[where] {
			t.Errorf("%s makes no message without a name", where)
		}
	}
	for text := range evident {
		if !use["evident "+text] {
			t.Errorf("it says what to do, or is not there: %q", text)
		}
	}
	for text := range unseen {
		if !use["unseen "+text] {
			t.Errorf("it is provoked, or not there: %q", text)
		}
	}
}

// adders are those who name what is wrong where messages do not.
var adders = map[string]adder{
	"place":     {"the reader of kernel files: file, line, column and field", `my.yaml:2:9: kernel.name: "de mo": want letters, digits`},
	"data":      {"exchange.Error: file, line, column and field", "bad.json:4:3: rows[0][0][0]: want a position in the values of a"},
	"column":    {"space.ExprError: the column and the expression, to which readers add the line and the field", `space "x": constraint 1: column 6: a string cannot be compared`},
	"line":      {"the reader of spaces: line and field", `line 3: to: parameter "a" of type int needs it`},
	"formula":   {"space.NoCError, or the formula that needs the value: the formula", "space.constraints: rows ** 2 > STEP: a power"},
	"space":     {"space.New: the space, and the parameter or constraint", `space "x": it has no parameters`},
	"parameter": {"those who read a value: the parameter, or the line", `parameter "lanes": 18446744073709551615 does not fit`},
	"outcome":   {"the journal: the trial, and the line", "journal:3: trial 0: it has no status"},
	"objective": {"--objective, or the field objectives", `--objective: "cost:maximise": the cost is minimised`},
	"metrics":   {"--metrics, or the field metrics", `--metrics: "size" is there twice`},
	"pick":      {"--pick", `--pick: "cheap" is nothing to pick by`},
	"target":    {"--target, or the setting", `--target: "100us": costs are in Melem/s`},
	"document":  {"those who read a space: its file", "broken.yaml: read space: line 1: "},
	"flag":      {"settings.blame and the commands: the flag, the file with the line, or the variable", "--budget: 1 has no unit: write 1s"},
	"layer":     {"newLayer: the file", "empty.yaml: it is empty: want settings such as budget: 90s"},
	"journal":   {"results.LineError: the journal, and the line", "journal:2: the record is of 0 kinds rather than one"},
	"json":      {"those who read a file of tune's: the file", "b/best.json: not valid JSON"},
	"system":    {"errors of the system: the file or folder", "cannot save the kernel: mkdir "},
	"wrapped":   {"the error that it wraps: a file, a run, a kernel, a point", "mistake 1 'a holds a run already' 'tune resume a'"},
	"steps":     {"tune verify: what it looks at", "FAILED +no argument is repacked: field repacking says"},
	"candidate": {"the evaluator: the status, and those who show it the kernel and the point", "the baseline of kernel broken: crashed: "},
	"origin":    {"those who ask whether to run code: the directory", "mine is not known to be made here: this user has no signed run on this machine yet"},
	"run":       {"those who open a run: its directory, or its kernel", "kernel treehash: the costs are exact: there is nothing to measure"},
	"result":    {"the commands: the run, and how to see what failed", "no candidate was valid: see 'tune export runs/wrong"},
	"program":   {"tune sim: the file", "list.json: not golden vectors"},
	"fidelity":  {"search.Run: the point that the strategy asked for", `asked for "n=4" at fidelity 1: this kernel has the fidelities 0 to 0`},
	"byte":      {"the reader of GGUF files: the file and the byte", "byte 4: version 1: want 2 or 3"},
	"library":   {"the reader of a library's file: file, line and field", "lib.yaml:3: tasks[0].kernel: it is missing"},
	"function":  {"those who make a library: its file or folder, and the function", "with LANES=1 opt=-mavx: the flag -mavx: no function of a library finds out"},
	"model":     {"those who read a model: its file", `experts.json:1:2: the family "mixtral" is not known`},
	"index":     {"the index of runs: its file", "full: the index of runs: it is a folder: name a file"},
	"settings":  {"the settings of a search, which a program has made", "search: Settings.Jobs is -1: want 1 or more, or 0 for one"},
	"nothing":   {"nobody: nothing is wrong", "interrupted: continue with 'tune resume"},
}

// added are functions that make messages without a name, and who adds it.
var added = map[string]string{
	"Func": "wrapped", "funcResult": "wrapped",

	"cmd/tune.strategyTexts": "flag", "cmd/tune.parseOff": "flag", "cmd/tune.parseChoice": "flag", "cmd/tune.parsePercent": "flag",
	"cmd/tune.progressFlag.Set": "flag", "cmd/tune.settings.blame": "flag",
	"cmd/tune.settingTable": "flag", "cmd/tune.text": "flag", "cmd/tune.parseSeed": "flag", "cmd/tune.parseCount": "flag", "cmd/tune.parseDuration": "flag",
	"cmd/tune.parseConfig": "layer", "cmd/tune.errEmpty": "layer", "cmd/tune.yamlError": "layer",
	"cmd/tune.adviseFullBy": "wrapped", "cmd/tune.adviseRun": "wrapped", "cmd/tune.app.finishMeasure": "wrapped", "cmd/tune.app.initCommand": "system", "cmd/tune.app.lookup": "wrapped",
	"cmd/tune.app.pointOf": "wrapped", "cmd/tune.app.resumeCommand": "wrapped", "cmd/tune.app.workerCommand": "wrapped", "cmd/tune.app.runWorker": "wrapped", "cmd/tune.app.workersCommand": "wrapped", "cmd/tune.app.verifyLibrary": "wrapped", "cmd/tune.app.verifyModel": "wrapped",
	"cmd/tune.asking.carry": "wrapped", "cmd/tune.lookForFiles": "system", "cmd/tune.programAt": "wrapped", "cmd/tune.app.checkVectors": "program",
	"cmd/tune.damaged": "wrapped", "cmd/tune.flagError": "wrapped", "cmd/tune.app.execute": "nothing", "cmd/tune.app.manCommand": "system",

	"limits": "settings",

	"kernels/user.encodeText": "place", "kernels/user.parseJSONPath": "place", "kernels/user.noPoint": "place", "kernels/user.expr.number": "place",
	"kernels/user.expr.whole": "place", "kernels/user.argument.content": "place", "kernels/user.source.shapeCase": "place", "kernels/user.source.work": "place",
	"kernels/user.computable": "place", "kernels/user.readPlace": "place",
	"kernels/user.commandProblem.placeErrands": "system", "kernels/user.Kernel.Save": "system",
	"kernels/user.commandCandidate.sample": "candidate", "kernels/user.goneError.Error": "candidate", "kernels/user.commandProblem.finish": "candidate",
	"kernels/user.metric.cost": "candidate", "kernels/user.metric.match": "candidate",
	"kernels/user.metric.walk": "candidate", "kernels/user.parseNumber": "candidate", "kernels/user.decodeJSON": "candidate",

	"kernels/gguf.fault":            "byte",
	"kernels/library.Library.check": "function", "kernels/library.Function.check": "function", "kernels/library.Function.checkPlain": "function",
	"kernels/library.Function.checkLinkage": "function", "kernels/library.Function.checkTree": "function", "kernels/library.Function.checkPredictor": "function", "kernels/library.checkSource": "function",
	"kernels/model.FamilyError.Error": "model", "kernels/model.Config.Scenarios": "model", "kernels/model.origin.at": "model", "kernels/model.origin.explain": "model",
	"kernels/native.Problem.Load": "wrapped", "kernels/user.scratch.blame": "wrapped", "kernels/native.splitProgram": "wrapped", "kernels/native.candidate.asked": "wrapped",
	"kernels/native.Problem.Compare": "wrapped", "kernels/native.Problem.Survey": "wrapped", "kernels/native.errManner": "wrapped", "kernels/native.rounds.open": "wrapped",
	"kernels/native.rounds.leave": "wrapped", "kernels/native.rounds.refuseImpossible": "wrapped", "kernels/native.rounds.measurePeak": "wrapped", "kernels/native.errGauge": "wrapped",
	"kernels/native.buildHarness": "wrapped", "kernels/native.packParameters": "wrapped", "kernels/native.Problem.Symbols": "wrapped",
	"kernels/native.errNoHost": "wrapped", "kernels/native.RoomError.Error": "wrapped", "kernels/native.Host.probePeaks": "wrapped",
	"kernels/native.New": "wrapped", "kernels/native.allSymbols": "wrapped", "kernels/native.Host.Roofs": "wrapped",
	"kernels/native.candidate.codeBytes": "wrapped", "kernels/native.newVariants": "wrapped", "kernels/native.watch.begin": "wrapped",
	"results.withRemedy": "wrapped", "results.withoutJournal": "wrapped",
	"results/db.ErrUnknown": "index", "results/db.open": "index", "results/db.errForeign": "index", "results/db.DB.whole": "index",
	"results/library.maker.build": "wrapped", "results/library.Beside.function": "function", "results/library.Beside.functions": "function", "results/library.Beside.peers": "function",
	"results/library.ComparedShape.measure": "function", "results/library.Task.tolerated": "library", "results/library.task.settle": "function",
	"results/library.settled.judge": "function", "results/library.task.nameSymbols": "function", "results/library.task.plainForm": "function",
	"results/library.field.some": "function", "results/library.field.survey": "function", "results/library.field.score": "function", "results/library.field.compare": "function",
	"results/library.field.confirm": "function", "results/library.planner.represent": "library",
	"results/model.UnfitError.Error": "model", "results/model.NewPlan": "model",
	"search.Settings.Validate": "settings", "search.errTimeSpent": "settings", "search.run.ask": "settings",

	"results.create": "system", "results.begin": "system", "results.checkFree": "system", "results.acquireLock": "system",
	"results.MadeHere": "origin", "results.stateKey": "origin", "results.OpenJournal": "system", "results.knownJSON": "json", "results.explainJSON": "json",
	"results.checkOutcome": "outcome", "results.checkEnd": "journal", "results.checkSealedHeader": "journal", "results.cursor.member": "journal",
	"results.cursor.name": "journal", "results.errDeleted": "journal", "results.errForm": "journal", "results.errRubbish": "journal",
	"results.ledger.admit": "journal", "results.lineFormat.decodeShape": "journal", "results.openSummary": "journal", "results.scanner.take": "journal",
	"results.sealedFormat.decode": "journal", "results.tooLong": "journal", "results.unknownFormat": "journal",
	"results/exchange.Error.Error": "data", "results/exchange.Expand": "data", "results/exchange.File.read": "data", "results/exchange.errEnds": "data",
	"results/exchange.unescape": "data",
	"results/schedule.ErrExact": "run", "results/schedule.saved": "wrapped",
	"results/schedule.ErrNoValid": "result", "results/schedule.Exporter.ready": "wrapped", "results/schedule.Exporter.Export": "flag",
	"results/schedule.verifier.saved": "steps", "results/session.Session.check": "fidelity", "search/strategies.Recorded": "wrapped",

	"space.Space.explainEmpty": "space", "space.define": "space", "space.fromRows": "space", "space.checkText": "space", "space.checkName": "space",
	"space.Parameter.normalise": "space", "space.Parameter.checkGrid": "space", "space.normaliseValues": "space", "space.Grid.Validate": "space",
	"space.Space.findFirst": "space", "space.Value.validate": "space", "space.ValueOf": "parameter", "space.parseNumber": "parameter",
	"space.Outcome.Validate": "outcome", "space.ParseStatus": "journal", "space.ParseGoals": "objective", "space.ParseMeasured": "metrics", "space.Goals.Lacking": "objective",
	"space.ParsePick": "pick", "space.ErrNoPick": "pick", "space.Unit.Parse": "target", "space.decode": "document",
	"space.fields.fail": "line", "space.ErrInactive": "formula", "space.Space.given": "wrapped",
}

// unseen are messages that no script and no test can provoke, and why.
var unseen = map[string]string{
	"%w: try a longer --wait, or --wait 0 to measure at once":                                                                                 busy,
	"the measurement could not be verified: repeat it on a quiet machine with 'tune measure %s --wait TIME', or give it more time by --limit": busy,
	"the measurement could not be verified: repeat it when the machine of worker %s is quiet, or give it more time by --limit":                busy,
	"the new measurement could not be verified: the schedule keeps the earlier one, whose verdict is %q":                                      busy,
	"%w: wait for it, or use another --dir":                                                             "it needs two runs that begin in the same moment",
	"%s does not answer any more: is a NATS server there?":                                              "it needs a server that ends while tune serve asks it",
	"its file %s was changed while it was read: repeat the command":                                     "it needs a file that changes between two reads",
	"%s has become shorter since it was opened":                                                         "the same of a journal",
	"the temporary files of the kernel: %w":                                                             "it needs a folder that goes away while the kernel runs",
	"the directory of command.setup: %w":                                                                "the same",
	"%s: with this file, the files of the kernel are larger than %s together, the limit for one kernel": "it takes more memory than a test may use",
	"an operation has no form in C":                                                                     never,
	"it has no point: no combination satisfies all constraints":                                         never,
	"a parameter has no type":                                                                           never,
	"buffer %s has %d bytes, and the reference %d":                                                      never,
	"{{%s}} names a parameter %w":                                                                       never,
	"the journal is short enough to be read":                                                            never,
	"%s makes no sense":                                                                                 never,
	"%s is not of this journal":                                                                         never,
	"kernel %s has nothing to measure two points with":                                                  never,
	"measuring A and B side by side: %w":                                                                "it needs a machine that fails in the middle of a measurement",
	"measuring in turns with %s: %w":                                                                    "the same",
	"it has %d buffers and the contents of %d":                                                          never,
	"the tree asks for feature %d of %d":                                                                never,
	"the tree compares with %v: want a whole number below 2^62":                                         never,
	"it is no config.json of a model: %w":                                                               never,
	"library: a task without shapes":                                                                    never,
	"native: a point has no case":                                                                       never,
	"native: case %s has %d buffers and %d inputs":                                                      never,
	"native: there is no host to compile and run on: see native.NewHost":                                never,
	"native: space %s has no preset, and so no baseline":                                                never,
	"native: the buffers of the asked case depend on the seed":                                          never,
	"the source does not define tune_pack as tune writes it":                                            never,
	"search: trial %d is recorded in batch %d, which has the trials from %d on":                         never,
	"the file is larger than %d bytes: no kernel is":                                                    "it takes more memory than a test may use",
	"this shape is too large: %w":                                                                       "it takes more memory than a test may use",
	"%s differs between layers: take a model whose layers are alike":                                    "it needs a file whose layers differ, which the tests do not write",
	"an entrant reuses results, or is uneven":                                                           fails,
	"%v, while the disk was full: %w":                                                                   fails,
	"the probe of the peak: %w":                                                                         fails,
	"the probe of the peak: %v":                                                                         fails,
	"the probe of the machine: %v":                                                                      fails,
	"the gauge failed":                                                                                  fails,
	"compiling the timing loop: %w":                                                                     fails,
	"reading a compiled object: %w":                                                                     fails,
	"reading the symbols of %s, which -s leaves out: %w":                                                fails,
	"reading the symbols of %s: %w":                                                                     fails,
	"measuring the peak of this core: %w":                                                               fails,
	"measuring the roofs of this core: %w":                                                              fails,
	"native: the size of the code: %w":                                                                  fails,
	"the schedule of run %s: %w":                                                                        "it needs an index that another program has changed",
	"%s: another process has held the index of runs for %v: %w: wait for it, or name another file by --db":                             "it needs a process that holds the index for longer than a test may take",
	"%s: function %s of the library is another one than that of the file: name by --dir the folder of the library that the file makes": "it needs a library that is built, which takes a compiler and minutes",
	"the library is built by make, which is not installed: %w: install it":                                                             "it needs a machine without make",
	"no other library is installed that computes %s: 'tune peers' lists those that are known, and how to install them":                 "it needs a machine without other libraries",
	"the choice of B at %s: %w":                                             fails,
	"%s: the variant %s: %w":                                                fails,
	"%s: the variant %s %s at %s: %w":                                       fails,
	"%s: the variant %s at %s: %w":                                          fails,
	"%s: no variant could be measured at %s: %s":                            fails,
	"%s: the plain form at %s: %w":                                          fails,
	"%s of %s: %w: another --quant, --batch, --contexts or --prompt may do": fails,
	"%s is missing: remove the line of %s in %s, and it is measured again":  "it needs the library of a model that is built, which takes a compiler and minutes",
	"search: trial %d has no outcome, though the run has not ended: what recorded or observed it ended its goroutine (runtime.Goexit)": "the test of it compares the number of the trial alone",
	"search: recording trial %d: %w": "the test of it compares what it wraps",
	"write space %q: %w":             "the YAML package writes every document",
}

const (
	busy  = "it needs a machine that is busy at the right moments"
	fails = "it needs a compiler, a processor or a variant that fails in the middle of the work"
	never = "code that calls this has made sure of the opposite, or handles the error"
)

// evident are messages that do not say what to do, and why.
var evident = map[string]string{
	"library: a task without shapes":                       program,
	"%d is not in the range %d to %d":                      told,
	"%q is not a finite number":                            told,
	"%q is not a number":                                   told,
	"%q is not an integer from %.0f to %.0f":               told,
	"%q is not an integer from -2^63 to 2^63-1":            told,
	"%q is not an integer from 0 to 2^64-1":                told,
	"%s compares %v with %v":                               told,
	"%s computes with the text %v":                         told,
	"%s divides by zero":                                   told,
	"%s does not answer any more: is a NATS server there?": told,
	"%s holds no program and no tree":                      told,
	"%s is below 0":                                        told,
	"%s is not a directory":                                told,
	"%s is not a regular file":                             told,
	"%s is not a whole number":                             told,
	"%s is not above 0":                                    told,
	"%s is not text":                                       told,
	"%s is of kernel %s, and tune sim runs programs of the VLIW machine, which %s has":             told,
	"%s: %q: %d words from %d are not in scratch, which has %d":                                    told,
	"%scompare the lengths and values of source.arguments with what the function reads and writes": told,
	"%v is not a finite number": told,
	"a library cannot compute with a condition on a parameter that is inactive": told,
	"column %d: %s, in %q":      told,
	"expected a text":           told,
	"its %s is not valid UTF-8": told,
	"kernel %s is no function in C: a library is of kernels that are; export its program, --format program": told,
	"key %q: expected a blank at %q":                                                        told,
	"line %d: %q is not a number, text, true or false":                                      told,
	"line %d: %s does not fit a 64-bit integer":                                             told,
	"not golden vectors: a JSON %s stands where an object is expected":                      told,
	"not golden vectors: field %s: a JSON %s does not fit":                                  told,
	"parameter %q is not a number, string or boolean":                                       told,
	"parameter %q: %q is neither true nor false":                                            told,
	"parameter %q: %q is not an integer":                                                    told,
	"parameter %q: %s is not a quoted string":                                               told,
	"point %.80q has something after its end":                                               told,
	"point %.80q is not a JSON object":                                                      told,
	"the costs of %s are exact: tune run finds them, and there is nothing to measure":       told,
	"the expression ends where a value should stand":                                        told,
	"the expression is nested deeper than %d":                                               told,
	"the range from %v to %v is not one of whole numbers up to 2^53":                        told,
	"the reference leaves %d of the %d elements of %s unwritten: there nothing is compared": told,
	"the string is not valid UTF-8":                                                         told,
	"unexpected %s where a value should stand":                                              told,
	"unexpected character %q":                                                               told,
	"value %q has characters that cannot be printed":                                        told,
	"which is inactive here":                                                                told,
	"%s is %s, which is not a number":                                                       failure,
	"%s is not a number":                                                                    failure,
	"%s removed the directory that it runs in":                                              failure,
	"it is %v, which is not a number":                                                       failure,
	"it printed nothing":                                                                    failure,
	"the metric is %v, which is not a number":                                               failure,
	"the metric is %v, which is too close to 0 for ratios of costs":                         failure,
	"%s is not run": verdict,
	"%s of %d: slower than --slack allows, or broken": verdict,
	"%s: verification failed":                         verdict,
	"interrupted":                                     verdict,
	"%s is the same in all timed calls: a candidate that keeps what it makes of it (packs it once) is scored without that work. At this argument vary: true lets elements trade places, and vary: false accepts it": accepted,
	"all checks and all timed calls are on one input, as the file accepts: a candidate that always gives its result is right, and one that remembers it is scored as fast":                                          accepted,
	"no buffer is filled with random numbers, so that all checks are on one input, and a kernel that always gives its result is right":                                                                              accepted,
	"no input differs between timed calls: a candidate that remembers its result is scored as fast":                                                                                                                 accepted,
	"the files of outputs say nothing about inputs that differ between timed calls, of which none is verified":                                                                                                      accepted,
	"kernel.json: field directory: %q is not an absolute path of a directory":                                                                                                                                       damage,
	"%d does not fit a 64-bit signed integer":      program,
	"a value cannot be a %T":                       program,
	"buffer %s has %d bytes, and the reference %d": program,
	"it has %d ordinals for %d parameters":         program,
	"it took %v s":                                 program,
	"its cost is %v":                               program,
	"its fidelity is %d":                           program,
	"its metric %s is %v":                          program,
	"space %q: %d ordinals for %d parameters":      program,
	"space %q: %d random draws in a row broke a constraint that is too wide to count": program,
	"strategy %s: the function that makes it is nil":                                  program,
	"strategy %s: the function that makes it returned nil":                            program,
	"the zero Value holds nothing":                                                    program,
}

const (
	told     = "what is right follows from what it says, or from what it says is there"
	failure  = "a candidate failed: what is printed of it says what its command has to do"
	verdict  = "it ends a command that has said more above it, or asked"
	accepted = "it warns of what the file accepts, or the fault that goes with it says what to write"
	damage   = "tune wrote the file, which was changed since"
	program  = "only a program can call with it, and its author sees what it called"
)
