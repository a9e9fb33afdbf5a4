package db

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tune/internal/files"
	"tune/results"
	"tune/results/insight"
)

// Filter says which runs to list. Fields that are "" take all.
type Filter struct {
	Kernel, Shape string
	Most          int // rows; 0 for all
}

// List returns runs, the newest first.
func (d *DB) List(ctx context.Context, f Filter) ([]Row, error) {
	most := f.Most
	if most <= 0 {
		most = -1 // no limit
	}
	rows, err := d.sql.QueryContext(ctx, "SELECT "+rowColumns+" FROM "+rowTables+
		" WHERE (? = '' OR r.kernel = ?) AND (? = '' OR r.shape = ?) ORDER BY r.created DESC, r.run LIMIT ?", f.Kernel, f.Kernel, f.Shape, f.Shape, most)
	if err != nil {
		return nil, d.explain(err)
	}
	defer rows.Close()
	list := []Row{}
	for rows.Next() {
		var r Row
		if err := r.scan(rows); err != nil {
			return nil, d.explain(err)
		}
		list = append(list, r)
	}
	return list, d.explain(rows.Err())
}

// Detail is all that the index holds of a run.
type Detail struct {
	Row
	Points      []Point           `json:"points"`
	Failures    []insight.Failure `json:"failures"`
	Schedule    *results.Schedule `json:"schedule,omitempty"`
	Comparisons []Comparison      `json:"comparisons"`
}

// Comparison is a point that was measured beside another one, or computed where costs are exact.
type Comparison struct {
	Key   string  `json:"key"`
	Other string  `json:"other"`
	Ratio float64 `json:"ratio"` // the cost of other over that of key
	Low   float64 `json:"low"`   // of its interval, which is the ratio itself where costs are exact
	High  float64 `json:"high"`
	Pairs int     `json:"pairs"`
}

// Show returns what is known of a run, which is named by its directory or by what identifies it.
func (d *DB) Show(ctx context.Context, name string) (Detail, error) {
	dir, err := filepath.Abs(name)
	if err != nil {
		return Detail{}, err
	}
	var out Detail
	var id int64
	err = out.scan(d.sql.QueryRowContext(ctx, "SELECT "+rowColumns+", r.id FROM "+rowTables+" WHERE r.run = ? OR r.dir = ?", name, dir), &id)
	if isNone(err) {
		return Detail{}, fmt.Errorf("%s: the index has no run %s: see 'tune db list'; 'tune db rebuild DIR' enters the runs of a folder", d.path, name)
	}
	if err != nil {
		return Detail{}, d.explain(err)
	}
	e, err := d.entryOf(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	out.Points, out.Failures, out.Schedule = e.Points, e.Failures, e.Schedule
	out.Comparisons = []Comparison{}
	err = d.each(ctx, "SELECT key, other, ratio, low, high, pairs FROM comparisons WHERE run = ? ORDER BY ratio DESC, key", id, func(scan func(...any) error) error {
		var c Comparison
		err := scan(&c.Key, &c.Other, &c.Ratio, &c.Low, &c.High, &c.Pairs)
		out.Comparisons = append(out.Comparisons, c)
		return err
	})
	return out, d.explain(err)
}

// Collect forgets runs whose directory is gone, as gone says, and gives their space back. It returns how many they were. Imported runs
// have no directory, and stay.
func (d *DB) Collect(ctx context.Context, gone func(dir string) bool) (int, error) {
	rows, err := d.List(ctx, Filter{})
	if err != nil {
		return 0, err
	}
	forgotten := 0
	for _, r := range rows {
		if r.Dir == "" || !gone(r.Dir) {
			continue
		}
		if _, err := d.sql.ExecContext(ctx, "DELETE FROM runs WHERE run = ?", r.Run); err != nil {
			return forgotten, d.explain(err)
		}
		forgotten++
	}
	if forgotten > 0 {
		_, err = d.sql.ExecContext(ctx, "VACUUM")
	}
	return forgotten, d.explain(err)
}

// Gone reports whether a directory holds no run any more. It is gone, too, where a file stands in its place.
func Gone(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, results.SettingsName))
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.ENOTDIR)
}

// Rebuilt is what Rebuild did.
type Rebuilt struct {
	Runs    int      `json:"runs"`              // entered
	Faults  []string `json:"faults,omitempty"`  // of directories that could not be read
	Damaged string   `json:"damaged,omitempty"` // the new name of a damaged index; "" where there was none
}

