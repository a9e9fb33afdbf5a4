package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tune/space"
)

// sample is a small log with every kind of record in it.
func sample() Log {
	entries := []space.Entry{
		{Number: 0, Key: "a=1 b=x", Outcome: space.Outcome{Status: space.OK, Cost: 1470.25, Seconds: 0.1,
			Metrics: []space.Metric{{Name: "alu", Value: 3}, {Name: "load", Value: 0.1}}}, Elapsed: 0.5},
		{Number: 1, Key: "a=2 b=y", Outcome: space.Fail(space.Invalid, "needs <1700> words & has \"1536\"\nor so"), Elapsed: 1},
		{Number: 2, Key: "a=3", Outcome: space.Outcome{Status: space.OK, Cost: 12, Fidelity: 1}, Elapsed: 1.5},
		{Number: 4, Key: "a=4 b=z", Outcome: space.Fail(space.Timeout, "longer than 1s"), Elapsed: 2},
	}
	l := Log{
		History: space.History{
			Batches: []space.Batch{
				{Number: 0, First: 0, Count: 3, Progress: space.Progress{Left: 1, Evaluations: 5}},
				{Number: 1, First: 3, Count: 2, Progress: space.Progress{Told: 3, Left: 0.4, Evaluations: 2}},
			},
			Entries: make(map[int]space.Entry),
			Elapsed: 2.5,
		},
	}
	for _, e := range entries {
		l.History.Entries[e.Number] = e
	}
	l.Outline = outlineOf(l.History, "sample", []End{{Why: "stopped by a signal", Elapsed: 2.5}}, true)
	return l
}

// outlineOf is the outline of a history.
func outlineOf(h space.History, run string, ends []End, ended bool) Outline {
	return Outline{RunID: run, Batches: len(h.Batches), Outcomes: len(h.Entries), Elapsed: h.Elapsed, Ends: ends, Ended: ended}
}

// inOrder returns the entries of a history by trial number.
func inOrder(h space.History) []space.Entry {
	entries := make([]space.Entry, 0, len(h.Entries))
	for _, number := range slices.Sorted(maps.Keys(h.Entries)) {
		entries = append(entries, h.Entries[number])
	}
	return entries
}

// formats runs a test for each format of a journal.
func formats(t *testing.T, test func(t *testing.T, number int)) {
	for number := 1; number <= newestFormat; number++ {
		t.Run(fmt.Sprintf("format=%d", number), func(t *testing.T) { test(t, number) })
	}
}

