package results

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
)

// originName is the name of the file in a run directory which proves that the run was made here. It holds an HMAC over the
// settings of the run and the files that define what the run executes, under a key that only this user on this machine has. A
// directory from elsewhere has no such file, or one made with another key; if the files were changed, the HMAC no longer matches.
const originName = "origin.json"

const originFormat = 1

type origin struct {
	Format int    `json:"format"`
	Tag    string `json:"tag"` // HMAC-SHA256, in hexadecimal
}

// Sign writes the origin file of a run that has these settings. names are the files in the directory that it covers. The file that holds
// the settings need not be there yet.
func Sign(dir string, s Settings, names ...string) error {
	key, err := stateKey(true)
	if err != nil {
		return err
	}
	tag, err := originTag(key, dir, s, names)
	if err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, originName), origin{originFormat, hex.EncodeToString(tag)})
}

// MadeHere returns nil where this user signed the run in a directory on this machine, and neither its settings nor the named
// files have changed since. Otherwise the error says why not.
func MadeHere(dir string, names ...string) error {
	text, err := files.In(dir).Read(originName, files.Settings)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it has no %s, which a run gets where HOME or XDG_STATE_HOME is set", originName)
	}
	if err != nil {
		return err
	}
	var o origin
	if err := strictJSON(text, &o); err != nil {
		return fmt.Errorf("%s: %w", originName, err)
	}
	key, err := stateKey(false)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("this user has no signed run on this machine yet")
	}
	if err != nil {
		return err
	}
	settings, err := readSettings(dir)
	if err != nil {
		return err
	}
	want, err := originTag(key, dir, settings, names)
	if err != nil {
		return err
	}
	if got, err := hex.DecodeString(o.Tag); o.Format != originFormat || err != nil || !hmac.Equal(got, want) {
		return fmt.Errorf("its %s is of another user or machine, or the settings or the kernel were changed since", originName)
	}
	return nil
}

// originTag computes the tag of a run.
func originTag(key []byte, dir string, settings Settings, names []string) ([]byte, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	add := func(name string, content []byte) {
		fmt.Fprintf(mac, "%d %s %x\n", len(name), name, sha256.Sum256(content))
	}
	add(SettingsName, text)
	for _, name := range slices.Sorted(slices.Values(names)) {
		content, err := files.In(dir).Read(name, files.Settings)
		if err != nil {
			return nil, err
		}
		add(name, content)
	}
	return mac.Sum(nil), nil
}

const keyBytes = 32

// stateKey returns the key of this user on this machine. It is created the first time that a run is signed.
func stateKey(create bool) ([]byte, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification says to ignore relative paths
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return nil, errors.New("neither HOME nor XDG_STATE_HOME is an absolute path: set one of them")
		}
		state = filepath.Join(home, ".local", "state")
	}
	path := filepath.Join(state, "tune", "key")
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) || !create {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".key-*") // with mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	key = make([]byte, keyBytes)
	rand.Read(key) // it never fails
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, err
	}
	// Of several processes that create the key at once, the first one's key is used by all.
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read or written by others, who could sign runs with it: remove it, and the next run makes a new one", path)
	}
	text, err := files.Read(path, files.Settings)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSuffix(string(text), "\n"))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s holds no key: remove it, and the next run makes a new one", path)
	}
	return key, nil
}
