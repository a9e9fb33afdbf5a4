package strategies_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tune/search/strategies"
)

// TestDocs: the page on strategies lists the constants as they are; -update writes them there.
func TestDocs(t *testing.T) {
	var b strings.Builder
	for _, s := range strategies.Table() {
		fmt.Fprintf(&b, "### %s\nVersion %d: %s.\n\n| constant | default | values | what it is |\n| --- | --- | --- | --- |\n", s.Name, s.Version, s.Doc)
		for _, c := range s.Constants {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, c.Format(c.Default), c.Range(), c.Doc)
		}
		b.WriteByte('\n')
	}
	path := filepath.Join("..", "..", "docs", "strategies.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, old, _ := strings.Cut(string(page), "### ")
	want := strings.TrimSuffix(b.String(), "\n")
	if *update {
		if err := os.WriteFile(path, []byte(text+want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if "### "+old != want {
		t.Errorf("%s does not list the constants as they are: write it again by -update", path)
	}
}
