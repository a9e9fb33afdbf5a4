package user

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// sized returns what stands at the paths of the files whose sizes are metrics.
func (c *commandCandidate) sized() (map[string]entry, error) {
	found := map[string]entry{}
	for _, m := range c.p.c.metrics() {
		if m.from != fromSize {
			continue
		}
		path := c.sizeOf(m)
		switch e, err := newEntry(path); {
		case err == nil:
			found[path] = e
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("the file %s of the metric: %w", m.file, err)
		}
	}
	return found, nil
}

// clearSized removes those of these files that earlier runs of candidates have made, so that none is taken for one of the next run. What
// the user or the build has made stays, and is returned.
func (c *commandCandidate) clearSized() (stay map[string]entry, err error) {
	if stay, err = c.sized(); err != nil {
		return nil, err
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for path := range stay {
		if !c.p.wrote[path] {
			continue
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("the file %s of the metric: %w", filepath.Base(path), err)
		}
		delete(stay, path)
	}
	return stay, nil
}

// noteSized notes which of these files a run has made, and which neither the run nor the build has written. before is what clearSized
// left.
func (c *commandCandidate) noteSized(before map[string]entry) error {
	after, err := c.sized()
	if err != nil {
		return err
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.stale = map[string]bool{}
	for path, e := range after {
		old, was := before[path]
		if !was {
			c.p.wrote[path] = true
			continue
		}
		c.stale[path] = old == e && c.built[path] != e
	}
	return nil
}

// noteBuilt notes which of these files the build has written. before is what stood there.
func (c *commandCandidate) noteBuilt(before map[string]entry) error {
	after, err := c.sized()
	if err != nil {
		return err
	}
	maps.DeleteFunc(after, func(path string, e entry) bool { return before[path] == e })
	c.built = after
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for path := range after {
		delete(c.p.wrote, path)
	}
	return nil
}
