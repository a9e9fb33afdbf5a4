package sim

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
)

// DefaultTraceCycles is the length of a trace that sets none.
const DefaultTraceCycles = 1 << 18

// TraceOptions says what a trace shows.
type TraceOptions struct {
	// Mem is the memory image to run on; it is not changed. Without it (nil) the program does not run, so it must be
	// straight-line, and the tracks of named scratch show operations and no values.
	Mem []uint32
	// Cycles is where the trace ends if the program does not end before; 0 or less stands for
	// DefaultTraceCycles. A trace that was cut says so in its otherData.
	Cycles int
}

// scratchPID is the process of the tracks of named scratch; those of the engines are 1 + their number.
const scratchPID = 100

// WriteTrace writes what each slot does in each cycle as Chrome trace events, a JSON object that Perfetto and chrome://tracing
// open. A process represents an engine, a thread one of its slots, and a microsecond a cycle. Each range in p.Names has its own
// thread, which shows when the range is written, and the values; the write lands at the end of that cycle.
//
// Events are written as they occur, so that a long trace needs little memory. Where the program faults, the trace holds what came
// before, and the error is the *Fault.
func WriteTrace(w io.Writer, p *Program, opt TraceOptions) error {
	if opt.Cycles <= 0 {
		opt.Cycles = DefaultTraceCycles
	}
	code, err := Decode(p)
	if err != nil {
		return err
	}
	n, straight := p.prefix()
	if opt.Mem == nil && !straight {
		return errors.New("trace: a program with jumps needs a memory image to run on")
	}

	t := tracer{w: bufio.NewWriterSize(w, 64<<10), p: p}
	t.w.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`)
	t.tracks()
	var fault error
	var cut bool
	if opt.Mem == nil {
		for i := range p.Bundles[:n] {
			if !p.Bundles[i].costs() {
				continue
			}
			if t.cycle == opt.Cycles {
				cut = true
				break
			}
			t.bundle(i)
			t.writes(i, nil)
			t.cycle++
		}
	} else {
		m := NewMachine()
		_, fault = m.follow(code, slices.Clone(opt.Mem), Limits{Cycles: opt.Cycles + 1}, opt.Cycles, t.bundle, func(i int) {
			t.writes(i, m.Scratch())
			t.cycle++
		})
		cut = fault == nil && m.pc < len(code.steps)
	}
	t.w.WriteString("\n],\"otherData\":{\"cycles\":" + strconv.Itoa(t.cycle) + ",\"cut\":" + strconv.FormatBool(cut) + "}}\n")
	if err := t.w.Flush(); err != nil {
		return err
	}
	return fault
}

// tracer writes the events of a trace.
type tracer struct {
	w      *bufio.Writer
	p      *Program
	events int
	cycle  int
	named  [ScratchWords][]int32 // the ranges of p.Names that hold the word
	last   []int                 // 1 + the cycle of the last event, for each range
	text   []byte
}

// event writes the event in t.text.
func (t *tracer) event() {
	if t.events > 0 {
		t.w.WriteByte(',')
	}
	t.events++
	t.w.WriteByte('\n')
	t.w.Write(t.text)
	t.text = t.text[:0]
}

// metadata writes the name and the rank of a process, or of a thread where tid is not 0.
func (t *tracer) metadata(pid, tid int, name string) {
	kind, rank := "process", pid
	if tid > 0 {
		kind, rank = "thread", tid
	}
	quoted, _ := json.Marshal(name) // A string always can be.
	for _, m := range []struct{ key, arg, value string }{
		{"_name", "name", string(quoted)},
		{"_sort_index", "sort_index", strconv.Itoa(rank)},
	} {
		t.text = append(t.text, `{"ph":"M","pid":`+strconv.Itoa(pid)+`,"tid":`+strconv.Itoa(tid)+
			`,"name":"`+kind+m.key+`","args":{"`+m.arg+`":`+m.value+`}}`...)
		t.event()
	}
}

// tracks declares the tracks.
func (t *tracer) tracks() {
	for e := range Debug {
		t.metadata(int(e)+1, 0, e.String())
		for slot := range SlotLimit[e] {
			t.metadata(int(e)+1, slot+1, e.String()+" "+strconv.Itoa(slot))
		}
	}
	if len(t.p.Names) == 0 {
		return
	}
	t.metadata(scratchPID, 0, "scratch")
	t.last = make([]int, len(t.p.Names))
	for k, r := range t.p.Names {
		t.metadata(scratchPID, k+1, r.Name)
		named := words(&t.named, r.Span)
		for i := range named {
			named[i] = append(named[i], int32(k))
		}
	}
}

// slice begins an event that lasts the current cycle.
func (t *tracer) slice(pid, tid int) {
	t.text = append(t.text, `{"ph":"X","pid":`...)
	t.text = strconv.AppendInt(t.text, int64(pid), 10)
	t.text = append(t.text, `,"tid":`...)
	t.text = strconv.AppendInt(t.text, int64(tid), 10)
	t.text = append(t.text, `,"ts":`...)
	t.text = strconv.AppendInt(t.text, int64(t.cycle), 10)
	t.text = append(t.text, `,"dur":1,"name":"`...)
}

// bundle writes the slots of bundle i. The names of operations need no quoting.
func (t *tracer) bundle(i int) {
	t.p.Bundles[i].each(func(e Engine, slot int, s Slot) {
		t.slice(int(e)+1, slot+1)
		t.text = append(t.text, ops[s.Op].name...)
		t.text = append(t.text, `","args":{"bundle":`...)
		t.text = strconv.AppendInt(t.text, int64(i), 10)
		t.text = append(t.text, `,"operands":`...)
		t.text = appendWords(t.text, s.Args[:s.Op.operands()])
		t.text = append(t.text, "}}"...)
		t.event()
	})
}

// writes writes an event for each named range that bundle i writes: the first slot that does, and the
// first values of the range after the bundle if scratch is known.
func (t *tracer) writes(i int, scratch []uint32) {
	if len(t.p.Names) == 0 {
		return
	}
	t.p.Bundles[i].each(func(e Engine, slot int, s Slot) {
		for _, ranges := range words(&t.named, s.Writes()) {
			for _, k := range ranges {
				if t.last[k] == t.cycle+1 {
					continue
				}
				t.last[k] = t.cycle + 1
				t.slice(scratchPID, int(k)+1)
				if scratch != nil {
					span := t.p.Names[k].Span
					for j, v := range scratch[span.Addr:][:min(span.N, VLen, ScratchWords-span.Addr)] {
						if j > 0 {
							t.text = append(t.text, ' ')
						}
						t.text = strconv.AppendUint(t.text, uint64(v), 10)
					}
				} else {
					t.text = append(append(append(t.text, e.String()...), ' '), ops[s.Op].name...)
				}
				t.text = append(t.text, `","args":{"by":"`...)
				t.text = append(append(t.text, e.String()...), ' ')
				t.text = strconv.AppendInt(t.text, int64(slot), 10)
				t.text = append(append(append(t.text, ' '), ops[s.Op].name...), `"}}`...)
				t.event()
			}
		}
	})
}

// appendWords appends a list of words as JSON.
func appendWords(out []byte, list []uint32) []byte {
	out = append(out, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, uint64(v), 10)
	}
	return append(out, ']')
}
