// Package db is an index of runs: what was measured, of which kernel, at which shape, and where. It is an SQLite file. Every run
// enters itself there when it ends.
//
// The run directories remain the source of truth. Whatever the file holds of them can be read from them again; see [DB.Rebuild]. So a file that is
// damaged, locked or of a later version is an error of the index alone, and callers go on without it.
//
// SQLite is built without cgo (modernc.org/sqlite). The file is in WAL mode, so that several processes can write to it at once, and a
// process that is killed leaves it whole.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// DB is an open index. Its methods may be called by several goroutines.
type DB struct {
	sql  *sql.DB
	path string
}

// application marks the file as one of tune's, in the header that SQLite has for that purpose.
const application = 0x74756e65 // "tune"

// migrations turn a file of one version into one of the next. The first makes the tables.
var migrations = []string{`
CREATE TABLE machines (
	id INTEGER PRIMARY KEY,
	fingerprint TEXT NOT NULL UNIQUE,
	os TEXT NOT NULL, arch TEXT NOT NULL, cpu TEXT NOT NULL, cores INTEGER NOT NULL,
	roofs TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE runs (
	id INTEGER PRIMARY KEY,
	run TEXT NOT NULL UNIQUE,
	dir TEXT NOT NULL,
	stamp TEXT NOT NULL,
	kernel TEXT NOT NULL, version TEXT NOT NULL, shape TEXT NOT NULL, size REAL NOT NULL,
	unit TEXT NOT NULL, measured INTEGER NOT NULL,
	strategy TEXT NOT NULL, seed TEXT NOT NULL,
	machine INTEGER NOT NULL REFERENCES machines,
	created TEXT NOT NULL, ended TEXT NOT NULL,
	evaluations INTEGER NOT NULL, valid INTEGER NOT NULL, elapsed REAL NOT NULL,
	settings TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_dir ON runs (dir);
CREATE INDEX runs_by_shape ON runs (kernel, shape);
CREATE INDEX runs_by_size ON runs (kernel, size);
CREATE TABLE points (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	rank INTEGER NOT NULL,
	trial INTEGER NOT NULL, key TEXT NOT NULL, cost REAL NOT NULL,
	metrics TEXT NOT NULL,
	PRIMARY KEY (run, rank)
) STRICT, WITHOUT ROWID;
CREATE TABLE failures (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	status TEXT NOT NULL, count INTEGER NOT NULL, shared TEXT NOT NULL, reason TEXT NOT NULL,
	PRIMARY KEY (run, status)
) STRICT, WITHOUT ROWID;
CREATE TABLE schedules (
	run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
	key TEXT NOT NULL, cost REAL NOT NULL, verdict TEXT NOT NULL, checked TEXT NOT NULL,
	content TEXT NOT NULL
) STRICT;
CREATE TABLE comparisons (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	key TEXT NOT NULL, other TEXT NOT NULL,
	ratio REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, pairs INTEGER NOT NULL,
	PRIMARY KEY (run, key, other)
) STRICT, WITHOUT ROWID;
`}

// DefaultPath returns where the index of a user is, whose environment getenv reads: $XDG_DATA_HOME/tune/tune.db, or in ~/.local/share. It is
// "" where neither is known.
func DefaultPath(getenv func(name string) string) string {
	data, home := getenv("XDG_DATA_HOME"), getenv("HOME")
	switch {
	case filepath.IsAbs(data):
	case filepath.IsAbs(home):
		data = filepath.Join(home, ".local", "share")
	default:
		return ""
	}
	return filepath.Join(data, "tune", "tune.db")
}

// patience is how long a process waits for others that write to the file.
const patience = 10 * time.Second

// Open opens an index, and makes one where there is none. A file of an earlier version is brought to this one.
func Open(ctx context.Context, path string) (*DB, error) {
	d, err := open(ctx, path, true, patience)
	if err != nil {
		return nil, explain(path, err)
	}
	return d, nil
}

// OpenExisting opens an index. A file that does not exist is an error that wraps fs.ErrNotExist.
func OpenExisting(ctx context.Context, path string) (*DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no index of runs: %w: it is made by the first run, or by 'tune db rebuild DIR'", err)
	}
	d, err := open(ctx, path, false, patience)
	if err != nil {
		return nil, explain(path, err)
	}
	return d, nil
}

