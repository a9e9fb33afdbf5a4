package db

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

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

// TestOpenLocked: an index that another process holds is waited for as long as is said, and no longer. SQLite turns processes away at once while
// another one is about to write, and lets them wait once that writes.
func TestOpenLocked(t *testing.T) {
	const patience = 2 * time.Second
	path := filepath.Join(t.TempDir(), "tune.db")
	holder, err := connect(path, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	conn, err := holder.sql.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(text string) {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Error(err)
		}
	}
	run("PRAGMA cache_size = 1; BEGIN IMMEDIATE")
	var writing sync.WaitGroup
	writing.Go(func() {
		time.Sleep(patience * 9 / 10)
		run("CREATE TABLE long (text BLOB); INSERT INTO long VALUES (zeroblob(4000000))")
	})
	began := time.Now()
	_, err = open(t.Context(), path, true, patience)
	if took := time.Since(began); !isBusy(err) || took < patience || took > patience*3/2 {
		t.Errorf("%v after %v; want that it is busy", err, took)
	}
	writing.Wait()
	run("ROLLBACK")
	d, err := open(t.Context(), path, true, patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