// encode writes a log as a journal.
func encode(t interface {
	Helper()
	Fatal(...any)
}, l Log, number int) []byte {
	t.Helper()
	var out []byte
	f := newFormat(number)
	for _, r := range recordsOf(l) {
		lines, _, err := f.encode(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		f.keep()
		out = append(out, lines...)
	}
	return out
}

// recordsOf returns the records of a log in an order that a journal admits: the ends together, and
// last where the run has ended.
func recordsOf(l Log) []record {
	var records []record
	for _, b := range l.History.Batches {
		records = append(records, record{kind: aBatch, batch: b})
	}
	for _, e := range inOrder(l.History) {
		e.Outcome.Reason = strings.ToValidUTF8(e.Outcome.Reason, "\uFFFD")
		records = append(records, record{kind: anOutcome, entry: e})
	}
	var ends []record
	for _, e := range l.Ends {
		ends = append(ends, record{kind: anEnd, end: e})
	}
	at := len(records)
	if !l.Ended {
		at = max(0, at-1)
	}
	records = slices.Insert(records, at, ends...)
	return slices.Insert(records, 0, record{kind: aHeader, run: l.RunID})
}

// readJournalFile is ReadJournal of a file.
func readJournalFile(path string) (Log, Recovery, error) {
	file, err := os.Open(path)
	if err != nil {
		return Log{}, Recovery{}, err
	}
	defer file.Close()
	return ReadJournal(file)
}

// sameLog compares two logs, and two floats by their bits.
func sameLog(a, b Log) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

func checkLog(t testing.TB, got, want Log) {
	t.Helper()
	if !sameLog(got, want) {
		t.Fatalf("log is\n%#v\nwant\n%#v", got, want)
	}
}

// sealed returns the line, in format 1, of a JSON text that need not be a record.
func sealed(payload string) string {
	return string(appendChecksum(nil, []byte(payload))) + " " + payload + "\n"
}

// summed returns the line, in format 2, of an object that need not be a record; its closing brace is left out.
func summed(payload string) string {
	line, err := seal([]byte(payload), 0)
	if err != nil {
		return strings.Repeat(" ", maxLine+1) + "\n" // as long as it would be
	}
	return string(line)
}

func newTestJournal(t testing.TB) *Journal {
	t.Helper()
	j, err := CreateJournal(filepath.Join(t.TempDir(), JournalName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func okEntry(number int) space.Entry {
	return space.Entry{
		Number:  number,
		Key:     "n=" + strconv.Itoa(number),
		Outcome: space.Outcome{Status: space.OK, Cost: float64(number)},
		Elapsed: float64(number),
	}
}

// must fails the test on the first error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkError compares an error with a part of its text.
func checkError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error is %v; it should say %q", err, want)
	}
}

func TestJournalReadsBackWhatWasWritten(t *testing.T) {
	want := sample()
	want.RunID = "run-1"
	dir := filepath.Join(t.TempDir(), "run-1")
	must(t, os.Mkdir(dir, 0o777))
	path := filepath.Join(dir, JournalName)
	j, err := CreateJournal(path)
	must(t, err)
	for _, b := range want.History.Batches {
		must(t, j.Batch(b))
	}
	for _, e := range inOrder(want.History) {
		must(t, j.Record(e))
	}
	must(t, j.Sync(), j.End(want.Ends[0]), j.Close(), j.Close())

	data, err := os.ReadFile(path)
	must(t, err)
	if want := encode(t, want, newestFormat); !bytes.Equal(data, want) {
		t.Errorf("journal is\n%s\nwant\n%s", data, want)
	}
	got, recovery, err := ReadJournal(bytes.NewReader(data))
	must(t, err)
	checkLog(t, got, want)
	if want := (Recovery{Lines: 11}); recovery != want { // three are shapes
		t.Errorf("recovery is %+v, want %+v", recovery, want)
	}

	j, recovery, err = OpenJournal(path)
	must(t, err)
	defer j.Close()
	if past := j.Past().Outline; fmt.Sprint(past) != fmt.Sprint(want.Outline) {
		t.Errorf("the outline is %+v, want %+v", past, want.Outline)
	}
	if recovery.TornBytes != 0 || recovery.Lines != 11 {
		t.Errorf("recovery is %v", recovery)
	}
	// The outcomes that are missing and further batches follow on.
	must(t, j.Record(okEntry(3)), j.Batch(space.Batch{Number: 2, First: 5, Count: 1}), j.Sync(), j.Close())
	got, _, err = readJournalFile(path)
	must(t, err)
	if len(got.History.Entries) != 5 || len(got.History.Batches) != 3 || got.Ended {
		t.Errorf("after going on, the log is %#v", got)
	}
	if end := got.LastEnd(); end != (End{}) {
		t.Errorf("a run that goes on has the end %v", end)
	}
}

// A journal goes on in the format that it was begun in, and its outcomes are those of the other format.
func TestJournalGoesOnInItsFormat(t *testing.T) {
	formats(t, func(t *testing.T, number int) {
		path := filepath.Join(t.TempDir(), JournalName)
		must(t, os.WriteFile(path, encode(t, sample(), number), 0o666))
		j, _, err := OpenJournal(path)
		must(t, err)
		must(t, j.Record(okEntry(3)), j.Batch(space.Batch{Number: 2, First: 5, Count: 1}), j.Record(okEntry(5)), j.End(End{Why: "x"}), j.Close())
		data, err := os.ReadFile(path)
		must(t, err)
		for line := range bytes.Lines(data) {
			if json.Valid(line) != (number > 1) {
				t.Errorf("among the lines of format %d is %s", number, line)
			}
		}
		log, _, err := readJournalFile(path)
		must(t, err)
		want := sample().History.Entries
		want[3], want[5] = okEntry(3), okEntry(5)
		if got := fmt.Sprintf("%#v", inOrder(log.History)); got != fmt.Sprintf("%#v", inOrder(space.History{Entries: want})) {
			t.Errorf("the entries are %s", got)
		}
	})
}

// Outcomes of more shapes than a journal declares are written in full, and read back all the same.
func TestManyShapes(t *testing.T) {
	const n = mostShapes + 40
	j := newTestJournal(t)
	must(t, j.Batch(space.Batch{Count: 2 * n}))
	want := map[int]space.Entry{}
	for i := range 2 * n { // each shape twice
		e := okEntry(i)
		e.Outcome.Metrics = []space.Metric{{Name: fmt.Sprint("m", i%n), Value: float64(i)}}
		must(t, j.Record(e))
		want[i] = e
	}
	must(t, j.Sync(), j.Close())
	log, recovery, err := readJournalFile(j.Path())
	must(t, err)
	if recovery.Lines != 2+mostShapes+2*n {
		t.Errorf("%d lines for %d shapes", recovery.Lines, n)
	}
	if got := fmt.Sprintf("%#v", inOrder(log.History)); got != fmt.Sprintf("%#v", inOrder(space.History{Entries: want})) {
		t.Errorf("the entries are %s", got)
	}
}

// Zeros keep their sign, where they stand for something and where they do not.
func TestNegativeZeros(t *testing.T) {
	minus := math.Copysign(0, -1)
	l := sample()
	for n, o := range map[int]space.Outcome{0: {Status: space.OK, Cost: minus, Seconds: minus}, 1: {Status: space.Crashed, Cost: minus},
		2: {Status: space.OK, Seconds: minus, Metrics: []space.Metric{{Name: "m", Value: minus}}}} {
		e := l.History.Entries[n]
		e.Outcome = o
		l.History.Entries[n] = e
	}
	got, _, err := ReadJournal(bytes.NewReader(encode(t, l, newestFormat)))
	must(t, err)
	checkLog(t, got, l)
}

// The rounds of a journal are those of its history, also where batches were recorded before the outcomes of earlier ones, and these
// came in any order.
func TestRoundsOfAJournal(t *testing.T) {
	h := space.History{Entries: map[int]space.Entry{}}
	for _, b := range []space.Batch{{Number: 0, First: 0, Count: 3}, {Number: 1, First: 3, Count: 2}, {Number: 2, First: 5, Count: 1}, {Number: 3, First: 6, Count: 2}} {
		b.Progress.Told = b.First
		h.Batches = append(h.Batches, b)
	}
	for number := range 7 { // the last one is missing
		h.Entries[number] = okEntry(number)
	}
	rounds := func(all iter.Seq2[space.Round, error]) (text string) {
		for r, err := range all {
			must(t, err)
			text += fmt.Sprintf("%+v\n", r)
		}
		return text
	}
	want := rounds(h.Rounds())
	for _, order := range [][]int{{0, 1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1, 0}, {3, 0, 5, 2, 6, 4, 1}} {
		for ahead := range len(h.Batches) { // so many batches are recorded before the outcomes of theirs
			j := newTestJournal(t)
			recorded := 0
			for k, b := range h.Batches {
				must(t, j.Batch(b))
				if k < ahead {
					continue
				}
				for _, number := range order {
					if number >= recorded && number < b.First+b.Count {
						must(t, j.Record(h.Entries[number]))
					}
				}
				recorded = b.First + b.Count
			}
			must(t, j.Sync(), j.Close())
			stored, _, err := readStored(j.Path())
			must(t, err)
			if got := rounds(stored.Rounds()); got != want {
				t.Errorf("with %d batches ahead, outcomes in the order %v: the rounds are\n%s want\n%s", ahead, order, got, want)
			}
		}
	}
}

func TestCreateJournalKeepsAnExistingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), JournalName)
	must(t, os.WriteFile(path, []byte("precious"), 0o666))
	if j, err := CreateJournal(path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("CreateJournal on an existing file returned %v, %v", j, err)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	if string(data) != "precious" {
		t.Errorf("the file now holds %q", data)
	}
	// The failed call must not keep the lock.
	lock, err := acquireLock(filepath.Dir(path))
	must(t, err)
	lock.Close()
}

