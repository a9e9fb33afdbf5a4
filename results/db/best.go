package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tune/results"
	"tune/space"
)

// Query asks for the best point that is known.
type Query struct {
	Kernel  string
	Version string // of the kernel, since the points of another version may not exist; "" for any
	Shape   string // in its text form, complete
	Machine results.Machine
}

// Answer is the best schedule that is known, and how well it fits what was asked.
type Answer struct {
	Row
	Schedule results.Schedule `json:"schedule"`
	// Distance is how far its shape is from the asked one: 1 for a number that is twice as large, 0 for the shape itself.
	Distance float64 `json:"distance"`
	// Here says that it was measured on such a machine, or that its cost does not depend on one.
	Here bool `json:"here"`
}

// Row is one run in the index.
type Row struct {
	Run         string  `json:"run"`           // identifies it
	Dir         string  `json:"dir,omitempty"` // "" for an imported run
	Kernel      string  `json:"kernel"`
	Version     string  `json:"version"`
	Shape       string  `json:"shape"`
	Unit        string  `json:"unit"`
	Strategy    string  `json:"strategy"`
	Seed        string  `json:"seed"`
	CPU         string  `json:"cpu"`
	Fingerprint string  `json:"machine"`
	Created     string  `json:"created"` // RFC 3339, UTC
	Ended       string  `json:"ended,omitempty"`
	Evaluations int     `json:"evaluations"`
	Valid       int     `json:"valid"`
	Elapsed     float64 `json:"elapsed_seconds"`
	// The schedule, where there is one.
	Key     string        `json:"key,omitempty"`
	Cost    *float64      `json:"cost,omitempty"`
	Verdict space.Verdict `json:"verdict,omitempty"`
}

// rowColumns are the columns of a Row; rowTables are where they come from.
const (
	rowColumns = `r.run, r.dir, r.kernel, r.version, r.shape, r.unit, r.strategy, r.seed, m.cpu, m.fingerprint, r.created, r.ended, r.evaluations,
		r.valid, r.elapsed, coalesce(s.key, ''), s.cost, coalesce(s.verdict, '')`
	rowTables = `runs r JOIN machines m ON m.id = r.machine LEFT JOIN schedules s ON s.run = r.id`
)

// scan reads a Row, and further columns.
func (r *Row) scan(from interface{ Scan(...any) error }, more ...any) error {
	return from.Scan(append([]any{&r.Run, &r.Dir, &r.Kernel, &r.Version, &r.Shape, &r.Unit, &r.Strategy, &r.Seed, &r.CPU, &r.Fingerprint, &r.Created,
		&r.Ended, &r.Evaluations, &r.Valid, &r.Elapsed, &r.Key, &r.Cost, &r.Verdict}, more...)...)
}

// proven is 1 for a run whose schedule is proven to be faster than its baseline, where that says something about others: the baseline of a run with
// pinned values has these too, and may be slower than that of the kernel. So such a proof counts beside one without pinned values, and alone it does not.
const proven = `s.verdict = 'faster' AND max(s.verdict = 'faster' AND json_extract(r.settings, '$.pinned') IS NULL) OVER ()`

// ErrUnknown says that nothing is known of a kernel.
var ErrUnknown = errors.New("nothing is known")

// Best returns the best schedule of the asked shape, or else of the nearest shape. Schedules of this machine come before those of others,
// whatever their shapes, unless costs do not depend on the machine. Of several of one shape, one that is proven to be faster than its
// baseline comes before others, and then the one of the least cost. The error wraps ErrUnknown where there is none.
func (d *DB) Best(ctx context.Context, q Query) (Answer, error) {
	for _, here := range []bool{true, false} {
		shape, distance, err := d.nearest(ctx, q, here)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return Answer{}, d.explain(err)
		}
		a := Answer{Distance: distance, Here: here}
		var content string
		row := d.sql.QueryRowContext(ctx, "SELECT "+rowColumns+", s.content FROM "+rowTables+" WHERE r.kernel = ? AND r.shape = ? AND "+q.where(here)+
			" ORDER BY "+proven+" DESC, s.cost, r.created DESC LIMIT 1", append([]any{q.Kernel, shape}, q.values(here)...)...)
		if err := a.scan(row, &content); err != nil {
			return Answer{}, d.explain(err)
		}
		if err := json.Unmarshal([]byte(content), &a.Schedule); err != nil {
			return Answer{}, &DamagedError{d.path, fmt.Errorf("the schedule of run %s: %w", a.Run, err)}
		}
		return a, nil
	}
	return Answer{}, fmt.Errorf("%s: %w of %s%s", d.path, ErrUnknown, q.Kernel, q.ofVersion())
}

