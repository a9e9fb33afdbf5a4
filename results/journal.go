package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tune/internal/files"
	"tune/space"
)

// JournalName is the name of the journal in a run directory.
const JournalName = "journal.jsonl"

// maxLine bounds a line of a journal, in bytes, so that a damaged file cannot fill memory.
const maxLine = 16 << 20

// End is the record of why a sitting stopped.
type End struct {
	// Why says in a few words why it stopped, for instance "evaluations spent".
	Why string `json:"why"`
	// Reason is the status of the baseline and what is wrong with it, where that failed; "" otherwise, and in runs of earlier versions.
	Reason string `json:"reason,omitempty"`
	// Elapsed is the time in seconds that the run had spent over all its sittings.
	Elapsed float64 `json:"elapsed"`
	// Clock is Simulated where the times of the journal are simulated; "" where they are real.
	Clock string `json:"clock,omitempty"`
	// Told is set only where the run stopped because its target was reached: it is the number of trials told, the last of which
	// reached the target. Trials numbered Told and higher were in flight at that moment. Otherwise it is zero.
	Told int `json:"told,omitempty"`
}

// Words are Why and the Reason.
func (e End) Words() string {
	if e.Reason == "" {
		return e.Why
	}
	return e.Why + ": " + e.Reason
}

// History is what a run has asked and measured, batch by batch; space.History and Run implement it. An error ends it.
type History interface {
	Rounds() iter.Seq2[space.Round, error]
	Spent() float64 // seconds
}

// Trim returns the history without the trials that were in flight when the target was reached: their number depends on the number
// of workers. Any other history is returned unchanged.
func (e End) Trim(h History) History {
	if e.Told == 0 {
		return h
	}
	return trimmed{h, e.Told}
}

// Only yields the rounds of a history as [Stored.Only] does where its outcomes are in a journal; of any other history all of each
// outcome is known.
func Only(h History, want func(*space.Entry) bool) iter.Seq2[space.Round, error] {
	switch h := h.(type) {
	case interface {
		Only(func(*space.Entry) bool) iter.Seq2[space.Round, error]
	}:
		return h.Only(want)
	case trimmed:
		return h.trim(Only(h.History, want))
	}
	return h.Rounds()
}

// Parts is Only for [Stored.Parts].
func Parts(h History, params []string) iter.Seq2[space.Round, error] {
	switch h := h.(type) {
	case interface {
		Parts([]string) iter.Seq2[space.Round, error]
	}:
		return h.Parts(params)
	case trimmed:
		return h.trim(Parts(h.History, params))
	}
	return h.Rounds()
}

// trimmed is a history up to a trial.
type trimmed struct {
	History
	told int
}

func (t trimmed) Rounds() iter.Seq2[space.Round, error] { return t.trim(t.History.Rounds()) }

func (t trimmed) trim(rounds iter.Seq2[space.Round, error]) iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		for r, err := range rounds {
			n, _ := slices.BinarySearchFunc(r.Entries, t.told, func(e space.Entry, told int) int { return e.Number - told })
			r.Entries = r.Entries[:n]
			if !yield(r, err) {
				return
			}
		}
	}
}

// Log is the content of a journal.
type Log struct {
	Outline
	History space.History // every batch and every outcome
}

// Recovery says what reading a journal found.
type Recovery struct {
	Lines     int // the records, the header included
	TornBytes int // bytes after the last record: the rest of a write that was cut off
}

// String describes the recovery in one line.
func (r Recovery) String() string {
	if r.TornBytes == 0 {
		return fmt.Sprintf("%d records", r.Lines)
	}
	return fmt.Sprintf("%d records, and %d bytes of a record that was cut off", r.Lines, r.TornBytes)
}

// LineError is an error in one line of a journal.
type LineError struct {
	File string
	Line int // counted from 1
	Err  error
}

// Error names the file and the line.
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// ReadJournal reads a whole journal into memory, without locking or changing it; for a journal of millions of outcomes see
// Run.Rounds. Recovery.TornBytes counts the bytes after the last record. They are no error; a process that is writing the journal
// may leave some too. A damaged line with records after it, and a record that contradicts those before it, are a *LineError; the
// log then holds what came before. Errors name the file where r has a Name method, as *os.File has.
func ReadJournal(r io.Reader) (Log, Recovery, error) {
	s := newScanner(r)
	l := Log{History: space.History{Entries: make(map[int]space.Entry)}}
	err := s.readAll(func(r *record, _ place) {
		switch r.kind {
		case aBatch:
			l.History.Batches = append(l.History.Batches, r.batch)
		case anOutcome:
			l.History.Entries[r.entry.Number] = r.entry
		}
	})
	l.Outline, l.History.Elapsed = s.outline, s.outline.Elapsed
	return l, s.recovery(), err
}

