package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"tune/internal/files"
	"tune/space"
)

// JournalName is the name of the journal in a run directory.
const JournalName = "journal.jsonl"

const (
	journalFormat = 1
	// maxLine bounds a line of a journal, in bytes, so that a damaged file cannot fill memory.
	maxLine = 16 << 20
	// sealLen is the length of the checksum and the space before a record.
	sealLen = 9
)

// End is the record of why a sitting stopped.
type End struct {
	// Why says in a few words why it stopped, for instance "evaluations spent".
	Why string `json:"why"`
	// Elapsed is the time, in seconds, that the run had spent, over all its sittings.
	Elapsed float64 `json:"elapsed"`
	// Clock is Simulated where the times of the journal are; "" where they are real.
	Clock string `json:"clock,omitempty"`
	// Told is set only where the run stopped because its target was reached: it is the number of
	// trials told, the last of which reached it. Trials numbered Told and higher were in flight
	// at that moment. Zero otherwise.
	Told int `json:"told,omitempty"`
}

// Trim returns the history without the trials that were in flight when the target was reached: how
// many there are depends on the number of workers. Any other history is returned as it is.
func (e End) Trim(h space.History) space.History {
	if e.Told == 0 {
		return h
	}
	h.Entries = maps.Clone(h.Entries)
	maps.DeleteFunc(h.Entries, func(number int, _ space.Entry) bool { return number >= e.Told })
	return h
}

// Log is the content of a journal.
type Log struct {
	RunID   string        // the name of the run directory that the journal was made in
	History space.History // every batch and every outcome
	Ends    []End         // one for each sitting that stopped by itself, in order
	Ended   bool          // whether the last record is an End; if not, the last sitting was cut off
}

// LastEnd returns the end of the run: the zero value while it goes on, or when it was cut off.
func (l Log) LastEnd() End {
	if !l.Ended {
		return End{}
	}
	return l.Ends[len(l.Ends)-1]
}

// Recovery says what reading a journal found.
type Recovery struct {
	Lines     int // the records, the header included
	TornBytes int // bytes after the last record: what was left of a write that was cut off
}

// String describes the recovery in one line.
func (r Recovery) String() string {
	if r.TornBytes == 0 {
		return fmt.Sprintf("%d records", r.Lines)
	}
	return fmt.Sprintf("%d records, and %d bytes of a record that was cut off", r.Lines, r.TornBytes)
}

// LineError says what is wrong with one line of a journal.
type LineError struct {
	File string
	Line int // counted from 1
	Err  error
}

// Error names the file and the line.
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// record is one line of a journal: exactly one of its fields is set.
type record struct {
	Header  *header        `json:"header,omitempty"`
	Batch   *space.Batch   `json:"batch,omitempty"`
	Outcome *outcomeRecord `json:"outcome,omitempty"`
	End     *End           `json:"end,omitempty"`
}

type header struct {
	Format int    `json:"format"`
	Run    string `json:"run"`
}

