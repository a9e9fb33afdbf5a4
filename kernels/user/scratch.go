package user

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"tune/internal/files"
)

// scratch holds the directories of candidates, and the folders for the temporary files of their runs. Nothing says when a candidate is no longer needed, so the most recently used
// directories are kept and the others removed; a candidate that is used again is built again.
type scratch struct {
	mu   sync.Mutex
	root string
	made bool // whether there has been a root
	next int
	held []*commandCandidate // those with a directory, the most recently used last
	busy map[*commandCandidate]bool
}

// keep is how many unused directories stay: those of the candidates being evaluated and exported.
const keep = 16

// enter makes sure that the candidate has a directory: if not, it calls make, which creates one. The directory stays at least
// until leave is called.
func (s *scratch) enter(c *commandCandidate, make func() error) (leave func(), err error) {
	s.mu.Lock()
	if s.busy == nil {
		s.busy = map[*commandCandidate]bool{}
	}
	s.busy[c] = true
	fresh := !slices.Contains(s.held, c)
	s.held = append(slices.DeleteFunc(s.held, func(o *commandCandidate) bool { return o == c }), c)
	s.mu.Unlock()
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, c)
		s.trim()
	}
	if fresh {
		err = make()
	}
	if err != nil {
		s.mu.Lock()
		s.drop(c)
		s.mu.Unlock()
		leave()
		return nil, err
	}
	return leave, nil
}

// create makes a new directory for a candidate, in place of the one that it may have.
func (s *scratch) create(c *commandCandidate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dir != "" {
		os.RemoveAll(c.around())
	}
	if err := s.open(); err != nil {
		return err
	}
	s.next++
	c.dir = filepath.Join(s.root, strconv.Itoa(s.next), "work")
	return os.MkdirAll(c.dir, 0o700)
}

// around is the directory around that of the candidate. Nothing else is in it, so that what a program leaves in .. is found there and removed too.
func (c *commandCandidate) around() string { return filepath.Dir(c.dir) }

// open makes sure that there is a root. The caller holds mu.
func (s *scratch) open() error {
	if s.root != "" && isDirectory(s.root) {
		return nil
	}
	root, err := files.Scratch(scratchPrefix)
	s.root, s.made = root, s.made || err == nil
	return err
}

// used reports whether there has been a directory: without one, no command has run.
func (s *scratch) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// renewTemp makes a new folder for the temporary files of the next run of a candidate, and removes that of the last one. All their
// paths are of the same length, because that of the environment may change how fast a program is.
func (s *scratch) renewTemp(c *commandCandidate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.dropTemp()
	if err := s.open(); err != nil {
		return err
	}
	s.next++
	c.temp = filepath.Join(s.root, fmt.Sprintf("tmp-%09d", s.next))
	return os.MkdirAll(filepath.Join(c.temp, cacheName), 0o700)
}

// dropTemp removes the temporary files of the candidate's last run.
func (c *commandCandidate) dropTemp() {
	if c.temp != "" {
		os.RemoveAll(c.temp)
	}
	c.temp = ""
}

// cacheName is the name of the folder for caches among the temporary files.
const cacheName = "cache"

// tempEnvironment returns the environment variables that lead to a folder of temporary files and caches; "" is none. A command that
// kept its results there could do nothing in the next run and be right.
func tempEnvironment(temp string) []string {
	if temp == "" {
		return nil
	}
	return []string{"TMPDIR=" + temp, "XDG_CACHE_HOME=" + filepath.Join(temp, cacheName)}
}

// extra makes a directory that is no candidate's, and returns its path. It stays until close.
func (s *scratch) extra(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return "", err
	}
	dir := filepath.Join(s.root, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// trim removes directories until few enough are left.
func (s *scratch) trim() {
	for i := 0; len(s.held) > keep && i < len(s.held); {
		if c := s.held[i]; !s.busy[c] {
			s.drop(c)
		} else {
			i++
		}
	}
}

func (s *scratch) drop(c *commandCandidate) {
	s.held = slices.DeleteFunc(s.held, func(o *commandCandidate) bool { return o == c })
	if c.dir != "" {
		os.RemoveAll(c.around())
	}
	c.dir = ""
	c.dropTemp()
}

// close removes all directories.
func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.held {
		c.dir = ""
	}
	s.held = nil
	root := s.root
	s.root = ""
	if root == "" {
		return nil
	}
	return os.RemoveAll(root)
}

const scratchPrefix = "tune-kernel-"