func TestJournalRefusesWhatItCouldNotReadBack(t *testing.T) {
	ok := okEntry(0)
	with := func(change func(*space.Entry)) func(*Journal) error {
		e := ok
		change(&e)
		return func(j *Journal) error { return j.Record(e) }
	}
	outcome := func(change func(*space.Outcome)) func(*Journal) error {
		return with(func(e *space.Entry) { change(&e.Outcome) })
	}
	batch := func(b space.Batch) func(*Journal) error {
		return func(j *Journal) error { return j.Batch(b) }
	}
	end := func(e End) func(*Journal) error {
		return func(j *Journal) error { return j.End(e) }
	}
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name string
		do   func(*Journal) error
		want string
	}{
		{"no status", outcome(func(o *space.Outcome) { o.Status = space.StatusUnset }), "no status"},
		{"status unknown", outcome(func(o *space.Outcome) { o.Status = 99 }), "no status"},
		{"cost NaN", outcome(func(o *space.Outcome) { o.Cost = nan }), "NaN"},
		{"cost of a failure", outcome(func(o *space.Outcome) { o.Status, o.Cost = space.Crashed, inf }), "+Inf"},
		{"metric NaN", outcome(func(o *space.Outcome) { o.Metrics = []space.Metric{{Name: "m", Value: nan}} }), "m is NaN"},
		{"metric twice", outcome(func(o *space.Outcome) { o.Metrics = []space.Metric{{Name: "m"}, {Name: "m"}} }), "twice"},
		{"metric without name", outcome(func(o *space.Outcome) { o.Metrics = []space.Metric{{}} }), "name of a metric"},
		{"metrics out of order", outcome(func(o *space.Outcome) { o.Metrics = []space.Metric{{Name: "b"}, {Name: "a"}} }), "ordered"},
		{"fidelity", outcome(func(o *space.Outcome) { o.Fidelity = -1 }), "fidelity"},
		{"seconds", outcome(func(o *space.Outcome) { o.Seconds = inf }), "+Inf s"},
		{"elapsed", with(func(e *space.Entry) { e.Elapsed = -1 }), "trial 0: its elapsed time is -1 s"},
		{"no key", with(func(e *space.Entry) { e.Key = "" }), "key"},
		{"key not text", with(func(e *space.Entry) { e.Key = "\xff" }), "key"},
		{"long reason", outcome(func(o *space.Outcome) { o.Reason = strings.Repeat("x", maxLine) }), "that a journal line may have"},
		{"negative number", with(func(e *space.Entry) { e.Number = -1 }), "trial -1: its number is negative"},
		{"not asked", with(func(e *space.Entry) { e.Number = 3 }), "trial 3 is in no batch: 3 trials were asked"},
		{"told twice", with(func(e *space.Entry) { e.Number = 1 }), "trial 1 has an outcome already"},
		{"batch again", batch(space.Batch{Number: 0, First: 3, Count: 1}), "batch 1 is expected"},
		{"batch left out", batch(space.Batch{Number: 2, First: 3, Count: 1}), "batch 1 is expected"},
		{"gap", batch(space.Batch{Number: 1, First: 4, Count: 1}), "batch 1 begins at trial 4 rather than 3"},
		{"empty batch", batch(space.Batch{Number: 1, First: 3}), "0 trials"},
		{"too many trials", batch(space.Batch{Number: 1, First: 3, Count: math.MaxInt}), "trials"},
		{"budget", batch(space.Batch{Number: 1, First: 3, Count: 1, Progress: space.Progress{Left: nan}}), "batch 1 was asked with NaN of the budget left"},
		{"end without why", end(End{}), "the end does not say why"},
		{"end too late", end(End{Why: "x", Told: 4}), "the run ended after 4 trials told, but 3 were asked"},
		{"end reason", end(End{Why: "x", Reason: "\xff"}), "the reason of the end is not UTF-8"},
		{"end told", end(End{Why: "x", Told: -1}), "the end has -1 trials told"},
		{"end elapsed", end(End{Why: "x", Elapsed: nan}), "the end has an elapsed time of NaN s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := newTestJournal(t)
			must(t, j.Batch(space.Batch{Number: 0, First: 0, Count: 3}), j.Record(okEntry(1)))
			before, err := os.ReadFile(j.Path())
			must(t, err)
			checkError(t, test.do(j), test.want)
			after, err := os.ReadFile(j.Path())
			must(t, err)
			if !bytes.Equal(before, after) {
				t.Errorf("it was written all the same: %q", after[len(before):])
			}
			// The journal is none the worse for it.
			must(t, j.Record(ok), j.Sync(), j.Close())
		})
	}
}