// Rebuild enters all runs below the given directories. A damaged index is moved aside, and a new one made. observe, if not nil, is told
// how many runs are done.
func Rebuild(ctx context.Context, path string, roots []string, observe func(done int)) (Rebuilt, error) {
	var out Rebuilt
	d, err := Open(ctx, path)
	if _, damaged := errors.AsType[*DamagedError](err); damaged {
		if out.Damaged, err = aside(path); err != nil {
			return out, err
		}
		d, err = Open(ctx, path)
	}
	if err != nil {
		return out, err
	}
	defer d.Close()
	err = d.whole(ctx)
	if _, damaged := errors.AsType[*DamagedError](err); err != nil && !damaged {
		return out, err
	}
	if err != nil {
		d.Close()
		if out.Damaged, err = aside(path); err != nil {
			return out, err
		}
		if d, err = Open(ctx, path); err != nil {
			return out, err
		}
		defer d.Close()
	}
	for _, root := range roots {
		root += string(filepath.Separator) // so that a link to a folder is that folder
		err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil && at == root || ctx.Err() != nil {
				return err
			}
			if err != nil {
				out.Faults = append(out.Faults, err.Error())
				return nil
			}
			dir := filepath.Dir(at)
			switch isRun := !e.IsDir() && e.Name() == results.SettingsName; {
			case e.Type()&fs.ModeSymlink != 0 && !isRun && results.IsRun(at):
				dir = at // a link to a run; folders behind links are not searched, as they may lead here again
			case !isRun:
				return nil
			}
			if err := d.Add(ctx, dir, nil); err != nil {
				out.Faults = append(out.Faults, err.Error())
				return nil
			}
			if out.Runs++; observe != nil {
				observe(out.Runs)
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// whole reports damage that opening a file does not find, as a *DamagedError. Another error says that nobody knows, because something ended the
// check.
func (d *DB) whole(ctx context.Context) error {
	var answer string
	err := d.sql.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isElsewhere(err):
		return explain(d.path, err)
	case err == nil && answer != "ok":
		err = errors.New(answer)
	}
	if err != nil {
		return &DamagedError{d.path, err}
	}
	return nil
}

// Export writes all that the index holds, as JSON Lines: a run a line.
func (d *DB) Export(ctx context.Context, w io.Writer) (int, error) {
	ids, err := d.ids(ctx)
	if err != nil {
		return 0, err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for i, id := range ids {
		e, err := d.entryOf(ctx, id)
		if isNone(err) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return i, err
		}
		if err := out.Encode(e); err != nil {
			return i, err
		}
	}
	return len(ids), nil
}

func (d *DB) ids(ctx context.Context) (list []int64, err error) {
	rows, err := d.sql.QueryContext(ctx, "SELECT id FROM runs ORDER BY created, run")
	if err != nil {
		return nil, d.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, d.explain(err)
		}
		list = append(list, id)
	}
	return list, d.explain(rows.Err())
}

// mostLine bounds a line of an import.
const mostLine = 16 << 20

// Import enters the runs of an export. They have no directory here, because what a path names elsewhere may be something else here. A
// run that the index knows from its directory stays as it is. It returns how many runs were new.
func (d *DB) Import(ctx context.Context, r io.Reader, name string) (int, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), mostLine)
	entered := 0
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var e entry
		err := json.Unmarshal(lines.Bytes(), &e)
		if err == nil {
			err = e.validate()
		}
		if err != nil {
			return entered, fmt.Errorf("%s, line %d: %w: want what 'tune db export' writes; the runs before it are in the index", name, n, err)
		}
		var known, here int
		if err := d.sql.QueryRowContext(ctx, "SELECT count(*), count(nullif(dir, '')) FROM runs WHERE run = ?", e.Run).Scan(&known, &here); err != nil {
			return entered, d.explain(err)
		}
		if here > 0 {
			continue
		}
		e.Dir, e.Stamp = "", ""
		if err := d.enter(ctx, e); err != nil {
			return entered, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		if known == 0 {
			entered++
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return entered, fmt.Errorf("%s: a line has more than %s: want what 'tune db export' writes; the runs before it are in the index", name, files.Size(mostLine))
	} else if err != nil {
		return entered, fmt.Errorf("%s: %w", name, err)
	}
	return entered, nil
}

// validate reports an entry that no export has.
func (e *entry) validate() error {
	if e.Run == "" || len(e.Run) > 64 {
		return errors.New("field run is missing or too long")
	}
	if len(e.Points) > mostPoints {
		return fmt.Errorf("field points has %d points, at most %d are kept", len(e.Points), mostPoints)
	}
	if err := e.Settings.Validate(); err != nil {
		return fmt.Errorf("field settings: %w", err)
	}
	if err := e.Settings.Machine.Validate(); err != nil {
		return fmt.Errorf("field settings: %w", err)
	}
	if e.Schedule == nil {
		return nil
	}
	err := e.Schedule.Validate()
	if err == nil {
		err = e.Schedule.Coherent(e.Schedule.ComputedAlone() && !e.Settings.Measured)
	}
	if err != nil {
		return fmt.Errorf("field schedule: %w", err)
	}
	return nil
}
