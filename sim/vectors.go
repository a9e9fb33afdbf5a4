package sim

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Vectors are recorded results of the published machine, for other implementations to be compared with.
type Vectors struct {
	Programs []ProgramVector
	Trees    []TreeVector
}

// ProgramVector is a program and the state that the published machine ended in.
type ProgramVector struct {
	Name    string
	Mem     []uint32 // at the start
	Program *Program
	Want    State
}

// State is the state of a machine after a run.
type State struct {
	Cycles  int
	Pauses  int
	Trace   []uint32
	Scratch []uint32 // all of its words
	Mem     []uint32
}

// TreeVector is a tree-hash problem and its answer: the values and indices after all rounds.
type TreeVector struct {
	Height  int      `json:"height"`
	Rounds  int      `json:"rounds"`
	Batch   int      `json:"batch"`
	Image   []uint32 `json:"image"`
	Values  []uint32 `json:"values"`
	Indices []uint32 `json:"indices"`
}

// maxVectorBytes bounds the text of vectors, after decompression.
const maxVectorBytes = 32 << 20

// ReadVectors reads vectors as JSON, compressed with gzip or not. It ignores unknown keys. It fails where a key is missing, names
// the wrong entry, and refuses programs that Read refuses.
func ReadVectors(r io.Reader) (*Vectors, error) {
	br := bufio.NewReader(r)
	var text io.Reader = br
	if magic, err := br.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("vectors: %w", err)
		}
		defer z.Close()
		text = z
	}
	var file struct {
		Programs []struct {
			Name    string   `json:"name"`
			Mem     []uint32 `json:"mem"`
			Program *Program `json:"program"`
			Want    *struct {
				Cycles  *int              `json:"cycles"`
				Pauses  *int              `json:"pauses"`
				Trace   []uint32          `json:"trace"`
				Scratch map[string]uint32 `json:"scratch"` // only the words that are not 0
				Mem     []uint32          `json:"mem"`
			} `json:"want"`
		} `json:"programs"`
		Trees []TreeVector `json:"trees"`
	}
	limited := &io.LimitedReader{R: text, N: maxVectorBytes + 1}
	dec := json.NewDecoder(limited)
	err := dec.Decode(&file)
	if limited.N <= 0 {
		return nil, fmt.Errorf("vectors: more than %d bytes, the most that is read of them", maxVectorBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("vectors: more text after the object")
	}

	v := &Vectors{Trees: file.Trees}
	for i, p := range file.Programs {
		w := p.Want
		if p.Program == nil || p.Mem == nil || w == nil || w.Cycles == nil || w.Pauses == nil || w.Trace == nil || w.Scratch == nil || w.Mem == nil {
			return nil, fmt.Errorf("vectors: program %d (%s): a key is missing", i, p.Name)
		}
		scratch := make([]uint32, ScratchWords)
		for key, word := range w.Scratch {
			k, err := strconv.Atoi(key)
			if err != nil || k < 0 || k >= ScratchWords {
				return nil, fmt.Errorf("vectors: program %d (%s): scratch has no word %q", i, p.Name, key)
			}
			scratch[k] = word
		}
		v.Programs = append(v.Programs, ProgramVector{
			Name: p.Name, Mem: p.Mem, Program: p.Program,
			Want: State{Cycles: *w.Cycles, Pauses: *w.Pauses, Trace: w.Trace, Scratch: scratch, Mem: w.Mem},
		})
	}
	for i, t := range file.Trees {
		if t.Image == nil || t.Values == nil || t.Indices == nil {
			return nil, fmt.Errorf("vectors: tree %d: a key is missing", i)
		}
		if len(t.Values) != t.Batch || len(t.Indices) != t.Batch {
			return nil, fmt.Errorf("vectors: tree %d: %d values and %d indices, and the batch is %d", i, len(t.Values), len(t.Indices), t.Batch)
		}
	}
	return v, nil
}

// Check runs the program twice, with pauses that return control and without, and says where it first
// differs from what is recorded.
func (v ProgramVector) Check() error {
	code, err := Decode(v.Program)
	if err != nil {
		return fmt.Errorf("%s: %w", v.Name, err)
	}
	m := NewMachine()
	for _, pauses := range []bool{true, false} {
		mem := append([]uint32(nil), v.Mem...)
		res, err := m.Run(code, mem, Limits{Pause: pauses})
		returns := 0
		for err == nil && res.Paused {
			returns++
			res, err = m.Resume()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		if pauses && returns != v.Want.Pauses {
			return fmt.Errorf("%s: control returned at %d pauses, want %d", v.Name, returns, v.Want.Pauses)
		}
		got := State{Cycles: res.Cycles, Pauses: res.Pauses, Trace: res.Trace, Scratch: m.Scratch(), Mem: mem}
		if err := v.Want.compare(got); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

// compare returns the first difference of got from the state wanted.
func (s State) compare(got State) error {
	if got.Cycles != s.Cycles {
		return fmt.Errorf("%d cycles, want %d", got.Cycles, s.Cycles)
	}
	if got.Pauses != s.Pauses {
		return fmt.Errorf("%d pauses, want %d", got.Pauses, s.Pauses)
	}
	for _, part := range []struct {
		name      string
		got, want []uint32
	}{{"trace", got.Trace, s.Trace}, {"scratch", got.Scratch, s.Scratch}, {"memory", got.Mem, s.Mem}} {
		for i := range min(len(part.got), len(part.want)) {
			if part.got[i] != part.want[i] {
				return fmt.Errorf("%s word %d is %d, want %d", part.name, i, part.got[i], part.want[i])
			}
		}
		if len(part.got) != len(part.want) {
			return fmt.Errorf("%s has %d words, want %d", part.name, len(part.got), len(part.want))
		}
	}
	return nil
}
