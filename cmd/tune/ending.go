package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Endings of the names of files, which say what is in them.
var (
	tables   = []string{"csv", "svg", "png"} // of an export, each the name of its format
	pages    = map[string]string{"html": "html", "htm": "html", "md": "md", "markdown": "md"}
	programs = []string{"c", "h", "cc", "cpp", "cxx", "hpp", "cu", "sh"}
	others   = []string{"csv", "doc", "docx", "gz", "json", "pdf", "png", "svg", "tsv", "xlsx", "yaml", "yml"} // than pages
)

// endingOf returns the ending of a file's name in small letters, without the dot.
func endingOf(path string) string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
}

// exportFormat returns the format of an export to a file: the one of --format, if that is given, else the one that the name ends in. It
// refuses a name that says something else than what would be in the file.
func exportFormat(format, output string, given bool) (string, error) {
	ending := endingOf(strings.TrimSuffix(output, ".gz"))
	table := slices.Contains(tables, ending)
	switch {
	case output == "" || format == libraryFormat:
	case table && !given:
		return ending, nil
	case table && ending != format, ending == "json" && slices.Contains(tables, format):
		return "", fmt.Errorf("--output: %s is the name of a %s file, and --format says %s: leave --format out, or write a file with another ending", output, ending, format)
	case pages[ending] != "" || ending == "pdf":
		return "", fmt.Errorf("--output: %s: an export is no page: 'tune report' writes .html and .md", output)
	case !given && slices.Contains(programs, ending):
		return "", fmt.Errorf("--output: %s: say by --format what to write: program is the source of the best point, and library a header and a source to link", output)
	}
	return format, nil
}

// reportFormat is exportFormat for a report.
func reportFormat(format, output string, given bool) (string, error) {
	ending := endingOf(output)
	meant := pages[ending]
	switch {
	case slices.Contains(others, ending):
		return "", fmt.Errorf("--output: %s: a report is a page: write a file that ends in .html or .md", output)
	case meant != "" && !given:
		return meant, nil
	case meant != "" && meant != format:
		return "", fmt.Errorf("--output: %s is the name of a %s file, and --format says %s: leave --format out, or write a file with another ending", output, meant, format)
	}
	return format, nil
}
