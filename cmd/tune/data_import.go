package main

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/results/exchange"
	"tune/space"
)

func (a *app) importCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Read the spaces and measurements of other tuners",
		Long: `import reads a file of another tuner, and writes it in tune's own form:

  - a T1 file, which describes a space, becomes the YAML form of a space (see tune space);
  - a cache file of Kernel Tuner (even if its end is missing) or results in the format T4 become a measured space, which the
    kernel 'recorded' can search (see tune run). Data that only the original format has is kept with each row, so that
    tune export --format kerneltuner, or t4, restores all of it.

The input may be compressed with gzip; the output is if its name ends in .gz.`,
		Example: `  tune import convolution.T1.json -o convolution.yaml
  tune import convolution.cache.json.gz -o convolution.json.gz
  tune import results.T4.json -o results.json`,
		Args: exactly(1, "a file"),
	}
	output := c.Flags().StringP("output", "o", "", "`file` to write (default: standard output)")
	quiet := a.progressFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if slices.Contains(tables, endingOf(strings.TrimSuffix(*output, ".gz"))) {
			return usage(fmt.Errorf("--output: %s: import writes a space as YAML, and measurements as JSON: write a file that ends in .yaml, .json or .json.gz", *output))
		}
		if isRunDir(args[0]) {
			return ofFile(fmt.Errorf("%s is a run, and no file: to convert it, use 'tune export %s --format recorded'", args[0], plain.ShellWord(args[0])))
		}
		if err := cmp.Or(takes(args[0], wantsForeign), noImport(args[0])); err != nil {
			return err
		}
		w := a.work("importing "+args[0], *quiet)
		defer w.end()
		s, f, err := readForeign(args[0], w.step)
		switch ext := filepath.Ext(*output); {
		case err != nil:
			return err
		case s != nil:
			return a.writeOut(w, *output, s.Write)
		case ext == ".yaml" || ext == ".yml":
			return a.importSpace(w, f, *output)
		}
		return a.writeOut(w, *output, func(w io.Writer) error { return f.Write(w, exchange.Recorded) })
	}
	return c
}

// readForeign reads a file of another tuner: the space that it describes, or its measurements. A fault in the description of a space is the
// user's.
func readForeign(path string, observe exchange.Observer) (*space.Space, *exchange.File, error) {
	data, err := files.Read(path, files.Data)
	if err != nil {
		return nil, nil, err
	}
	if !exchange.IsSpace(data) {
		f, err := exchange.ReadObserved(path, data, observe)
		return nil, f, err
	}
	text, err := exchange.Expand(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := spaceOfT1(path, strings.NewReader(text))
	return s, nil, err
}

// importSpace writes the space of measurements in the YAML form, where the values alone describe it.
func (a *app) importSpace(w *work, f *exchange.File, output string) error {
	s, err := space.New(f.Space, f.Parameters)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if n := big.NewInt(int64(len(f.Rows))); s.Product().Cmp(n) != 0 {
		return fmt.Errorf("%s: it has %s of the %s combinations of its values, but no constraints that say which: import the T1 file of the space, or write the measurements to a .json file",
			f.Path, n, s.Product())
	}
	return a.writeOut(w, output, s.Write)
}

// exchangeFormats lists the formats of measurements.
func exchangeFormats() string {
	var names []string
	for _, f := range exchange.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// convert writes a file of measurements in one of the formats.
func (a *app) convert(path, format, output string, quiet bool) error {
	if !slices.Contains(exchange.Formats(), exchange.Format(format)) {
		return usage(fmt.Errorf("--format: %s is a file of measurements, which can be written as %s, and not as %s", path, exchangeFormats(), format))
	}
	w := a.work("converting "+path, quiet)
	defer w.end()
	f, err := exchange.Open(path, w.step)
	if err != nil {
		return err
	}
	return a.writeOut(w, output, func(w io.Writer) error { return f.Write(w, exchange.Format(format)) })
}

// writeOut writes to a file, compressed where its name says so, or to standard output where it is "". shows is the work that this is
// a part of; it ends.
func (a *app) writeOut(shows *work, path string, write func(io.Writer) error) error {
	if path == "" && a.shown {
		shows.end()
		return write(a.stdout) // somebody looks at it
	}
	defer shows.end()
	if path == "" {
		return write(a.raw)
	}
	if err := noFolder("output", path); err != nil {
		return err
	}
	return outFile("output", path, func(w io.Writer) error {
		if filepath.Ext(path) != ".gz" {
			return write(w)
		}
		z := gzip.NewWriter(w)
		return errors.Join(write(z), z.Close())
	})
}

// outFile writes the file that a flag names.
func outFile(flag, path string, write func(io.Writer) error) error {
	err := files.Out(path, true, write)
	if dir := filepath.Dir(path); err != nil {
		if _, serr := os.Stat(dir); errors.Is(serr, fs.ErrNotExist) {
			return fmt.Errorf("cannot write %s: there is no folder %s", path, dir)
		}
	}
	return unwritten(flag, path, err)
}

// unwritten says what to do where the file that a flag names cannot be written. Any other error stays as it is.
func unwritten(flag, path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == path {
		return fmt.Errorf("cannot write %s: %w: choose another --%s", path, p.Err, flag)
	}
	return err
}

// unmade says what to do where the folder that a flag names cannot be made, or written. Any other error stays as it is.
func unmade(flag, folder string, err error) error {
	p, ok := errors.AsType[*fs.PathError](err)
	if !ok || isFull(err) || !errors.Is(p.Err, fs.ErrPermission) && !errors.Is(p.Err, syscall.EROFS) && !errors.Is(p.Err, syscall.ENOTDIR) && !errors.Is(p.Err, fs.ErrNotExist) {
		return err
	}
	if at, rerr := filepath.Rel(p.Path, folder); rerr != nil || strings.HasPrefix(at, "..") && strings.Trim(at, "./") != "" {
		return err // it is neither the folder, nor above it, nor in it
	}
	return fmt.Errorf("cannot write the folder %s: %s: %w: choose another --%s", folder, p.Path, p.Err, flag)
}

// noFolder refuses a folder where a flag has to name a file.
func noFolder(flag, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usage(fmt.Errorf("--%s: %s is a folder: name a file", flag, path))
	}
	return nil
}

// writable refuses the file that a flag names where it cannot be written. It is for what takes long to find out.
func writable(flag, path string) error {
	if path == "" {
		return nil
	}
	if err := noFolder(flag, path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil // such as /dev/null, which is written to
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".tune-*")
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return unwritten(flag, path, &fs.PathError{Op: p.Op, Path: path, Err: p.Err})
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
