package db

import (
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestOpenAtOnce: of many that make one index at once, none is turned away. SQLite itself turns some away at once while the mode of a file
// changes, whatever its busy timeout is.
func TestOpenAtOnce(t *testing.T) {
	for range 30 {
		path := filepath.Join(t.TempDir(), "tune.db")
		var g errgroup.Group
		for range 8 {
			g.Go(func() error {
				d, err := Open(t.Context(), path)
				if err != nil {
					return err
				}
				return d.Close()
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
