// Package fetch brings ggml, which package peers compares kernels with, from an npm registry into the user's cache. Nothing else of tune
// downloads anything, and only the command tune peers fetch calls it.
package fetch

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tune/internal/files"
	"tune/kernels/peers"
)

// The package, as every npm registry serves it.
const (
	name     = "@node-llama-cpp/linux-x64"
	archive  = "linux-x64-" + peers.GGMLVersion + ".tgz"
	checksum = "5uCCDNqWCNfaAm8aR/Uzxbo4HBpKgNF91kCHPepKhgMgV2OAmatoefbOlMihsqCiH2Od35E/eUHQCFbfRBJuOg==" // SHA-512
)

// publicRegistry is where npm looks for packages unless it is told otherwise.
const publicRegistry = "https://registry.npmjs.org"

// Limits of what a registry may send, and of how long that may take.
const (
	archiveLimit = 64 << 20
	fileLimit    = 64 << 20
	timeLimit    = 10 * time.Minute
)

// Source is where the package comes from. Its zero value is the public registry.
type Source struct {
	// File is the archive that npm pack has made, where the registry cannot be reached; "" downloads it.
	File string
	// Registry is the address of an npm registry; see Registry.
	Registry string

	checksum string // of the archive, of tests; "" means that of the package
}

// Registry returns the address of the registry that npm is configured for: by the variable npm_config_registry, or by its own files
// where npm is installed. Elsewhere it is the public one.
func Registry(ctx context.Context, environ []string) string {
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.EqualFold(name, "npm_config_registry") && value != "" {
			return value
		}
	}
	if npm, err := exec.LookPath("npm"); err == nil {
		if out, err := exec.CommandContext(ctx, npm, "config", "get", "registry").Output(); err == nil {
			if address := strings.TrimSpace(string(out)); strings.HasPrefix(address, "http") {
				return address
			}
		}
	}
	return publicRegistry
}

// GGML brings the libraries of ggml into a directory, which exists only if it is complete. It replaces those that are there.
func GGML(ctx context.Context, from Source, dir string) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("the libraries of ggml are for linux/amd64, and this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	data, err := from.read(ctx)
	if err != nil {
		return err
	}
	sum := sha512.Sum512(data)
	if got, want := base64.StdEncoding.EncodeToString(sum[:]), cmp.Or(from.checksum, checksum); got != want {
		return fmt.Errorf("%s has the SHA-512 checksum %s, want %s: it is not version %s of %s, or it was changed on its way", from.where(), got, want, peers.GGMLVersion, name)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "fetching-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // nothing is left of it after the renaming
	if err := unpack(data, temp); err != nil {
		return fmt.Errorf("unpacking %s: %w", from.where(), err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// where names the archive in messages.
func (s Source) where() string {
	if s.File != "" {
		return s.File
	}
	return strings.TrimSuffix(cmp.Or(s.Registry, publicRegistry), "/") + "/" + name + "/-/" + archive
}

// read returns the archive.
func (s Source) read(ctx context.Context) ([]byte, error) {
	if s.File != "" {
		return files.Read(s.File, archiveLimit)
	}
	fail := func(why error) error {
		return fmt.Errorf("getting %s: %w; on a machine without a network, bring the file by npm pack %s@%s elsewhere, and name it by --from", s.where(), why, name, peers.GGMLVersion)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.where(), nil)
	if err != nil {
		return nil, fail(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fail(errors.Unwrap(err)) // without the address, which is there already
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fail(fmt.Errorf("the registry answers %s", answer.Status))
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, archiveLimit+1))
	if err == nil && len(data) > archiveLimit {
		err = fmt.Errorf("it has more than %s", files.Size(archiveLimit))
	}
	if err != nil {
		return nil, fail(err)
	}
	return data, nil
}

// unpack writes the libraries of ggml that an archive has, and its licence, into a directory.
func unpack(data []byte, dir string) error {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	found := 0
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		file := path.Base(h.Name)
		if h.Typeflag != tar.TypeReg || file != "LICENSE" && !peers.IsGGML(file) {
			continue
		}
		if h.Size > fileLimit {
			return fmt.Errorf("%s has more than %s", h.Name, files.Size(fileLimit))
		}
		content, err := io.ReadAll(archive)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), content, fs.FileMode(0o600))
		}
		if err != nil {
			return err
		}
		found++
	}
	if found == 0 {
		return errors.New("it has no library of ggml")
	}
	return nil
}