func TestReadJournalNamesTheLine(t *testing.T) {
	head := sealed(`{"header":{"format":1,"run":"r"}}`)
	batch := sealed(`{"batch":{"batch":0,"first":0,"count":2,"progress":{"told":0,"left":1}}}`)
	first := sealed(`{"outcome":{"number":0,"key":"a=1","status":"ok","cost":1,"elapsed":0}}`)
	tests := []fault{
		{"not a journal", "hello\nworld\n", "not a journal"},
		{"not a journal, no newline", "hello", "not a journal"},
		{"not a journal, zeros", strings.Repeat("\x00", 100), "not a journal"},
		{"not a journal, long", strings.Repeat("0", maxLine+1), "not a journal"},
		{"empty lines", "\n\n", "not a journal"},
		{"no header", batch, "journal:1: the first record is not a header"},
		{"null header", sealed(`{"header":null}`), "journal:1: the first record is not a header"},
		{"later format", sealed(`{"header":{"format":3,"colour":"red"}}`), "journal:1: journal format 3 is not known to this tune, which reads formats 1 and 2: use the tune that wrote it"},
		{"second header", head + head, "journal:2: a second header"},
		{"damaged header", strings.Replace(head, "format", "farmat", 1) + batch, "journal:1: the line is damaged, and line 2"},
		{"damaged batch", head + "x" + batch + first, "journal:2: the line is damaged, and line 3"},
		{"two damaged", head + "x" + batch + "\n" + batch, "journal:2: the line is damaged, and line 4"},
		{"upper case checksum", head + strings.ToUpper(batch[:8]) + batch[8:] + batch, "journal:2: the line is damaged"},
		{"too long", head + sealed(strings.Repeat(" ", maxLine)+`{}`) + batch, "journal:2: the line is damaged"},
		{"no JSON", head + sealed(`{`), "journal:2: not valid JSON: it ends too early"},
		{"two values", head + sealed(`{"end":{"why":"x","elapsed":0}} {}`), "journal:2: there is text after"},
		{"empty record", head + sealed(`{}`), "journal:2: the record is of 0 kinds rather than one"},
		{"two kinds", head + sealed(`{"end":{"why":"x","elapsed":0},"batch":{}}`), "journal:2: the record is of 2 kinds"},
		{"unknown kind", head + sealed(`{"pause":{}}`), `journal:2: unknown field "pause"`},
		{"unknown field", head + sealed(`{"end":{"why":"x","elapsed":0,"mood":1}}`), `journal:2: unknown field "mood"`},
		{"field twice", head + sealed(`{"end":{"why":"x","elapsed":0,"elapsed":1}}`), "journal:2: field end.elapsed is there twice"},
		{"field in capitals", head + sealed(`{"end":{"why":"x","Elapsed":0}}`), `journal:2: field end.Elapsed: its name is written "elapsed"`},
		{"header twice", sealed(`{"header":{"format":1,"run":"r"},"header":{"format":1,"run":"s"}}`), "journal:1: field header is there twice"},
		{"wrong type", head + sealed(`{"end":{"why":1}}`), "journal:2: field end.why: a JSON number does not fit"},
		{"unknown status", head + batch + sealed(`{"outcome":{"number":0,"key":"a","status":"fine","elapsed":0}}`), `journal:3: unknown status "fine"`},
		{"no status", head + batch + sealed(`{"outcome":{"number":0,"key":"a","elapsed":0}}`), "journal:3: trial 0: it has no status"},
		{"outcome twice", head + batch + first + first, "journal:4: trial 0 has an outcome already"},
		{"outcome in no batch", head + first, "journal:2: trial 0 is in no batch"},
		{"batch twice", head + batch + batch, "journal:3: batch 0 stands where batch 1 is expected"},
	}
	checkFaults(t, tests)
}

// fault is a journal with something wrong in it, and what the error says.
type fault = struct{ name, text, want string }

