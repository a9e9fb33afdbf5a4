package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Limits of what Read accepts. They keep a hostile file from exhausting memory, and are far above any useful program.
const (
	maxProgramBytes = 64 << 20
	maxBundles      = 1 << 20
	maxDebugDepth   = 64 // nesting within a debug slot
)

// FormatError says what is wrong with a program in the exchange format, and where.
type FormatError struct {
	Line, Column int    // in the text, from 1; the column counts bytes
	Bundle       int    // number of the bundle, from 0; -1 outside of one
	Engine       string // engine as written; empty outside of one
	Slot         int    // number of the slot within its engine, from 0; -1 outside of one
	Reason       string
}

// Error names the place as closely as it is known, and says why.
func (e *FormatError) Error() string {
	s := fmt.Sprintf("line %d, column %d", e.Line, e.Column)
	if e.Bundle >= 0 {
		s += fmt.Sprintf(": bundle %d", e.Bundle)
		if e.Engine != "" {
			s += ", " + e.Engine
			if e.Slot >= 0 {
				s += fmt.Sprintf(" slot %d", e.Slot)
			}
		}
	}
	return s + ": " + e.Reason
}

// Read reads a program in the exchange format. An error in the text is a *FormatError; Decode checks whether the machine accepts
// the program.
//
// The slots of each bundle come out in the order of the engines. Immediates may be any whole number from
// -2^31 to 2^32-1 and are reduced mod 2^32.
func Read(r io.Reader) (*Program, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxProgramBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	if len(data) > maxProgramBytes {
		return nil, fmt.Errorf("read program: more than %d bytes", maxProgramBytes)
	}
	p := &Program{}
	if err := p.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return p, nil
}

// UnmarshalJSON reads the program in the exchange format, as Read does. It leaves Names alone.
func (p *Program) UnmarshalJSON(data []byte) error {
	r := reader{data: data, bundle: -1, slot: -1}
	bundles, err := r.program()
	if err != nil {
		return err
	}
	p.Bundles = bundles
	return nil
}

// opByName are the operations of each engine by their names.
var opByName = func() (t [NumEngines]map[string]Op) {
	for e := range t {
		t[e] = make(map[string]Op)
	}
	for o := OpNone + 1; o < NumOps; o++ {
		t[ops[o].engine][ops[o].name] = o
	}
	return t
}()

// reader is a parser of the exchange format. It tracks its position for errors.
type reader struct {
	data   []byte
	pos    int
	bundle int
	engine string
	slot   int
	slots  []Slot // of the bundle so far
}

func (r *reader) errorAt(pos int, format string, args ...any) error {
	pos = min(pos, len(r.data))
	before := r.data[:pos]
	return &FormatError{
		Line:   1 + bytes.Count(before, []byte{'\n'}),
		Column: pos - bytes.LastIndexByte(before, '\n'),
		Bundle: r.bundle, Engine: r.engine, Slot: r.slot,
		Reason: fmt.Sprintf(format, args...),
	}
}