// appendFile is the file of a journal. Tests replace it by failing ones.
type appendFile interface {
	io.WriteCloser
	Sync() error
}

// diskFile is a file on disk.
type diskFile struct{ *os.File }

// Sync makes what was written durable. It fails where the file has no name any more, because nobody could find the file again.
func (f diskFile) Sync() error {
	if err := syncData(f.File); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink == 0 {
		return errDeleted
	}
	return nil
}

// errDeleted says that a journal was deleted while its run was writing to it.
var errDeleted = errors.New("it was deleted while the run went on, and what is measured would be lost")

// Journal is the durable, append-only list of everything that a run asked and was told. It is safe for concurrent use. The call
// that makes a record returns only when one write has handed the record to the operating system, so that nothing recorded is lost
// when the process dies. A goroutine syncs to disk as soon as it can, many records at a time; Sync waits for it. The first disk
// error ends the journal: every later call returns it.
type Journal struct {
	path string
	file appendFile
	lock io.Closer
	past Stored

	mu      sync.Mutex
	dirty   sync.Cond // signalled when written grows or closing is set
	clean   sync.Cond // broadcast when durable grows or err is set
	format  format
	ledger  ledger
	line    []byte // memory for the lines of a record
	written int    // lines handed to the operating system
	durable int    // lines known to be on disk
	size    int64  // bytes of the file
	digest  digester
	// dir is where the summary file is written; "" for none.
	dir     string
	closing bool
	err     error // the first error of the disk

	syncerDone chan struct{}
	closeOnce  sync.Once
	closeErr   error
}

// CreateJournal creates a journal that holds only its header, which is durable on return. It fails if the file exists. The
// directory must exist, and is locked until Close; see OpenJournal.
func CreateJournal(path string) (*Journal, error) {
	lock, err := acquireLock(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	j, err := createJournal(path, lock)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return j, nil
}

func createJournal(path string, lock io.Closer) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	s := newScanner(nil)
	if s.outline.RunID, err = s.writeHeader(file, path); err != nil {
		file.Close()
		return nil, err
	}
	digest := newDigester()
	digest.run = s.outline.RunID
	return newJournal(path, filepath.Dir(path), diskFile{file}, lock, s, digest), nil
}

// writeHeader starts an empty journal, durably, and returns its run id.
func (s *scanner) writeHeader(file *os.File, path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	r := record{kind: aHeader, run: strings.ToValidUTF8(filepath.Base(filepath.Dir(abs)), "\uFFFD")}
	s.format = newFormat(newestFormat)
	line, _, err := s.format.encode(nil, &r)
	if err != nil {
		return "", err
	}
	if _, err := file.Write(line); err != nil {
		return "", err
	}
	if err := file.Sync(); err != nil {
		return "", err
	}
	s.lines, s.valid = 1, int64(len(line))
	return r.run, files.SyncDir(filepath.Dir(abs))
}

// OpenJournal opens a journal for appending. It locks the directory until Close; when another process holds the lock, the error
// is an *InUseError. Bytes after the last record are the rest of a write that was cut off: they are removed, and counted in
// Recovery. A journal that is damaged in any other way is left unchanged; see ReadJournal. Of a long journal with a summary file
// only the end is read; damage before that is found when Past is read.
func OpenJournal(path string) (*Journal, Recovery, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, Recovery{}, err
	}
	lock, err := acquireLock(filepath.Dir(path))
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: copy the run to a folder that can be written, and continue it there", err)
	}
	if err != nil {
		return nil, Recovery{}, err
	}
	j, recovery, err := openJournal(path, lock)
	if err != nil {
		lock.Close()
		return nil, recovery, err
	}
	return j, recovery, nil
}

func openJournal(path string, lock io.Closer) (*Journal, Recovery, error) {
	file, err := files.OpenToChange(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, Recovery{}, err
	}
	s, digest, err := digestOf(filepath.Dir(path), file)
	recovery := s.recovery()
	s.whole = nil // the journal is continued in this format
	s.setFormat(s.format)
	if err == nil && s.total > s.valid {
		err = truncate(file, s.valid)
	}
	if err == nil && s.lines == 0 {
		s.outline.RunID, err = s.writeHeader(file, path)
		digest.run = s.outline.RunID
	}
	if err != nil {
		file.Close()
		return nil, recovery, err
	}
	return newJournal(path, filepath.Dir(path), diskFile{file}, lock, s, *digest), recovery, nil
}

func truncate(file *os.File, size int64) error {
	if err := file.Truncate(size); err != nil {
		return err
	}
	return file.Sync()
}