func (q Query) ofVersion() string {
	if q.Version == "" {
		return ""
	}
	return " of version " + q.Version
}

// where is the condition for the runs with a schedule that answer the query, and values are its arguments.
func (q Query) where(here bool) string {
	where := []string{"s.key IS NOT NULL"}
	if q.Version != "" {
		where = append(where, "r.version = ?")
	}
	if here {
		where = append(where, "(r.measured = 0 OR m.fingerprint = ?)")
	}
	return strings.Join(where, " AND ")
}

func (q Query) values(here bool) (list []any) {
	if q.Version != "" {
		list = append(list, q.Version)
	}
	if here {
		list = append(list, fingerprint(q.Machine))
	}
	return list
}

// nearest returns the known shape that is nearest to the asked one. Shapes are looked at by the difference of their sizes, which their
// distance cannot be below, so that only a few of many are.
func (d *DB) nearest(ctx context.Context, q Query, here bool) (text string, distance float64, err error) {
	err = d.sql.QueryRowContext(ctx, "SELECT r.shape FROM "+rowTables+" WHERE r.kernel = ? AND r.shape = ? AND "+q.where(here)+" LIMIT 1",
		append([]any{q.Kernel, q.Shape}, q.values(here)...)...).Scan(&text)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return text, 0, err
	}
	want := parseShape(q.Shape)
	size, least := want.size(), math.Inf(1)
	for _, side := range []struct{ condition, order string }{{"r.size >= ?", "r.size"}, {"r.size < ?", "r.size DESC"}} {
		rows, err := d.sql.QueryContext(ctx, "SELECT r.shape, r.size FROM "+rowTables+" WHERE r.kernel = ? AND "+side.condition+" AND "+q.where(here)+
			" ORDER BY "+side.order, append([]any{q.Kernel, size}, q.values(here)...)...)
		if err != nil {
			return "", 0, err
		}
		for rows.Next() {
			var one string
			var other float64
			if err := rows.Scan(&one, &other); err != nil {
				rows.Close()
				return "", 0, err
			}
			if math.Abs(other-size) > least+rounding {
				break
			}
			// Of equally distant shapes the order of the text decides, so that the answer does not depend on that of the rows.
			if far := want.distance(parseShape(one)); far < least-rounding || far < least+rounding && cmp.Less(one, text) {
				text, least = one, far
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return "", 0, err
		}
	}
	if math.IsInf(least, 1) {
		return "", 0, sql.ErrNoRows
	}
	return text, least, nil
}

// Sources returns the directories of runs to start a run from: those of the same machine first, the nearest shapes before others, and
// only those whose directory is still there, as exists says. There are at most n.
func (d *DB) Sources(ctx context.Context, q Query, n int, exists func(dir string) bool) ([]string, error) {
	rows, err := d.sql.QueryContext(ctx, "SELECT r.dir, r.shape, r.measured = 0 OR m.fingerprint = ? FROM "+rowTables+
		" WHERE r.kernel = ? AND r.version = ? AND r.dir <> '' AND r.valid > 0 ORDER BY r.created DESC", fingerprint(q.Machine), q.Kernel, q.Version)
	if err != nil {
		return nil, d.explain(err)
	}
	defer rows.Close()
	type source struct {
		dir  string
		here bool
		far  float64
	}
	var list []source
	want := parseShape(q.Shape)
	for rows.Next() {
		var s source
		var text string
		if err := rows.Scan(&s.dir, &text, &s.here); err != nil {
			return nil, d.explain(err)
		}
		s.far = want.distance(parseShape(text))
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		return nil, d.explain(err)
	}
	slices.SortStableFunc(list, func(a, b source) int {
		if a.here != b.here {
			return map[bool]int{true: -1, false: 1}[a.here]
		}
		return cmp.Compare(a.far, b.far)
	})
	var dirs []string
	for _, s := range list {
		if len(dirs) < n && exists(s.dir) {
			dirs = append(dirs, s.dir)
		}
	}
	return dirs, nil
}
