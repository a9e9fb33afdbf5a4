package results

import (
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
	return files.SyncDir(parent)
}

// writeJSON writes an indented JSON file atomically.
func writeJSON(path string, v any) error {
	text, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return files.Write(path, text)
}

// encodeSettings returns the content of a JSON file of the given name that is read up to files.Settings. More is an error.
func encodeSettings(name string, v any) ([]byte, error) {
	text, err := encodeJSON(v)
	if err == nil && len(text) > files.Settings {
		err = fmt.Errorf("%s would have %d bytes, and at most %s of it are read: shorten the texts, such as those of the machine",
			name, len(text), files.Size(files.Settings))
	}
	return text, err
}

// encodeJSON returns the content of an indented JSON file.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return plain.JSON(buf.Bytes()), nil
}

// readJSON reads a JSON file that has a "format" field into v. Another format, an unknown field, one that is there twice or in
// another case, a value of the wrong type and text after the value are errors that name the file and the field. A file of more than
// limit bytes is not read.
func readJSON(path string, format int, limit int64, v any) error {
	// The directory may be from elsewhere, and a link in it must not lead out of it.
	data, err := files.In(filepath.Dir(path)).Read(filepath.Base(path), limit)
	if err != nil {
		return err
	}
	// The format is read first, ignoring unknown fields, so that the error for a file of a later version names the version and
	// not one of its new fields.
	var head struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return &contentError{path, explainJSON(data, err)}
	}
	if head.Format == nil {
		return &contentError{path, errors.New("field format is missing")}
	}
	if *head.Format != format {
		return fmt.Errorf("%s: format %d is not known to this tune, which reads format %d: use the tune that wrote the file", path, *head.Format, format)
	}
	if err := knownJSON(data, v); err != nil {
		return &contentError{path, err}
	}
	if err := ExactNames(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err) // it says how the name is written
	}
	return nil
}

// contentError says that what a JSON file holds is not what tune writes there: the file is damaged, or it is another one.
type contentError struct {
	path string
	err  error
}

// Error names the file.
func (e *contentError) Error() string { return fmt.Sprintf("%s: %v", e.path, e.err) }

// Unwrap returns what is wrong.
func (e *contentError) Unwrap() error { return e.err }

// withRemedy adds to an error about what a file holds what to do about it. Any other error stays as it is.
func withRemedy(err error, remedy string) error {
	if _, content := errors.AsType[*contentError](err); !content {
		return err
	}
	return fmt.Errorf("%w: %s", err, remedy)
}

// strictJSON decodes exactly one JSON value without unknown fields, and without names that other readers may read in another way;
// see ExactNames.
func strictJSON(data []byte, v any) error {
	if err := knownJSON(data, v); err != nil {
		return err
	}
	return ExactNames(data, v)
}

// knownJSON decodes exactly one JSON value without unknown fields.
func knownJSON(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return explainJSON(data, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// explainJSON says what is wrong with a JSON text in terms of the text rather than of Go types.
func explainJSON(data []byte, err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field == "" {
			return fmt.Errorf("a JSON %s stands where an object is expected", t.Value)
		}
		return fmt.Errorf("field %s: a JSON %s does not fit", t.Field, t.Value)
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not valid JSON at byte %d: %s", s.Offset, plain.NotJSON(data, err))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: it ends too early")
	}
	if text, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown field %s", text)
	}
	return err
}