// peek skips white space and returns the next byte, or 0 at the end of the text.
func (r *reader) peek() byte {
	for ; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// found describes the next byte.
func (r *reader) found() string {
	switch c := r.peek(); {
	case r.pos >= len(r.data):
		return "the end of the text"
	case c < ' ' || c > '~':
		return fmt.Sprintf("byte %#02x", c)
	default:
		return fmt.Sprintf("%q", c)
	}
}

func (r *reader) expect(c byte, what string) error {
	if r.peek() != c {
		return r.errorAt(r.pos, "want %s, found %s", what, r.found())
	}
	r.pos++
	return nil
}

// more says whether another element follows the first n of a list or object, and skips the comma before it
// or the closing byte.
func (r *reader) more(closing byte, n int) (bool, error) {
	if r.peek() == closing && r.pos < len(r.data) {
		r.pos++
		return false, nil
	}
	if n == 0 {
		return true, nil
	}
	if r.peek() != ',' {
		return false, r.errorAt(r.pos, "want ',' or %q, found %s", closing, r.found())
	}
	r.pos++
	if r.peek() == closing {
		return false, r.errorAt(r.pos, "a comma before %q", closing)
	}
	return true, nil
}

func (r *reader) program() ([]Bundle, error) {
	if err := r.expect('[', "a list of bundles"); err != nil {
		return nil, err
	}
	bundles := []Bundle{}
	for {
		r.bundle = -1
		more, err := r.more(']', len(bundles))
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if len(bundles) == maxBundles {
			return nil, r.errorAt(r.pos, "more than %d bundles", maxBundles)
		}
		r.bundle = len(bundles)
		b, err := r.readBundle()
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	if r.peek(); r.pos < len(r.data) {
		return nil, r.errorAt(r.pos, "more text after the program: %s", r.found())
	}
	return bundles, nil
}

func (r *reader) readBundle() (Bundle, error) {
	var b Bundle
	if err := r.expect('{', "a bundle, an object from engine to slots"); err != nil {
		return b, err
	}
	var seen uint8
	sorted := true
	r.slots = r.slots[:0]
	for n := 0; ; n++ {
		r.engine, r.slot = "", -1
		more, err := r.more('}', n)
		if err != nil {
			return b, err
		}
		if !more {
			break
		}
		r.peek()
		start := r.pos
		name, err := r.text("the name of an engine")
		if err != nil {
			return b, err
		}
		e := slices.Index(engineNames[:], string(name))
		if e < 0 {
			return b, r.errorAt(start, "unknown engine %q%s", name, nearest(string(name), engineNames[:]))
		}
		r.engine = engineNames[e]
		if seen>>e&1 != 0 {
			return b, r.errorAt(start, "the engine is named twice")
		}
		sorted = sorted && seen>>e == 0
		seen |= 1 << e
		if err := r.expect(':', "':'"); err != nil {
			return b, err
		}
		if err := r.readSlots(&b, Engine(e)); err != nil {
			return b, err
		}
	}
	if len(r.slots) > 0 {
		b.Slots = slices.Clone(r.slots)
	}
	if !sorted {
		slices.SortStableFunc(b.Slots, func(x, y Slot) int { return int(x.Op.Engine()) - int(y.Op.Engine()) })
	}
	return b, nil
}

// readSlots reads the slots of an engine into r.slots, those of debug into b.
func (r *reader) readSlots(b *Bundle, e Engine) error {
	if err := r.expect('[', "a list of slots"); err != nil {
		return err
	}
	for n := 0; ; n++ {
		r.slot = -1
		more, err := r.more(']', n)
		if err != nil {
			return err
		}
		if !more {
			if n == 0 {
				b.Named |= 1 << e
			}
			return nil
		}
		r.slot = n
		if e == Debug {
			raw, err := r.raw()
			if err != nil {
				return err
			}
			b.Debug = append(b.Debug, bytes.Clone(raw))
			continue
		}
		s, err := r.readSlot(e)
		if err != nil {
			return err
		}
		r.slots = append(r.slots, s)
	}
}

func (r *reader) readSlot(e Engine) (Slot, error) {
	var s Slot
	if err := r.expect('[', "a slot, a list of opcode and operands"); err != nil {
		return s, err
	}
	if r.peek() == ']' {
		return s, r.errorAt(r.pos, "a slot without an opcode")
	}
	start := r.pos
	name, err := r.text("an opcode")
	if err != nil {
		return s, err
	}
	op, ok := opByName[e][string(name)]
	if !ok {
		return s, r.errorAt(start, "unknown opcode %q%s", name, suggest(string(name), e))
	}
	s.Op = op
	roles := &ops[op].roles
	want := op.operands()
	for n := 0; ; n++ {
		more, err := r.more(']', n+1)
		if err != nil {
			return s, err
		}
		if !more {
			if n != want {
				return s, r.errorAt(start, "%s takes %d operands, not %d", name, want, n)
			}
			return s, nil
		}
		if n >= want {
			// The number of operands is checked after the operand, so that text that is not JSON is reported as such.
			if _, err := r.raw(); err != nil {
				return s, err
			}
			continue
		}
		v, err := r.integer(n, roles[n] == imm)
		if err != nil {
			return s, err
		}
		s.Args[n] = v
	}
}

// operands returns how many operands the operation takes.
func (o Op) operands() int {
	n := 0
	for n < len(ops[o].roles) && ops[o].roles[n] != none {
		n++
	}
	return n
}

// integer reads operand n.
func (r *reader) integer(n int, immediate bool) (uint32, error) {
	r.peek()
	start := r.pos
	raw, err := r.raw()
	if err != nil {
		return 0, err
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		return 0, r.errorAt(start, "operand %d is %s, not a whole number", n+1, clip(raw))
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, r.errorAt(start, "operand %d is %s, not a whole number", n+1, clip(raw))
	case !immediate && (err != nil || v < 0 || v >= 1<<32):
		return 0, r.errorAt(start, "operand %d is %s, out of range for an address", n+1, clip(raw))
	case err != nil || v < -1<<31 || v >= 1<<32:
		return 0, r.errorAt(start, "operand %d is %s, out of range: want -2^31 to 2^32-1", n+1, clip(raw))
	}
	return uint32(v), nil
}

// clip returns the start of a long text.
func clip(raw []byte) string {
	if len(raw) > 32 {
		return string(raw[:32]) + "…"
	}
	return string(raw)
}

// text reads a string.
func (r *reader) text(what string) ([]byte, error) {
	if r.peek() != '"' {
		return nil, r.errorAt(r.pos, "want %s, found %s", what, r.found())
	}
	start := r.pos
	if err := r.skipString(); err != nil {
		return nil, err
	}
	raw := r.data[start:r.pos]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, r.errorAt(start, "not a string: %v", err)
	}
	return []byte(s), nil
}

// skipString moves past a string. Escapes in it are left unchecked.
func (r *reader) skipString() error {
	start := r.pos
	for r.pos++; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; {
		case c == '"':
			r.pos++
			return nil
		case c == '\\':
			r.pos++
		case c < ' ':
			return r.errorAt(r.pos, "byte %#02x in a string", c)
		}
	}
	r.pos = len(r.data)
	return r.errorAt(start, "a string without its end")
}

