package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// named are messages that name nothing themselves, and what adds the name to them.
var named = map[string]string{
	"is empty":    "settings.blame, and --strategies",
	"interrupted": "nothing was wrong",
	"it is empty: want settings such as budget: 90s, one a line": "newLayer adds the file",
	"it has more than one YAML document: want one":               "newLayer adds the file",
}

// names matches what a message can name: a flag, a file or a value that is filled in, a line, or a command with its argument.
var names = regexp.MustCompile(`--[a-z]|%[a-zA-Z\[]|%\.|'tune `)

// unseen are messages that no script can provoke.
var unseen = []string{
	"%w: try a longer --wait, or --wait 0 to measure at once",                                                                                 // needs a busy machine
	"the measurement could not be verified: repeat it on a quiet machine with 'tune measure %s --wait TIME', or give it more time by --limit", // the same
	"%w: wait for it, or use another --dir",                                                                                                   // needs two runs that begin in the same moment
}

// verbs matches what is filled in.
var verbs = regexp.MustCompile(`%(\[\d\])?[-+.\d]*[a-zA-Z]`)

// provoked reports whether a script or a test has a message: the beginning of its longest part that is not filled in.
func provoked(scripts, text string) bool {
	longest := ""
	for _, part := range verbs.Split(text, -1) {
		if part = strings.Trim(part, " :;,"); len(part) > len(longest) {
			longest = part
		}
	}
	return strings.Contains(scripts, longest[:min(len(longest), 22)])
}

// scripts returns the text of all scripts and tests here, without what quotes need.
func scripts(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"testdata/script/*.txtar", "*_test.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(err)
		}
		for _, name := range found {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if name != "messages_test.go" {
				all.Write(data)
			}
		}
	}
	return strings.NewReplacer("''", "'", "\\", "").Replace(all.String())
}

// TestMessages: each error that the command line makes itself names what is wrong, is one line without a full stop, and is
// provoked by a script.
func TestMessages(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen, all := 0, scripts(t)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			text, ok := errorText(n)
			if !ok {
				return true
			}
			seen++
			if strings.ContainsAny(text, "\n") || strings.HasSuffix(text, ".") || text == "" {
				t.Errorf("%s: not one line without a full stop: %q", set.Position(n.Pos()), text)
			}
			if _, ok := named[text]; !ok && !names.MatchString(text) {
				t.Errorf("%s: it names no file, field or flag: %q", set.Position(n.Pos()), text)
			}
			if !slices.Contains(unseen, text) && !provoked(all, text) {
				t.Errorf("%s: no script provokes it: %q", set.Position(n.Pos()), text)
			}
			return true
		})
	}
	if seen < 100 {
		t.Errorf("only %d messages were found", seen)
	}
}

// errorText returns the text of a call that makes an error.
func errorText(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Errorf", "New"}, f.Sel.Name) {
		return "", false
	}
	if p, ok := f.X.(*ast.Ident); !ok || p.Name != "fmt" && p.Name != "errors" {
		return "", false
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