func TestReadLinesNamesTheLine(t *testing.T) {
	head := summed(`{"journal":2,"run":"r"`)
	batch := summed(`{"batch":0,"count":2,"left":1`)
	shape := summed(`{"shape":0,"p":["a"],"m":["x"]`)
	first := summed(`{"n":0,"shape":0,"p":[1],"cost":1,"m":[2],"t":0`)
	checkFaults(t, []fault{
		{"empty object", "{}\n", "not a journal"},
		{"other JSON", `{"journal":"of medicine"}` + "\n", "not a journal"},
		{"no header", batch, "journal:1: the first record is not a header"},
		{"no header but a shape", shape, "journal:1: the first record is not a header"},
		{"later format", summed(`{"journal":3,"colour":"red"`), "journal:1: journal format 3 is not known to this tune, which reads formats 1 and 2: use the tune that wrote it"},
		{"second header", head + head, "journal:2: a second header"},
		{"damaged header", strings.Replace(head, "run", "ran", 1) + batch, "journal:1: the line is damaged, and line 2"},
		{"damaged batch", head + "x" + batch + shape, "journal:2: the line is damaged, and line 3"},
		{"changed by hand", head + batch + shape + strings.Replace(first, `"cost":1`, `"cost":2`, 1) + batch, "journal:4: the line is damaged, and line 5"},
		{"no checksum", head + `{"batch":0,"count":2,"left":1}` + "\n" + batch, "journal:2: the line is damaged, and line 3"},
		{"too long", head + summed(`{"end":"`+strings.Repeat("x", maxLine)+`"`) + batch, "journal:2: the line is damaged"},
		{"line of the old format", head + sealed(`{"end":{"why":"x","elapsed":0}}`) + batch, "journal:2: the line is damaged"},
		{"no object", head + summed(`[1,2,3`), "journal:2: not an object in the form that tune writes"},
		{"blanks", head + summed(`{ "end":"x","t":0`), "journal:2: not an object in the form that tune writes"},
		{"blanks inside", head + summed(`{"end":"x", "t":0`), "journal:2: not an object in the form that tune writes, at byte 12"},
		{"two objects", head + summed(`{"end":"x","t":0}{`), "journal:2: field t: want a number"},
		{"unknown record", head + summed(`{"pause":1`), `journal:2: unknown record: its first field is "pause"`},
		{"unknown field", head + summed(`{"end":"x","t":0,"mood":1`), `journal:2: unknown field "mood"`},
		{"wrong type", head + summed(`{"end":1,"t":0`), "journal:2: field end: want a string"},
		{"no number", head + summed(`{"end":"x","t":01`), "journal:2: field t: want a number"},
		{"infinite", head + summed(`{"end":"x","t":1e999`), "journal:2: field t: want a number that fits 64 bits"},
		{"half a batch", head + summed(`{"batch":0,"count":2.5,"left":1`), "journal:2: field count: want an integer"},
		{"batch twice", head + batch + batch, "journal:3: batch 0 stands where batch 1 is expected"},
		{"unknown status", head + batch + shape + summed(`{"n":0,"shape":0,"p":[1],"m":[2],"status":"fine","t":0`), `journal:4: unknown status "fine"`},
		{"no key", head + batch + summed(`{"n":0,"cost":1,"t":0`), `journal:3: trial 0: "" is not the key of a point`},
		{"no shape", head + batch + first, "journal:3: field shape: 0 is not declared"},
		{"shape out of order", head + batch + summed(`{"shape":1,"p":[],"m":[]`), "journal:3: shape 1 stands where shape 0 is expected"},
		{"too few values", head + batch + shape + summed(`{"n":0,"shape":0,"p":[],"m":[2],"t":0`), "journal:4: field p has 0 values for 1 parameters"},
		{"too many values", head + batch + shape + summed(`{"n":0,"shape":0,"p":[1,2],"m":[2],"t":0`), "journal:4: field p has 2 values for 1 parameters"},
		{"too few metrics", head + batch + shape + summed(`{"n":0,"shape":0,"p":[1],"m":[],"t":0`), "journal:4: field m has 0 values for 1 names"},
		{"null", head + batch + shape + summed(`{"n":0,"shape":0,"p":[null],"m":[2],"t":0`), "journal:4: field p: want a number, a string, true or false"},
		{"outcome twice", head + batch + shape + first + first, "journal:5: trial 0 has an outcome already"},
		{"outcome in no batch", head + shape + first, "journal:3: trial 0 is in no batch"},
	})
}

func checkFaults(t *testing.T, tests []fault) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := ReadJournal(strings.NewReader(test.text))
			checkError(t, err, test.want)
			if !strings.HasPrefix(test.want, "not") {
				if _, ok := errors.AsType[*LineError](err); !ok {
					t.Errorf("%v is no LineError", err)
				}
			}
			path := filepath.Join(t.TempDir(), JournalName)
			must(t, os.WriteFile(path, []byte(test.text), 0o666))
			_, _, err = OpenJournal(path)
			checkError(t, err, strings.TrimPrefix(test.want, "journal"))
			if !strings.HasPrefix(err.Error(), path) {
				t.Errorf("%v does not name the file", err)
			}
			data, err := os.ReadFile(path)
			must(t, err)
			if string(data) != test.text {
				t.Error("opening it has changed the file")
			}
			if isLocked(filepath.Dir(path)) {
				t.Error("a failed open keeps the lock")
			}
		})
	}
}

// A journal cut at any byte is the records whose lines are whole, and goes on from there.
func TestTruncationAtEveryOffset(t *testing.T) { formats(t, testTruncation) }

func testTruncation(t *testing.T, format int) {
	data := encode(t, sample(), format)
	dir := filepath.Join(t.TempDir(), "sample")
	must(t, os.Mkdir(dir, 0o777))
	path := filepath.Join(dir, JournalName)
	for size := 0; size <= len(data); size++ {
		cut := data[:size]
		lines := bytes.Count(cut, []byte("\n"))
		torn := size - (bytes.LastIndexByte(cut, '\n') + 1)
		want := Recovery{Lines: lines, TornBytes: torn}

		log, recovery, err := ReadJournal(bytes.NewReader(cut))
		must(t, err)
		if recovery != want {
			t.Fatalf("cut to %d bytes: recovery is %+v, want %+v", size, recovery, want)
		}
		shapes := bytes.Count(cut[:size-torn], []byte(`{"shape":`))
		if got := len(log.History.Batches) + len(log.History.Entries) + len(log.Ends) + shapes; got != max(0, lines-1) {
			t.Fatalf("cut to %d bytes: %d records of %d lines", size, got, lines)
		}

		if left := bytes.IndexByte(data[size:], '\n'); torn > 2 && left > 1 && size%4 != 0 {
			continue // files are cut at every byte near the end of a line, and at every fourth inside of one
		}
		must(t, os.WriteFile(path, cut, 0o666))
		j, recovery, err := OpenJournal(path)
		must(t, err)
		if recovery != want {
			t.Fatalf("cut to %d bytes: opening gave %+v, want %+v", size, recovery, want)
		}
		must(t, j.End(End{Why: "test"}), j.Close())
		got, recovery, err := readJournalFile(path)
		must(t, err)
		// A header that was cut off is written anew.
		if want := (Recovery{Lines: max(1, lines) + 1}); recovery != want {
			t.Fatalf("cut to %d bytes and gone on: recovery is %+v, want %+v", size, recovery, want)
		}
		if got.RunID != "sample" || got.LastEnd().Why != "test" {
			t.Fatalf("cut to %d bytes and gone on: log is %#v", size, got)
		}
	}
}