func newJournal(path, dir string, file appendFile, lock io.Closer, s *scanner, digest digester) *Journal {
	j := &Journal{
		path:       path,
		file:       file,
		lock:       lock,
		past:       storedUpTo(path, s, nil),
		format:     s.format,
		ledger:     s.ledger,
		syncerDone: make(chan struct{}),
		// The process that wrote these records may have died before they were durable, so they count only as written.
		written: s.lines,
		size:    s.valid,
		digest:  digest,
		dir:     dir,
	}
	j.dirty.L, j.clean.L = &j.mu, &j.mu
	go j.syncer()
	return j
}

// Path returns the file of the journal.
func (j *Journal) Path() string { return j.path }

// Past returns what the journal held when it was opened.
func (j *Journal) Past() Stored { return j.past }

// Batch records that a batch is about to be evaluated. Batches are numbered from 0, and their trials without a gap; anything else
// is an error, and nothing is written.
func (j *Journal) Batch(b space.Batch) error { return j.append(&record{kind: aBatch, batch: b}) }

// Record records the outcome of a trial. It is an error, and nothing is written, where the trial is in no batch, has an outcome
// already, or the outcome is not plausible. Bytes of the reason and of By that are not UTF-8 are replaced.
func (j *Journal) Record(e space.Entry) error {
	e.Outcome.Reason = strings.ToValidUTF8(e.Outcome.Reason, "\uFFFD")
	e.Outcome.By = strings.ToValidUTF8(e.Outcome.By, "\uFFFD")
	return j.append(&record{kind: anOutcome, entry: e})
}

// End records why this sitting stopped.
func (j *Journal) End(e End) error { return j.append(&record{kind: anEnd, end: e}) }

func (j *Journal) append(r *record) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	line, n, err := j.format.encode(j.line[:0], r)
	if err == nil {
		j.line = line
		err = j.ledger.admit(r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	if _, err := j.file.Write(line); err != nil {
		// A part of the line may be in the file, and nothing may be written after it.
		j.fail(err)
		return j.err
	}
	j.format.keep()
	j.digest.see(r, place{j.size, j.written}, &j.ledger, j.format)
	j.size += int64(len(line))
	j.written += n
	j.dirty.Signal()
	return nil
}

// Sync returns when everything recorded so far is on disk.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	for goal := j.written; j.err == nil && j.durable < goal; {
		j.clean.Wait()
	}
	return j.err
}

// Close syncs everything to disk, closes the file and releases the lock. It returns the first disk error. A second call does
// nothing and returns the same.
func (j *Journal) Close() error {
	j.closeOnce.Do(func() {
		j.mu.Lock()
		j.closing = true
		j.dirty.Signal()
		j.mu.Unlock()
		<-j.syncerDone
		j.mu.Lock()
		j.summarise()
		j.mu.Unlock()
		if err := j.file.Close(); err != nil {
			j.mu.Lock()
			j.fail(err)
			j.mu.Unlock()
		}
		j.lock.Close()
		j.closeErr = j.err
	})
	return j.closeErr
}

// usable returns why nothing can be recorded any more, or nil. The caller holds mu.
func (j *Journal) usable() error {
	if j.err == nil && j.closing {
		return fmt.Errorf("%s: %w", j.path, os.ErrClosed)
	}
	return j.err
}

// fail keeps the first disk error. The caller holds mu.
func (j *Journal) fail(err error) {
	if j.err == nil {
		j.err = fmt.Errorf("journal %s: %w", j.path, err)
	}
	j.clean.Broadcast()
}

// syncer syncs records to disk while there are any that are not durable. Records written during one sync share the next. It ends
// when the journal closes, or when a sync fails: after that the kernel may have dropped the data, and a later success would prove
// nothing.
func (j *Journal) syncer() {
	defer close(j.syncerDone)
	j.mu.Lock()
	defer j.mu.Unlock()
	summarised := time.Now()
	for {
		for j.durable == j.written && !j.closing {
			j.dirty.Wait()
		}
		if j.durable == j.written {
			return
		}
		goal := j.written
		j.mu.Unlock()
		err := j.file.Sync()
		j.mu.Lock()
		if err != nil {
			j.fail(err)
			return
		}
		j.durable = goal
		j.clean.Broadcast()
		if time.Since(summarised) >= summaryPeriod {
			j.summarise()
			summarised = time.Now()
		}
	}
}

// summaryPeriod is how often the summary file is written while the run goes on.
const summaryPeriod = 5 * time.Second

// summarise writes the summary file. A failure is no error, because the file only saves time. The caller holds mu, which is
// released while the file is written.
func (j *Journal) summarise() {
	d, ok := j.digest.file()
	if !ok || j.dir == "" || j.err != nil {
		return
	}
	j.mu.Unlock()
	defer j.mu.Lock()
	_ = writeSummary(j.dir, d)
}
