package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// archiveOf returns an archive of files, and its checksum.
func archiveOf(t *testing.T, names ...string) (data []byte, sum string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(name))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	raw := sha512.Sum512(b.Bytes())
	return b.Bytes(), base64.StdEncoding.EncodeToString(raw[:])
}

// serve serves an archive at the address of the package, and anything else not.
func serve(t *testing.T, data []byte) (registry string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/npm/@node-llama-cpp/linux-x64/-/"+archive {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/npm/"
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Of the package the libraries and the licence are kept, wherever in it they are; what was there before goes.
func TestGGML(t *testing.T) {
	const bins = "package/bins/linux-x64/"
	data, sum := archiveOf(t, "package/LICENSE", bins+"libggml-base.so", bins+"libggml-cpu-zen4.so", bins+"libllama.so", "../../libggml-cpu-x64.so", "package/package.json")
	parent := t.TempDir()
	dir := filepath.Join(parent, "cache", "ggml")
	for range 2 {
		if err := GGML(t.Context(), Source{Registry: serve(t, data), checksum: sum}, dir); err != nil {
			t.Fatal(err)
		}
		if got, want := list(t, dir), []string{"LICENSE", "libggml-base.so", "libggml-cpu-x64.so", "libggml-cpu-zen4.so"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got := list(t, filepath.Dir(dir)); !slices.Equal(got, []string{"ggml"}) || len(list(t, parent)) != 1 {
			t.Errorf("beside it is %v", got)
		}
		if err := os.WriteFile(filepath.Join(dir, "libggml-cpu-old.so"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(parent, "package.tgz")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := GGML(t.Context(), Source{File: file, checksum: sum}, dir); err != nil || len(list(t, dir)) != 4 {
		t.Errorf("from a file: %v, %v", err, list(t, dir))
	}
}

// What fails leaves nothing behind, and says what to do.
func TestFailures(t *testing.T) {
	data, sum := archiveOf(t, "package/libggml-base.so")
	none, sumOfNone := archiveOf(t, "package/readme")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	missing := filepath.Join(t.TempDir(), "missing.tgz")
	for _, c := range []struct {
		from Source
		want []string
	}{
		{Source{Registry: serve(t, data)}, []string{archive + " has the SHA-512 checksum " + sum + ", want " + checksum}},
		{Source{Registry: serve(t, none), checksum: sumOfNone}, []string{"it has no library of ggml"}},
		{Source{Registry: serve(t, data) + "other"}, []string{"the registry answers 404 Not Found; on a machine without a network, bring the file by npm pack @node-llama-cpp/linux-x64@", "name it by --from"}},
		{Source{Registry: closed.URL}, []string{"getting " + closed.URL + "/@node-llama-cpp", "connection refused; on a machine without a network"}},
		{Source{Registry: "ftp://registry"}, []string{"unsupported protocol scheme"}},
		{Source{File: missing}, []string{missing, "no such file"}},
	} {
		dir := filepath.Join(t.TempDir(), "ggml")
		err := GGML(t.Context(), c.from, dir)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: got %v, want %q", c.from, err, want)
			}
		}
		if left := list(t, filepath.Dir(dir)); len(left) > 0 {
			t.Errorf("%+v: left %v", c.from, left)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := GGML(ended, Source{Registry: closed.URL}, filepath.Join(t.TempDir(), "ggml")); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("interrupted: %v", err)
	}
}

// The registry is that of npm's variable, in any case, and else that of npm's files or the public one.
func TestRegistry(t *testing.T) {
	if got := Registry(t.Context(), []string{"HOME=/", "NPM_CONFIG_REGISTRY=http://mirror.example/npm/"}); got != "http://mirror.example/npm/" {
		t.Errorf("got %s", got)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if got := Registry(t.Context(), []string{"npm_config_registry="}); got != publicRegistry {
		t.Errorf("without npm: got %s", got)
	}
	npm := "#!/bin/sh\nif [ \"$*\" = 'config get registry' ]; then echo https://files.example/; fi\n"
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(npm), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Registry(t.Context(), nil); got != "https://files.example/" {
		t.Errorf("of npm: got %s", got)
	}
}
