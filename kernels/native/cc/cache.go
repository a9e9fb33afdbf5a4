package cc

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	objectSuffix  = ".so"
	scratchPrefix = "compiling-"
	// young is how long an object is safe from removal after its last use.
	young = 10 * time.Minute
	// stale is the age at which a directory left by a killed process may be removed.
	stale = time.Hour
)

// defaultDir returns the directory of the cache of compiled objects of this user.
func defaultDir() (string, error) {
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "tune", "so"), nil
	}
	// Without a home directory, use a place that other users cannot write to.
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("tune-so-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", unusable(err)
	}
	if err := private(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// cache is a directory of objects, named by the hash of everything that they were made from.
type cache struct {
	dir string
	max int64 // bytes

	mu       sync.Mutex
	ready    bool
	inserted int64 // bytes since the size of the directory was last measured
}

// ErrCache begins the errors of a cache whose directory cannot be made or written. They say what to do.
var ErrCache = errors.New("the cache of compiled kernels")

// unusable returns the error of a cache whose directory cannot be made or written.
func unusable(err error) error {
	variable := "XDG_CACHE_HOME"
	if runtime.GOOS == "darwin" {
		variable = "HOME"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return fmt.Errorf("%w: %w: set %s to a folder that can be written", ErrCache, err, variable)
}

// prepare creates the directory. It refuses one that others can write to, because its content is executed.
func (c *cache) prepare() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready {
		return nil
	}
	if c.dir == "" {
		dir, err := defaultDir()
		if err != nil {
			return err
		}
		c.dir = dir
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return unusable(err)
	}
	abs, err := filepath.Abs(c.dir)
	if err != nil {
		return err
	}
	if err := private(abs); err != nil {
		return err
	}
	c.dir, c.ready = abs, true
	return c.evict()
}

// lookup returns the object of a key, and marks it as recently used.
func (c *cache) lookup(key string) (string, bool) {
	path := filepath.Join(c.dir, key+objectSuffix)
	if !isObject(path) {
		return "", false
	}
	now := time.Now()
	os.Chtimes(path, now, now) // a cache that is read-only is still useful
	return path, true
}

// isObject reports whether a file is a shared object. What a failing disk left empty or cut off is none, and neither is what a
// compiler wrote instead of one.
func isObject(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil {
		return false
	}
	if magic[0] == 0xcf && magic[1] == 0xfa {
		return true // of macOS
	}
	object, err := elf.NewFile(f)
	return err == nil && object.Type == elf.ET_DYN
}

// insert moves a finished object into the cache and returns its path there.
func (c *cache) insert(key, object string) (string, error) {
	f, err := os.Open(object)
	if err != nil {
		return "", err
	}
	info, err := f.Stat()
	// After a power failure the name must not exist without the content.
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, key+objectSuffix)
	if err := os.Rename(object, path); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inserted += info.Size(); c.inserted > c.max/16 {
		return path, c.evict()
	}
	return path, nil
}

// evict removes the least recently used objects until the rest fits, and directories left by killed compilations. Other processes
// may do the same at the same time.
func (c *cache) evict() error {
	c.inserted = 0
	objects, left, err := list(c.dir)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, dir := range left {
		if now.Sub(dir.ModTime()) > stale {
			os.RemoveAll(filepath.Join(c.dir, dir.Name()))
		}
	}
	total := size(objects)
	for _, o := range objects {
		if total <= c.max || now.Sub(o.ModTime()) < young {
			break
		}
		path := filepath.Join(c.dir, o.Name())
		if used, err := os.Lstat(path); err == nil && now.Sub(used.ModTime()) < young {
			continue // somebody has found it since the list was made
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= o.Size()
	}
	return nil
}

// list returns the objects of a cache, the least recently used first, and the directories of compilations, unfinished or killed.
func list(dir string) (objects, left []fs.FileInfo, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // removed by somebody else
		}
		switch {
		case strings.HasPrefix(e.Name(), scratchPrefix) && e.IsDir():
			left = append(left, info)
		case strings.HasSuffix(e.Name(), objectSuffix) && info.Mode().IsRegular():
			objects = append(objects, info)
		}
	}
	slices.SortFunc(objects, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	return objects, left, nil
}

func size(objects []fs.FileInfo) (total int64) {
	for _, o := range objects {
		total += o.Size()
	}
	return total
}

// Usage is what a cache of compiled kernels holds.
type Usage struct {
	Dir     string `json:"dir"`
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes"`
	Most    int64  `json:"most_bytes"` // beyond which the least recently used objects are removed
}

// CacheUsage returns what this user's cache holds. A cache that does not exist yet is empty.
func CacheUsage() (Usage, error) {
	dir, err := defaultDir()
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Dir: dir, Most: defaultMaxBytes}
	objects, _, err := list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	u.Objects, u.Bytes = len(objects), size(objects)
	return u, err
}

// PruneCache removes the objects of this user's cache that were not used for the given time, and returns how many they were and
// their size. Runs in progress compile what they need again.
func PruneCache(unused time.Duration) (removed Usage, err error) {
	dir, err := defaultDir()
	if err != nil {
		return removed, err
	}
	removed.Dir, removed.Most = dir, defaultMaxBytes
	objects, _, err := list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	now := time.Now()
	for _, o := range objects {
		if now.Sub(o.ModTime()) < unused {
			break
		}
		if err := os.Remove(filepath.Join(dir, o.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		removed.Objects++
		removed.Bytes += o.Size()
	}
	return removed, err
}