// raw reads any JSON value and returns it without white space. It does not recurse.
func (r *reader) raw() (json.RawMessage, error) {
	c := r.peek()
	start := r.pos
	if c == '-' || c >= '0' && c <= '9' {
		for r.pos < len(r.data) && isNumeric(r.data[r.pos]) {
			r.pos++
		}
		// Nearly every value is a small whole number, which needs no further look.
		if raw := r.data[start:r.pos]; c >= '1' && c <= '9' && len(raw) < 5 && digits(raw) || len(raw) == 1 && c == '0' {
			return raw, nil
		}
	} else {
		depth := 0
	scan:
		for {
			switch c := r.peek(); {
			case r.pos >= len(r.data):
				return nil, r.errorAt(r.pos, "want a value, found the end of the text")
			case c == '"':
				if err := r.skipString(); err != nil {
					return nil, err
				}
			case c == '[' || c == '{':
				if depth++; depth > maxDebugDepth {
					return nil, r.errorAt(r.pos, "nested more than %d deep", maxDebugDepth)
				}
				r.pos++
			case depth > 0 && (c == ']' || c == '}'):
				depth--
				r.pos++
			case depth > 0 && (c == ',' || c == ':'):
				r.pos++
			case isNumeric(c) || c >= 'a' && c <= 'z':
				for r.pos < len(r.data) && (isNumeric(r.data[r.pos]) || r.data[r.pos] >= 'a' && r.data[r.pos] <= 'z') {
					r.pos++
				}
			default:
				return nil, r.errorAt(r.pos, "want a value, found %s", r.found())
			}
			if depth == 0 {
				break scan
			}
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.data[start:r.pos]); err != nil {
		// Compact does not say where it failed, but Unmarshal does.
		var value json.RawMessage
		if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(r.data[start:r.pos], &value)); ok {
			return nil, r.errorAt(start+int(max(syntax.Offset-1, 0)), "%v", err)
		}
		return nil, r.errorAt(start, "%v", err)
	}
	return compact.Bytes(), nil
}