// A power failure may leave anything after the last record.
func TestTornTailOfAnyContent(t *testing.T) { formats(t, testTornTail) }

func testTornTail(t *testing.T, format int) {
	data := encode(t, sample(), format)
	for _, tail := range []string{"\n", "\n\n\n", strings.Repeat("\x00", 4096), "garbage\nmore garbage\n", strings.Repeat("z", maxLine+10) + "\n", string(data[:5]) + "\n"} {
		log, recovery, err := ReadJournal(strings.NewReader(string(data) + tail))
		must(t, err)
		checkLog(t, log, sample())
		if recovery.TornBytes != len(tail) {
			t.Errorf("tail of %d bytes: recovery is %+v", len(tail), recovery)
		}
	}
}

func TestEveryFlippedBitIsNoticed(t *testing.T) { formats(t, testFlippedBits) }

func testFlippedBits(t *testing.T, format int) {
	data := encode(t, sample(), format)
	lines := bytes.Count(data, []byte("\n"))
	for i := range data {
		for bit := range 8 {
			damaged := bytes.Clone(data)
			damaged[i] ^= 1 << bit
			_, recovery, err := ReadJournal(bytes.NewReader(damaged))
			if err == nil && recovery.Lines >= lines {
				t.Fatalf("bit %d of byte %d flipped, and nobody noticed", bit, i)
			}
		}
	}
}

func genLog(t *rapid.T) Log {
	text := rapid.OneOf(rapid.StringMatching(`[a-z]=[0-9]( [a-z]=[0-9])?`), rapid.StringN(1, -1, 20), rapid.StringMatching(
		`a=(true|-?[0-9]{1,3}|[0-9]\.[0-9]|1e-0[0-9]|\+Inf|x|""|"a b"|"\\"") [b-d]=("\\x00é"|[ -~]{0,8}|é)`))
	float := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64, 1 << 53}))
	positive := rapid.Float64Range(0, math.MaxFloat64)
	l := Log{History: space.History{Entries: make(map[int]space.Entry)}}
	run := rapid.String().Draw(t, "run")
	trials := 0
	for range rapid.IntRange(0, 4).Draw(t, "batches") {
		b := space.Batch{Number: len(l.History.Batches), First: trials, Count: rapid.IntRange(1, 8).Draw(t, "count")}
		b.Progress = space.Progress{Told: rapid.Int().Draw(t, "told"), Left: float.Draw(t, "left"), Evaluations: rapid.Int().Draw(t, "evaluations")}
		l.History.Batches = append(l.History.Batches, b)
		trials += b.Count
	}
	for number := range trials {
		if rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
			continue
		}
		o := space.Outcome{
			Status:   rapid.SampledFrom(space.Statuses()).Draw(t, "status"),
			Fidelity: rapid.IntRange(0, 3).Draw(t, "fidelity"),
			Seconds:  positive.Draw(t, "seconds"),
			Cost:     float.Draw(t, "cost"),
			Reason:   rapid.String().Draw(t, "reason"),
		}
		names := rapid.SliceOfNDistinct(text, 0, 3, rapid.ID).Draw(t, "metrics")
		slices.Sort(names)
		for _, name := range names {
			o.Metrics = append(o.Metrics, space.Metric{Name: name, Value: float.Draw(t, "value")})
		}
		l.History.Entries[number] = space.Entry{Number: number, Key: text.Draw(t, "key"), Outcome: o, Elapsed: positive.Draw(t, "elapsed")}
		l.History.Elapsed = max(l.History.Elapsed, l.History.Entries[number].Elapsed)
	}
	var ends []End
	for range rapid.IntRange(0, 2).Draw(t, "ends") {
		e := End{Why: text.Draw(t, "why"), Reason: rapid.OneOf(rapid.Just(""), text).Draw(t, "reason"), Elapsed: positive.Draw(t, "elapsed"), Told: rapid.IntRange(0, trials).Draw(t, "told")}
		ends = append(ends, e)
		l.History.Elapsed = max(l.History.Elapsed, e.Elapsed)
	}
	// With no other record after it, an end is the last.
	l.Outline = outlineOf(l.History, run, ends, len(ends) > 0 && (len(l.History.Entries) == 0 || rapid.Bool().Draw(t, "ended")))
	return l
}

func TestRoundTripProperty(t *testing.T) { formats(t, testRoundTrip) }

func testRoundTrip(t *testing.T, format int) {
	rapid.Check(t, func(rt *rapid.T) {
		want := genLog(rt)
		data := encode(t, want, format)
		got, recovery, err := ReadJournal(bytes.NewReader(data))
		if err != nil {
			rt.Fatal(err)
		}
		if !sameLog(got, want) {
			rt.Fatalf("log is\n%#v\nwant\n%#v", got, want)
		}
		if lines := bytes.Count(data, []byte("\n")); recovery != (Recovery{Lines: lines}) {
			rt.Fatalf("recovery is %+v of %d lines", recovery, lines)
		}
		for line := range bytes.Lines(data) {
			if format > 1 && !json.Valid(line) {
				rt.Fatalf("not JSON: %s", line)
			}
		}
	})
}

