package cc

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tune/internal/files"
)

// A compiler such as clang needs some hundredths of a second to say its version, at every start of tune. So the version is kept in the cache
// of this user, in a file whose name is the hash of what identifies the compiler.

// identified returns the path of the file that keeps the version of a compiler; "" where the compiler has to be asked. It is asked where it
// may be a wrapper, which stays the same when the compiler behind it changes.
func identified(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	base := filepath.Base(path)
	if !strings.Contains(base, "gcc") && !strings.Contains(base, "clang") {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != "\x7fELF" {
		return "" // perhaps a script
	}
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	dir, err := os.UserCacheDir()
	if err != nil || !ok {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d\n%d\n%d", path, info.Size(), info.ModTime().UnixNano(), file.Dev, file.Ino))
	return filepath.Join(dir, "tune", "compilers", fmt.Sprintf("%x", sum))
}

// known returns the version that a file keeps; "" where there is none.
func known(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, rest, whole := strings.Cut(string(text), "\n")
	if !whole || rest != "" {
		return ""
	}
	return line
}

// keep writes a version into a file. Where that fails, the compiler is asked again.
func keep(file, version string) {
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = files.Write(file, []byte(version+"\n"))
	}
}