func digits(raw []byte) bool {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// suggest returns a hint at the opcode that was probably meant, of engine e or else of another one.
func suggest(name string, e Engine) string {
	for other := range opByName {
		if _, ok := opByName[other][name]; ok {
			return fmt.Sprintf("; it belongs to %s", Engine(other))
		}
	}
	var names []string
	for o := range ops {
		if o != int(OpNone) && ops[o].engine == e {
			names = append(names, ops[o].name)
		}
	}
	return nearest(name, names)
}

// nearest returns a hint at the name that is least edits away, the first of several; it is empty where
// none is near.
func nearest(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	if len(name) < 64 {
		for _, n := range names {
			if d := edits(name, n); d < least && d < len(n) {
				best, least = n, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// edits returns the Levenshtein distance of a and b, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Write writes the program in the exchange format, one bundle a line, with the engines in order. The
// published Python machine takes the list as it is once each slot is a tuple: it adds relative immediates
// without reducing them, so those are written with their sign. The error is that of w, or a *Fault where
// a slot has no known operation.
func (p *Program) Write(w io.Writer) error {
	bw := bufio.NewWriterSize(w, 64<<10)
	bw.WriteByte('[')
	line := make([]byte, 0, 1024)
	for i := range p.Bundles {
		var err error
		if i > 0 {
			bw.WriteByte(',')
		}
		bw.WriteByte('\n')
		if line, err = p.Bundles[i].append(line[:0], i); err != nil {
			return err
		}
		bw.Write(line)
	}
	if len(p.Bundles) > 0 {
		bw.WriteByte('\n')
	}
	bw.WriteString("]\n")
	return bw.Flush()
}

// MarshalJSON returns the program in the exchange format.
func (p *Program) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := p.Write(&b)
	return b.Bytes(), err
}

// append appends bundle number i in the exchange format.
func (b *Bundle) append(out []byte, i int) ([]byte, error) {
	for k, s := range b.Slots {
		if s.Op == OpNone || s.Op >= NumOps {
			return out, staticFault(i, NumEngines, k, "unknown operation %d", s.Op)
		}
	}
	out = append(out, '{')
	engines := 0
	for e := range Engine(NumEngines) {
		n := 0
		open := func() {
			if n == 0 {
				if engines > 0 {
					out = append(out, ", "...)
				}
				out = append(append(append(out, '"'), engineNames[e]...), `": [`...)
				engines++
			} else {
				out = append(out, ", "...)
			}
			n++
		}
		if e == Debug {
			for _, raw := range b.Debug {
				open()
				out = append(out, raw...)
			}
		} else {
			for _, s := range b.Slots {
				if s.Op.Engine() == e {
					open()
					out = s.append(out)
				}
			}
		}
		if n == 0 && b.Named>>e&1 != 0 {
			open()
		}
		if n > 0 {
			out = append(out, ']')
		}
	}
	return append(out, '}'), nil
}

// append appends the slot in the exchange format.
func (s Slot) append(out []byte) []byte {
	out = append(append(append(out, `["`...), ops[s.Op].name...), '"')
	for k, r := range ops[s.Op].roles {
		if r == none {
			break
		}
		v := int64(s.Args[k])
		if r == imm && (s.Op == OpCondJumpRel || s.Op == OpLoadOffset) {
			v = int64(int32(s.Args[k]))
		}
		out = strconv.AppendInt(append(out, ", "...), v, 10)
	}
	return append(out, ']')
}

// String returns the slot in the exchange format.
func (s Slot) String() string {
	if s.Op == OpNone || s.Op >= NumOps {
		return s.Op.String()
	}
	return string(s.append(nil))
}