// outcomeRecord is an entry as it is written. Its cost is a pointer so that a cost of 0, and even of
// -0, reads back as it was.
type outcomeRecord struct {
	Number   int            `json:"number"`
	Key      string         `json:"key"`
	Status   space.Status   `json:"status"`
	Cost     *float64       `json:"cost,omitempty"`
	Metrics  []space.Metric `json:"metrics,omitempty"`
	Fidelity int            `json:"fidelity,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Seconds  float64        `json:"seconds,omitempty"`
	Elapsed  float64        `json:"elapsed"`
}

func newOutcomeRecord(e space.Entry) *outcomeRecord {
	o := e.Outcome
	r := &outcomeRecord{
		Number:   e.Number,
		Key:      e.Key,
		Status:   o.Status,
		Metrics:  o.Metrics,
		Fidelity: o.Fidelity,
		Reason:   strings.ToValidUTF8(o.Reason, "\uFFFD"),
		Seconds:  o.Seconds,
		Elapsed:  e.Elapsed,
	}
	if o.Status == space.OK || o.Cost != 0 || math.Signbit(o.Cost) {
		r.Cost = &o.Cost
	}
	return r
}

func (r *outcomeRecord) entry() space.Entry {
	e := space.Entry{
		Number: r.Number,
		Key:    r.Key,
		Outcome: space.Outcome{
			Status:   r.Status,
			Metrics:  r.Metrics,
			Fidelity: r.Fidelity,
			Reason:   r.Reason,
			Seconds:  r.Seconds,
		},
		Elapsed: r.Elapsed,
	}
	if r.Cost != nil {
		e.Outcome.Cost = *r.Cost
	}
	return e
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns the line of a record: its checksum, a space, its JSON, a newline.
func seal(r record) ([]byte, error) {
	var buf bytes.Buffer
	buf.Write(make([]byte, sealLen))
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil { // Encode ends with the newline.
		return nil, err
	}
	line := buf.Bytes()
	if len(line) > maxLine {
		return nil, fmt.Errorf("a record of %d bytes is longer than the %d that a journal line may have", len(line), maxLine)
	}
	checksum(line[:sealLen], line[sealLen:len(line)-1])
	return line, nil
}

// unseal returns the JSON of a line without its newline, and whether its checksum is right.
func unseal(line []byte) ([]byte, bool) {
	if len(line) < sealLen {
		return nil, false
	}
	var want [sealLen]byte
	checksum(want[:], line[sealLen:])
	return line[sealLen:], bytes.Equal(line[:sealLen], want[:])
}

func checksum(dst, data []byte) {
	copy(dst, fmt.Appendf(nil, "%08x ", crc32.Checksum(data, castagnoli)))
}

// ledger holds what a journal's next record must agree with. The reader and the writer share it, so
// that nothing is written that could not be read.
type ledger struct {
	batches int              // batches so far
	trials  int              // trials in them
	ended   map[int]struct{} // trials that have an outcome
}

func newLedger() ledger { return ledger{ended: make(map[int]struct{})} }

// admit takes a record that has passed check, or says why it cannot come next.
func (l *ledger) admit(r record) error {
	switch {
	case r.Batch != nil:
		return l.admitBatch(*r.Batch)
	case r.Outcome != nil:
		return l.admitOutcome(r.Outcome.Number)
	case r.End != nil && r.End.Told > l.trials:
		return fmt.Errorf("the run ended after %d trials told, but %d were asked", r.End.Told, l.trials)
	}
	return nil
}

func (l *ledger) admitBatch(b space.Batch) error {
	switch {
	case b.Number != l.batches:
		return fmt.Errorf("batch %d stands where batch %d is expected", b.Number, l.batches)
	case b.First != l.trials:
		return fmt.Errorf("batch %d begins at trial %d rather than %d", b.Number, b.First, l.trials)
	case b.Count > math.MaxInt-b.First:
		return fmt.Errorf("batch %d has %d trials", b.Number, b.Count)
	}
	l.batches++
	l.trials += b.Count
	return nil
}

func (l *ledger) admitOutcome(number int) error {
	if number >= l.trials {
		return fmt.Errorf("trial %d is in no batch: %d trials were asked", number, l.trials)
	}
	if _, dup := l.ended[number]; dup {
		return fmt.Errorf("trial %d has an outcome already", number)
	}
	l.ended[number] = struct{}{}
	return nil
}

// check reports a record that makes no sense by itself, or that would not read back as it was.
func (r record) check() error {
	set := 0
	for _, is := range []bool{r.Header != nil, r.Batch != nil, r.Outcome != nil, r.End != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("the record is of %d kinds rather than one", set)
	case r.Batch != nil:
		return checkBatch(*r.Batch)
	case r.Outcome != nil:
		return checkEntry(r.Outcome.entry())
	case r.End != nil:
		return checkEnd(*r.End)
	}
	return nil
}

func checkBatch(b space.Batch) error {
	switch {
	case b.Number < 0 || b.First < 0 || b.Count < 1:
		return fmt.Errorf("batch %d has %d trials from %d on", b.Number, b.Count, b.First)
	case !finite(b.Progress.Left):
		return fmt.Errorf("batch %d was asked with %v of the budget left", b.Number, b.Progress.Left)
	}
	return nil
}

func checkEnd(e End) error {
	switch {
	case e.Why == "" || !utf8.ValidString(e.Why):
		return errors.New("the end does not say why")
	case !finite(e.Elapsed) || e.Elapsed < 0:
		return fmt.Errorf("the end has an elapsed time of %v s", e.Elapsed)
	case e.Told < 0:
		return fmt.Errorf("the end has %d trials told", e.Told)
	}
	return nil
}

func checkEntry(e space.Entry) error {
	if err := checkOutcome(e); err != nil {
		return fmt.Errorf("trial %d: %w", e.Number, err)
	}
	return nil
}

func checkOutcome(e space.Entry) error {
	o := e.Outcome
	if err := o.Validate(); err != nil {
		return err
	}
	switch {
	case e.Number < 0:
		return errors.New("its number is negative")
	case e.Key == "" || !utf8.ValidString(e.Key):
		return fmt.Errorf("%q is not the key of a point", e.Key)
	case !finite(e.Elapsed) || e.Elapsed < 0:
		return fmt.Errorf("its elapsed time is %v s", e.Elapsed)
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// ReadJournal reads a journal without locking or changing it: for exports, checks and replays. The
// bytes after the last record are counted in Recovery.TornBytes and are no error; a process that is
// writing the journal may leave some too. A damaged line with records after it, and a record that
// contradicts those before it, is a *LineError; the log then holds what came before. The errors name
// the file where r has a Name method, as *os.File has.
func ReadJournal(r io.Reader) (Log, Recovery, error) {
	s := scan(r)
	return s.log, s.recovery(), s.err
}

// scanned is what one pass over a journal found.
type scanned struct {
	name   string
	log    Log
	ledger ledger
	lines  int   // records
	valid  int64 // bytes of them
	total  int64 // bytes read
	err    error
}

func (s *scanned) recovery() Recovery {
	return Recovery{Lines: s.lines, TornBytes: int(s.total - s.valid)}
}

func scan(r io.Reader) *scanned {
	s := &scanned{
		name:   "journal",
		ledger: newLedger(),
		log:    Log{History: space.History{Entries: make(map[int]space.Entry)}},
	}
	if named, ok := r.(interface{ Name() string }); ok {
		s.name = named.Name()
	}
	s.err = s.readLines(bufio.NewReaderSize(r, 64<<10))
	return s
}

func (s *scanned) readLines(r *bufio.Reader) error {
	var line, torn []byte
	for number, damaged := 1, 0; ; number++ {
		var n int64
		var err error
		line, n, err = readLine(r, line[:0])
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.total += n
		if n == 0 {
			if s.lines == 0 && (s.total > int64(len(torn)) || !tornHeader(torn)) {
				return fmt.Errorf("%s is not a journal of tune", s.name)
			}
			return nil
		}
		payload, ok := unseal(line)
		switch {
		case err == io.EOF || !ok:
			if damaged == 0 {
				damaged = number
			}
			if err == io.EOF {
				torn = bytes.Clone(line)
			}
			continue
		case damaged != 0:
			return &LineError{s.name, damaged, fmt.Errorf("the line is damaged, and line %d after it is not", number)}
		}
		if err := s.apply(payload); err != nil {
			return &LineError{s.name, number, err}
		}
		s.lines++
		s.valid = s.total
	}
}

// readLine appends the next line to buf, without its newline, and returns the bytes that it took. It
// returns io.EOF with a last line that has no newline. Of a line that is too long it returns nothing
// but the length, so that it cannot pass for a record.
func readLine(r *bufio.Reader, buf []byte) (line []byte, n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if n <= maxLine {
			buf = append(buf, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if n > maxLine {
			return buf[:0], n, err
		}
		return bytes.TrimSuffix(buf, []byte("\n")), n, err
	}
}

// tornHeader reports whether data could be what is left of a header whose write was cut off. It keeps
// OpenJournal from taking, and truncating, any other file for a journal.
func tornHeader(data []byte) bool {
	const opening = `{"header":{"format":`
	for _, c := range data[:min(len(data), sealLen-1)] {
		if !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return false
		}
	}
	rest := string(data[min(len(data), sealLen-1):])
	want := " " + opening
	n := min(len(rest), len(want))
	return rest[:n] == want[:n]
}

// apply adds a record whose checksum is right.
func (s *scanned) apply(payload []byte) error {
	if s.lines == 0 {
		if err := checkFormat(payload); err != nil {
			return err
		}
	}
	var r record
	if err := strictJSON(payload, &r); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := s.ledger.admit(r); err != nil {
		return err
	}
	h := &s.log.History
	s.log.Ended = r.End != nil
	switch {
	case r.Header != nil:
		if s.lines > 0 {
			return errors.New("a second header")
		}
		s.log.RunID = r.Header.Run
	case r.Batch != nil:
		h.Batches = append(h.Batches, *r.Batch)
	case r.Outcome != nil:
		e := r.Outcome.entry()
		h.Entries[e.Number] = e
		h.Elapsed = max(h.Elapsed, e.Elapsed)
	default:
		s.log.Ends = append(s.log.Ends, *r.End)
		h.Elapsed = max(h.Elapsed, r.End.Elapsed)
	}
	return nil
}

// checkFormat reads no more of the first record than its format, so that a journal of a later version
// is called that rather than damaged.
func checkFormat(payload []byte) error {
	var first struct {
		Header *struct {
			Format int `json:"format"`
		} `json:"header"`
	}
	if err := json.Unmarshal(payload, &first); err != nil {
		return explainJSON(err)
	}
	if first.Header == nil {
		return errors.New("the first record is no header")
	}
	if first.Header.Format != journalFormat {
		return fmt.Errorf("journal format %d is not known to this tune, which reads format %d", first.Header.Format, journalFormat)
	}
	return nil
}

// appendFile is the file under a journal. Tests put failing ones in its place.
type appendFile interface {
	io.WriteCloser
	Sync() error
}

// diskFile is a file on disk.
type diskFile struct{ *os.File }

func (f diskFile) Sync() error { return syncData(f.File) }

// Journal is the durable list of everything that a run asked and was told. It is safe for concurrent
// use. A record is handed to the kernel, in one write, before the call that makes it returns: the
// death of the process loses nothing that was recorded. A goroutine brings it to disk as soon as it
// can, many records at a time; Sync waits for it. The first error of the disk ends the journal: it is
// returned by every later call.
type Journal struct {
	path string
	file appendFile
	lock io.Closer
	log  Log

	mu      sync.Mutex
	dirty   sync.Cond // signalled when written grows or closing is set
	clean   sync.Cond // broadcast when durable grows or err is set
	ledger  ledger
	written int // records handed to the kernel
	durable int // records known to be on disk
	closing bool
	err     error // the first error of the disk

	syncerDone chan struct{}
	closeOnce  sync.Once
	closeErr   error
}

// CreateJournal makes a journal that holds nothing but its header, which is durable on return. It
// fails if the file exists. The directory must exist, and is locked until Close; see OpenJournal.
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
	id, err := writeHeader(file, path)
	if err != nil {
		file.Close()
		return nil, err
	}
	s := scanned{ledger: newLedger()}
	s.log = Log{RunID: id, History: space.History{Entries: make(map[int]space.Entry)}}
	return newJournal(path, diskFile{file}, lock, &s), nil
}

// writeHeader begins an empty journal, durably, and returns its run id.
func writeHeader(file *os.File, path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	id := strings.ToValidUTF8(filepath.Base(filepath.Dir(abs)), "\uFFFD")
	line, err := seal(record{Header: &header{Format: journalFormat, Run: id}})
	if err != nil {
		return "", err
	}
	if _, err := file.Write(line); err != nil {
		return "", err
	}
	if err := file.Sync(); err != nil {
		return "", err
	}
	return id, syncDir(filepath.Dir(abs))
}

// OpenJournal opens a journal to append to it. It takes the lock of the directory until Close; when
// another process has it, the error is an *InUseError. What follows the last record, when no record
// comes after it, is what was left of a write that was cut off: it is removed, and counted in
// Recovery. A journal that is damaged in any other way is left as it is; see ReadJournal.
func OpenJournal(path string) (*Journal, Recovery, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, Recovery{}, err
	}
	lock, err := acquireLock(filepath.Dir(path))
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
	s := scan(file)
	if s.err == nil && s.total > s.valid {
		s.err = truncate(file, s.valid)
	}
	if s.err == nil && s.lines == 0 {
		s.log.RunID, s.err = writeHeader(file, path)
	}
	if s.err != nil {
		file.Close()
		return nil, s.recovery(), s.err
	}
	return newJournal(path, diskFile{file}, lock, s), s.recovery(), nil
}

func truncate(file *os.File, size int64) error {
	if err := file.Truncate(size); err != nil {
		return err
	}
	return file.Sync()
}

func newJournal(path string, file appendFile, lock io.Closer, s *scanned) *Journal {
	j := &Journal{
		path:       path,
		file:       file,
		lock:       lock,
		log:        s.log,
		ledger:     s.ledger,
		syncerDone: make(chan struct{}),
		// The process that wrote the records found here may have died before they were durable,
		// so they count as written only.
		written: s.lines,
	}
	j.dirty.L, j.clean.L = &j.mu, &j.mu
	go j.syncer()
	return j
}

// Path returns the file of the journal.
func (j *Journal) Path() string { return j.path }

// Log returns what the journal held when it was opened.
func (j *Journal) Log() Log { return j.log }

// Batch records that a batch is about to be evaluated. Batches are numbered from 0 and their trials
// follow on without a gap; anything else is an error, and nothing is written.
func (j *Journal) Batch(b space.Batch) error { return j.append(record{Batch: &b}) }

// Record records the outcome of a trial. A trial that is in no batch, one that has an outcome already,
// and an outcome that cannot be believed are errors, and nothing is written. Bytes of the reason that
// are not UTF-8 are replaced.
func (j *Journal) Record(e space.Entry) error { return j.append(record{Outcome: newOutcomeRecord(e)}) }

// End records why this sitting stopped.
func (j *Journal) End(e End) error { return j.append(record{End: &e}) }

func (j *Journal) append(r record) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	line, err := seal(r)
	if err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	if err := j.ledger.admit(r); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	if _, err := j.file.Write(line); err != nil {
		// A part of the line may be in the file, and nothing may follow it.
		j.fail(err)
		return j.err
	}
	j.written++
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

// Close brings everything to disk, closes the file and gives up the lock. It returns the first error of
// the disk. A second call does nothing and returns the same.
func (j *Journal) Close() error {
	j.closeOnce.Do(func() {
		j.mu.Lock()
		j.closing = true
		j.dirty.Signal()
		j.mu.Unlock()
		<-j.syncerDone
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

// usable says why nothing can be recorded any more. The caller holds mu.
func (j *Journal) usable() error {
	if j.err == nil && j.closing {
		return fmt.Errorf("%s: %w", j.path, os.ErrClosed)
	}
	return j.err
}

// fail keeps the first error of the disk. The caller holds mu.
func (j *Journal) fail(err error) {
	if j.err == nil {
		j.err = fmt.Errorf("journal %s: %w", j.path, err)
	}
	j.clean.Broadcast()
}

// syncer brings records to disk for as long as there are any that are not. The records written while
// one sync is under way share the next. It ends when the journal closes, or when a sync fails: after
// that the kernel may have dropped the data, and a later success would prove nothing.
func (j *Journal) syncer() {
	defer close(j.syncerDone)
	j.mu.Lock()
	defer j.mu.Unlock()
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
	}
}