func open(ctx context.Context, path string, create bool, patience time.Duration) (*DB, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, errors.New("it is a folder: name a file")
	}
	if create {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	if err := settle(ctx, path, patience); err != nil {
		return nil, err
	}
	return connect(path, patience)
}

// connect returns an index that is opened when it is first used. busy is how long each access waits for other processes.
func connect(path string, busy time.Duration) (*DB, error) {
	name := (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: url.Values{
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "foreign_keys(1)", "synchronous(normal)"},
		"_txlock": {"immediate"},
	}.Encode()}).String()
	file, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	return &DB{file, path}, nil
}

// settle brings the tables to the newest version, and waits for other processes that do the same. SQLite's own wait is not enough: while the
// mode of a file changes, it turns a process away at once where its wait might be a deadlock. As an attempt has several such waits, and may
// begin late, each is short.
func settle(ctx context.Context, path string, patience time.Duration) error {
	const short = 100 * time.Millisecond
	d, err := connect(path, short)
	if err != nil {
		return err
	}
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, short) {
		err := d.migrate(ctx)
		if !isBusy(err) || time.Since(began) > patience {
			return errors.Join(err, d.Close())
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), d.Close())
		case <-time.After(pause):
		}
	}
}

// isBusy says whether an error of SQLite is that another process holds the file.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := e.Code() & 0xff // the rest is detail
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// isElsewhere says whether an error of SQLite is one of the system or of other processes, which says nothing of what the file holds.
func isElsewhere(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff { // the rest is detail
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return true
	}
	return false
}

// Close closes the index.
func (d *DB) Close() error { return d.sql.Close() }

// Path returns the path of the file.
func (d *DB) Path() string { return d.path }

// NewerError says that an index was made by a later version of tune.
type NewerError struct {
	Path          string
	Version, Most int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s: the index has version %d, and this tune knows versions up to %d: use the newer tune, or name another file by --db", e.Path, e.Version, e.Most)
}

// DamagedError says that a file is no index, or not a whole one.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: the index of runs is damaged (%v): 'tune db rebuild DIR...' makes it again from run directories, and keeps the damaged file", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// errForeign says that a file is a database of something else.
var errForeign = errors.New("it is a database of another program")

// migrate brings the tables to the newest version.
func (d *DB) migrate(ctx context.Context) error {
	version, err := d.version(ctx, d.sql)
	if err != nil || version == len(migrations) {
		return err
	}
	// The mode is kept in the file.
	if _, err := d.sql.ExecContext(ctx, "PRAGMA journal_mode = wal"); err != nil {
		return err
	}
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after Commit
	// Another process may have been first.
	if version, err = d.version(ctx, tx); err != nil {
		return err
	}
	for ; version < len(migrations); version++ {
		if _, err := tx.ExecContext(ctx, migrations[version]); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", len(migrations), application)); err != nil {
		return err
	}
	return tx.Commit()
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// version returns the version of the tables, 0 for a new file.
func (d *DB) version(ctx context.Context, q querier) (int, error) {
	var version, id, tables int
	err := q.QueryRowContext(ctx, "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)").Scan(&version, &id, &tables)
	switch {
	case err != nil:
		return 0, err
	case version == 0 && tables == 0:
		return 0, nil
	case id != application:
		return 0, errForeign
	case version > len(migrations):
		return 0, &NewerError{d.path, version, len(migrations)}
	}
	return version, nil
}

// explain says what an error of SQLite means for the user.
func explain(path string, err error) error {
	if isBusy(err) {
		return fmt.Errorf("%s: another process has held the index of runs for %v: %w: wait for it, or name another file by --db", path, patience, err)
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff { // the rest is detail
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return &DamagedError{path, err}
		}
	}
	if _, ok := errors.AsType[*NewerError](err); ok {
		return err
	}
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%s: %w: name another file by --db", path, err)
	}
	return fmt.Errorf("%s: the index of runs: %w", path, err)
}

// aside moves a damaged file, and what SQLite keeps beside it, out of the way. It returns the new name.
func aside(path string) (string, error) {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Rename(path+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		return to, nil
	}
}
