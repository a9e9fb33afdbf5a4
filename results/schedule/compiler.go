package schedule

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"tune/internal/files"
	"tune/kernels"
	"tune/results"
)

// buildFile ends the names of the files that say how a program was built.
const buildFile = "build.json"

// compilerOf returns the compiler that the files beside a schedule name; "" where they name none, or were changed.
func compilerOf(dir string, s results.Schedule) string {
	for _, a := range s.Artifacts {
		if !strings.HasSuffix(a.Name, "."+buildFile) || a.Verify(dir) != nil {
			continue
		}
		if text, err := files.In(dir).Read(a.Name, files.Settings); err == nil {
			return compilerIn(text)
		}
	}
	return ""
}

// compilerOfBuilt returns the compiler of a candidate that was built here; "" where it has none.
func compilerOfBuilt(c kernels.Candidate) string {
	artifacts, err := c.Artifacts()
	if err != nil {
		return ""
	}
	for _, a := range artifacts {
		var text bytes.Buffer
		if strings.HasSuffix(a.Name, buildFile) && a.Write(&text) == nil {
			return compilerIn(text.Bytes())
		}
	}
	return ""
}

// compilerIn returns the compiler that the text of such a file names; "" where it names none.
func compilerIn(text []byte) string {
	var built struct{ Compiler, Version string }
	if json.Unmarshal(text, &built) != nil {
		return ""
	}
	return cmp.Or(built.Version, built.Compiler)
}
