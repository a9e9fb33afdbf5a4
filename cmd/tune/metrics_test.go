package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tune/sim"
)

// goFiles calls f with each Go file below some folders of the repository that is no test.
func goFiles(t *testing.T, f func(*ast.File), folders ...string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				f(parsed)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// quotedIn returns a text that stands in Go as it is; "" for any other expression.
func quotedIn(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value) // the parser has read it
	return text
}

// namedIn returns the texts that composite literals of a type have as their Name.
func namedIn(f *ast.File, typeName string) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		of := list.Type
		if array, ok := of.(*ast.ArrayType); ok {
			of = array.Elt
		}
		if s, ok := of.(*ast.SelectorExpr); !ok || s.Sel.Name != typeName {
			return true
		}
		ast.Inspect(list, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Name" && quotedIn(pair.Value) != "" {
					out = append(out, quotedIn(pair.Value))
				}
			}
			return true
		})
		return false
	})
	return out
}

// TestGuideMetrics: the guide says what each metric means, each column of the csv that it shows, and each file that kernels export.
func TestGuideMetrics(t *testing.T) {
	data, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, results, _ := strings.Cut(string(data), "\n## Read the results\n")
	results, _, found := strings.Cut(results, "\n## ")
	if !found {
		t.Fatal("the guide has no section on results")
	}
	has := func(what, name string) {
		t.Helper()
		for line := range strings.Lines(results) {
			if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(line, "| ") && strings.Contains(cell, "`"+name+"`") {
				return
			}
		}
		t.Errorf("no table on results in docs/guide.md says what the %s %s is", what, name)
	}
	metrics, exports := 0, 0
	goFiles(t, func(f *ast.File) {
		for _, d := range f.Decls {
			constants, ok := d.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, s := range constants.Specs {
				one := s.(*ast.ValueSpec)
				for i, name := range one.Names {
					if strings.HasPrefix(name.Name, "Metric") && i < len(one.Values) {
						metrics++
						has("metric", quotedIn(one.Values[i]))
					}
				}
			}
		}
		for _, name := range namedIn(f, "Metric") {
			metrics++
			has("metric", name)
		}
		for _, name := range namedIn(f, "Artifact") {
			exports++
			if name != "kernel.h" { // which shares its line with kernel.c
				has("file", "best."+name)
			}
		}
	}, "space", "kernels")
	if metrics < 18 || exports < 6 {
		t.Errorf("%d metrics and %d files were found: does the test still read the code?", metrics, exports)
	}
	for e := range sim.Debug {
		has("metric", e.String())
	}
	has("metric", "floor")
	_, columns, _ := strings.Cut(results, "\nnumber,")
	columns, _, _ = strings.Cut(columns, ",LANES")
	for name := range strings.SplitSeq("number,"+columns, ",") {
		has("column", name)
	}
}
