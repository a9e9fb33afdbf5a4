package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune"
	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels/native"
	"tune/results"
	"tune/results/schedule"
	"tune/space"
)

// libraryFormat is the format of an export that consists of two files.
const libraryFormat = "library"

func exportFormats() []string { return append(slices.Clone(tune.Formats), libraryFormat) }

// exportLibrary writes the winner of a run as a header and a source into a folder.
func (a *app) exportLibrary(ctx context.Context, e schedule.Exporter, dir, name, folder string, quiet bool) error {
	if err := checkFolder(folder); err != nil {
		return err
	}
	n := newNotice(a, quiet)
	n.brief = true
	e.Progress = n.measuring
	schedule, texts, err := e.Files(ctx, dir)
	n.end()
	if err != nil {
		return err
	}
	var program, build []byte
	for i, f := range schedule.Artifacts {
		switch {
		case i == 0:
			program = texts[f.Name]
		case strings.HasSuffix(f.Name, ".build.json"):
			build = texts[f.Name]
		}
	}
	if build == nil {
		return fmt.Errorf("kernel %s is no function in C: a library is of kernels that are; export its program, --format program", schedule.Kernel)
	}
	if name == "" {
		name = libraryName(schedule)
	}
	l, err := native.NewLibrary(program, build, name, aboutLibrary(schedule))
	if err != nil {
		// With another name it shows whether the name or the run is at fault.
		if _, other := native.NewLibrary(program, build, plainName, ""); other == nil {
			return usage(fmt.Errorf("--prefix: %w", err))
		}
		return fmt.Errorf("%s: %w", dir, err)
	}
	folder = cmp.Or(folder, ".")
	header, source := filepath.Join(folder, l.HeaderName), filepath.Join(folder, l.SourceName)
	err = os.MkdirAll(folder, 0o777)
	if err == nil {
		err = files.Write(header, l.Header)
	}
	if err == nil {
		err = files.Write(source, l.Source)
	}
	if err != nil {
		return unmade("output", folder, err)
	}
	var command []string
	for _, word := range l.Command {
		command = append(command, plain.ShellWord(word))
	}
	if _, err = fmt.Fprintf(a.stdout, "%s\n%s\nbuild     %s\n", header, source, strings.Join(command, " ")); err != nil || schedule.Repacking == nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "repacking %s: call %s_pack, as %s says\n", plain.Line(schedule.Repacking.String()), name, header)
	return err
}

// plainName is a name that every library can have.
const plainName = "kernel"

// checkFolder refuses the name of a file where the folder of a library is wanted.
func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	isFile := err == nil && !info.IsDir()
	if ext := filepath.Ext(folder); isFile || err != nil && slices.Contains([]string{".c", ".h", ".cc", ".cpp", ".o", ".so", ".a"}, ext) {
		name := strings.TrimSuffix(filepath.Base(folder), ext)
		return usage(fmt.Errorf("--output: %s is a file, and a library is two of them: write the folder, --output %s, and --prefix NAME for their names, such as --prefix %s",
			folder, filepath.Dir(folder), name))
	}
	return nil
}

// libraryName makes the name of a function from kernel and shape: gemm_f32_m512_n512_k512.
func libraryName(s *results.Schedule) string {
	text := s.Kernel
	for field := range strings.SplitSeq(s.Shape, ",") {
		if name, value, ok := strings.Cut(field, "="); ok {
			text += "_" + name + value
		}
	}
	name := strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, text)
	if name[0] < 'A' {
		name = "k" + name
	}
	return name
}

// aboutLibrary says where a library comes from, in one line.
func aboutLibrary(s *results.Schedule) string {
	text := strings.TrimSpace(s.Kernel+" "+s.Shape) + ": " + space.Unit(s.Unit).Words(s.Cost)
	if s.Ratio > 0 && s.Key != s.Baseline.Key {
		text += fmt.Sprintf(", %s %s as the baseline", times(s.Ratio), space.Unit(s.Unit).Compared())
	}
	return fmt.Sprintf("%s on %s; tune %s, run %s", text, s.Machine.CPU, s.ToolVersion, s.Run)
}