func FuzzReadJournal(f *testing.F) {
	for number := 1; number <= newestFormat; number++ {
		data := string(encode(f, sample(), number))
		f.Add(data, false)
		f.Add(data[:len(data)/2], false)
		var payloads []string
		for line := range strings.Lines(data) {
			payload, _ := newFormat(number).unseal([]byte(strings.TrimSuffix(line, "\n")))
			payloads = append(payloads, string(payload))
		}
		f.Add(strings.Join(payloads, "\n"), true)
	}
	f.Add("", false)
	f.Add(`{"journal":2,"run":"r"`+"\n"+`{"batch":0,"count":9,"left":1e-9,"told":7`+"\n"+`{"n":3,"key":"a","metrics":["x"],"m":[-0],"status":"crashed","s":1e-300,"t":5`, true)
	// Where seal is set, each line of the text gets its checksum, so that the fuzzer reaches what is
	// behind it.
	f.Fuzz(func(t *testing.T, text string, seal bool) {
		if seal {
			sum := sealed
			if strings.HasPrefix(text, lineOpening) {
				sum = summed
			}
			var lines strings.Builder
			for line := range strings.SplitSeq(text, "\n") {
				lines.WriteString(sum(line))
			}
			text = lines.String()
		}
		log, recovery, err := ReadJournal(strings.NewReader(text))
		if recovery.Lines < 0 || recovery.TornBytes < 0 || recovery.TornBytes > len(text) {
			t.Fatalf("recovery is %+v of %d bytes", recovery, len(text))
		}
		if err != nil || recovery.Lines == 0 {
			return
		}
		for number := 1; number <= newestFormat; number++ {
			data := encode(t, log, number)
			again, recovery, err := ReadJournal(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%v\nafter rewriting %q", err, text)
			}
			if recovery.TornBytes != 0 {
				t.Fatalf("rewritten: recovery is %+v", recovery)
			}
			checkLog(t, again, log)
			for line := range bytes.Lines(data) {
				if number > 1 && !json.Valid(line) {
					t.Fatalf("not JSON: %s", line)
				}
			}
		}
	})
}

func TestConcurrentRecords(t *testing.T) {
	const workers, each = 16, 100
	j := newTestJournal(t)
	must(t, j.Batch(space.Batch{Number: 0, First: 0, Count: workers * each}))
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				if err := j.Record(okEntry(i*workers + w)); err != nil {
					t.Error(err)
				}
				if i%20 == 0 {
					if err := j.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	must(t, j.Close())
	log, recovery, err := readJournalFile(j.Path())
	must(t, err)
	if len(log.History.Entries) != workers*each || recovery.TornBytes != 0 {
		t.Fatalf("%d entries, recovery %v", len(log.History.Entries), recovery)
	}
	for number, e := range log.History.Entries {
		if want := okEntry(number); fmt.Sprint(e) != fmt.Sprint(want) {
			t.Errorf("entry is %v, want %v", e, want)
		}
	}
}

// flaky is a file that fails on demand, and counts.
type flaky struct {
	mu       sync.Mutex
	data     bytes.Buffer
	writes   int
	syncs    int
	synced   int // bytes that the last sync covered
	failOn   int // the write that fails, counted from 1; 0 for none
	syncErr  error
	syncGate chan struct{} // where not nil, a sync waits for it
}

var errDisk = errors.New("no space left")

func (f *flaky) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if f.writes == f.failOn {
		n, _ := f.data.Write(p[:len(p)/2])
		return n, errDisk
	}
	return f.data.Write(p)
}

func (f *flaky) Sync() error {
	f.mu.Lock()
	size := f.data.Len()
	f.mu.Unlock()
	if f.syncGate != nil {
		<-f.syncGate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs++
	if f.syncErr == nil {
		f.synced = size
	}
	return f.syncErr
}

func (f *flaky) Close() error { return nil }

func flakyJournal(f *flaky) *Journal {
	s := newScanner(nil)
	s.format = newFormat(newestFormat)
	return newJournal("flaky", "", f, f, s, newDigester())
}

func TestWriteErrorSticks(t *testing.T) {
	f := &flaky{failOn: 3}
	j := flakyJournal(f)
	must(t, j.Batch(space.Batch{Count: 9}), j.Record(okEntry(0)))
	for _, err := range []error{j.Record(okEntry(1)), j.Record(okEntry(2)), j.Batch(space.Batch{Number: 1, First: 9, Count: 1}), j.End(End{Why: "x"}), j.Sync(), j.Close(), j.Close(), j.Sync()} {
		if !errors.Is(err, errDisk) {
			t.Errorf("error is %v, want %v", err, errDisk)
		}
	}
	if f.writes != 3 {
		t.Errorf("%d writes: nothing may follow one that failed", f.writes)
	}
}

func TestSyncErrorSticks(t *testing.T) {
	f := &flaky{syncErr: errDisk}
	j := flakyJournal(f)
	must(t, j.Batch(space.Batch{Count: 9}))
	for _, err := range []error{j.Sync(), j.Record(okEntry(0)), j.Sync(), j.Close()} {
		if !errors.Is(err, errDisk) {
			t.Errorf("error is %v, want %v", err, errDisk)
		}
	}
	if f.syncs != 1 || f.writes != 1 {
		t.Errorf("%d syncs and %d writes: a sync that failed must be the last", f.syncs, f.writes)
	}
}

func TestClosedJournal(t *testing.T) {
	j := newTestJournal(t)
	must(t, j.Close())
	for _, err := range []error{j.Batch(space.Batch{Count: 1}), j.Sync(), j.End(End{Why: "x"})} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("error is %v, want %v", err, os.ErrClosed)
		}
	}
}

