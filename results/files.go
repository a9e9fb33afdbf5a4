package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tune/internal/files"
	"tune/internal/plain"
)

// writeFile replaces a file atomically: its name always refers to the whole old or the whole new content. Where durable is set,
// this holds after a power failure too.
func writeFile(path string, durable bool, write func(io.Writer) error) (err error) {
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	temp := file.Name()
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(temp)
		}
	}()
	buffered := bufio.NewWriter(file)
	if err = write(buffered); err != nil {
		return err
	}
	if err = buffered.Flush(); err != nil {
		return err
	}
	if durable {
		if err = file.Sync(); err != nil {
			return err
		}
	}
	if err = file.Close(); err != nil {
		return err
	}
	if err = os.Rename(temp, path); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	return syncDir(filepath.Dir(path))
}

// createBeside creates a new hidden file in the directory of path. Unlike os.CreateTemp it applies the umask, as for any other
// file of the run.
func createBeside(path string) (*os.File, error) {
	const attempts = 1000
	dir, base := filepath.Split(path)
	for i := range attempts {
		name := fmt.Sprintf("%s.%s.%d-%d.tmp", dir, base, os.Getpid(), i)
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
	return nil, fmt.Errorf("too many temporary files beside %s", path)
}

// syncDir makes the entries of a directory durable.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// makeDir makes a directory and its parents, durably.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is a file, not a directory", dir)
	}
	return syncDir(parent)
}

// writeJSON writes an indented JSON file atomically.
func writeJSON(path string, v any) error {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return writeFile(path, true, func(w io.Writer) error {
		_, err := w.Write(plain.JSON(buf.Bytes()))
		return err
	})
}

// readJSON reads a JSON file that has a "format" field into v. Another format, an unknown field, a value of the wrong type and
// text after the value are errors that name the file and the field. A file of more than limit bytes is not read.
func readJSON(path string, format int, limit int64, v any) error {
	data, err := files.Read(path, limit)
	if err != nil {
		return err
	}
	// The format is read first, ignoring unknown fields, so that the error for a file of a later version names the version and
	// not one of its new fields.
	var head struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s: %w", path, explainJSON(err))
	}
	if head.Format == nil {
		return fmt.Errorf("%s: field format is missing", path)
	}
	if *head.Format != format {
		return fmt.Errorf("%s: format %d is not known to this tune, which reads format %d", path, *head.Format, format)
	}
	if err := strictJSON(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// strictJSON decodes exactly one JSON value without unknown fields.
func strictJSON(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return explainJSON(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// explainJSON says what is wrong with a JSON text in terms of the text rather than of Go types.
func explainJSON(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field == "" {
			return fmt.Errorf("a JSON %s stands where an object is expected", t.Value)
		}
		return fmt.Errorf("field %s: a JSON %s does not fit", t.Field, t.Value)
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not valid JSON at byte %d: %w", s.Offset, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: it ends too early")
	}
	if text, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown field %s", text)
	}
	return err
}