// The records of many goroutines share syncs, each record is one write, and Sync returns only once
// what came before it is covered.
func TestGroupCommit(t *testing.T) {
	f := &flaky{syncGate: make(chan struct{})}
	j := flakyJournal(f)
	must(t, j.Batch(space.Batch{Count: 100}))
	for i := range 100 {
		must(t, j.Record(okEntry(i)))
	}
	done := make(chan error)
	go func() { done <- j.Sync() }()
	select {
	case err := <-done:
		t.Fatalf("Sync returned %v before the disk had", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(f.syncGate)
	must(t, <-done)
	must(t, j.Close())
	if f.synced != f.data.Len() {
		t.Errorf("Sync returned with %d of %d bytes on disk", f.synced, f.data.Len())
	}
	if f.writes != 101 || f.syncs > 2 {
		t.Errorf("%d writes and %d syncs for 101 records", f.writes, f.syncs)
	}
}

// gated is a file whose every sync says that it has begun, and waits.
type gated struct {
	mu          sync.Mutex
	size        int
	synced      int // bytes that the last sync covered
	began, gate chan struct{}
}

func (f *gated) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size += len(p)
	return len(p), nil
}

func (f *gated) Sync() error {
	f.mu.Lock()
	size := f.size
	f.mu.Unlock()
	f.began <- struct{}{}
	<-f.gate
	f.synced = size
	return nil
}

func (f *gated) Close() error { return nil }

// What is recorded while a sync is under way is not on disk when that ends: it takes the next one.
func TestSyncUnderWay(t *testing.T) {
	f := &gated{began: make(chan struct{}), gate: make(chan struct{})}
	s := newScanner(nil)
	s.format = newFormat(newestFormat)
	j := newJournal("gated", "", f, f, s, newDigester())
	must(t, j.Batch(space.Batch{Count: 2}))
	<-f.began
	must(t, j.Record(okEntry(0)))
	done := make(chan error)
	go func() { done <- j.Sync() }()
	f.gate <- struct{}{}
	select {
	case <-f.began:
	case err := <-done:
		t.Fatalf("Sync returned %v after a sync that had begun before", err)
	}
	f.gate <- struct{}{}
	must(t, <-done)
	if f.synced != f.size {
		t.Errorf("Sync returned with %d of %d bytes on disk", f.synced, f.size)
	}
	must(t, j.Close())
}

func TestLock(t *testing.T) {
	j := newTestJournal(t)
	dir := filepath.Dir(j.Path())
	want := fmt.Sprintf("run %s is in use by another tune (pid %d)", dir, os.Getpid())
	for name, open := range map[string]func() error{
		"OpenJournal":   func() error { _, _, err := OpenJournal(j.Path()); return err },
		"CreateJournal": func() error { _, err := CreateJournal(filepath.Join(dir, "other")); return err },
	} {
		err := open()
		if _, ok := errors.AsType[*InUseError](err); !ok || err.Error() != want {
			t.Errorf("%s in a locked directory: %v, want %s", name, err, want)
		}
	}
	if !isLocked(dir) {
		t.Error("the directory does not look locked")
	}
	// Reading needs no lock.
	_, _, err := readJournalFile(j.Path())
	must(t, err, j.Close())
	if isLocked(dir) {
		t.Error("the directory looks locked after Close")
	}
	again, _, err := OpenJournal(j.Path())
	must(t, err)
	must(t, again.Close())
}

// Looking at a lock holds it for an instant, and must not make an open fail.
func TestLookingAtTheLockDoesNotDisturb(t *testing.T) {
	j := newTestJournal(t)
	must(t, j.Close())
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					isLocked(filepath.Dir(j.Path()))
				}
			}
		})
	}
	for range 50 {
		again, _, err := OpenJournal(j.Path())
		if err != nil {
			t.Error(err)
			break
		}
		must(t, again.Close())
	}
	close(stop)
	group.Wait()
}

func BenchmarkRecord(b *testing.B) {
	const count = 1 << 30
	e := okEntry(0)
	e.Key = "layout=interleaved unroll=4 width=8 prefetch=2 hoist=true"
	e.Outcome.Metrics = []space.Metric{{Name: "alu", Value: 812}, {Name: "load", Value: 1644}}
	e.Outcome.Seconds = 0.01273645
	for _, goroutines := range []int{1, 8} {
		b.Run("goroutines="+strconv.Itoa(goroutines), func(b *testing.B) {
			j := newTestJournal(b)
			must(b, j.Batch(space.Batch{Count: count}))
			var mu sync.Mutex
			next := 0
			record := func() {
				mu.Lock()
				number := next
				next++
				mu.Unlock()
				e := e
				e.Number = number
				if err := j.Record(e); err != nil {
					b.Error(err)
				}
			}
			b.ReportAllocs()
			if goroutines == 1 {
				for b.Loop() {
					record()
				}
				return
			}
			b.SetParallelism(goroutines)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					record()
				}
			})
		})
	}
}

// BenchmarkSync is the time from the first of some records until all of them are durable.
func BenchmarkSync(b *testing.B) {
	for _, records := range []int{1, 64} {
		b.Run("records="+strconv.Itoa(records), func(b *testing.B) {
			j := newTestJournal(b)
			must(b, j.Batch(space.Batch{Count: 1 << 30}))
			number := 0
			for b.Loop() {
				for range records {
					must(b, j.Record(okEntry(number)))
					number++
				}
				must(b, j.Sync())
			}
		})
	}
}

func BenchmarkReadJournal(b *testing.B) {
	l := sample()
	l.History.Batches = []space.Batch{{Count: 10000}}
	e := l.History.Entries[0]
	for i := range 10000 {
		e.Number = i
		l.History.Entries[i] = e
	}
	data := encode(b, l, newestFormat)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := ReadJournal(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestJournalOfHoles: a file without end is refused soon, however long it is.
func TestJournalOfHoles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, JournalName)
	must(t, os.WriteFile(path, encode(t, sample(), newestFormat), 0o666), os.Truncate(path, 1<<40))
	began := time.Now()
	for name, read := range map[string]func() error{
		"read": func() error { _, _, err := readStored(path); return err },
		"open": func() error { _, _, err := OpenJournal(path); return err },
	} {
		if err := read(); err == nil || !strings.Contains(err.Error(), "there is no end of a line in ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
