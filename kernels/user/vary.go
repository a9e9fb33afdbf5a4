package user

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"tune/kernels/native"
)

// choice is what a file says of one argument: the input varies in timed calls, it does not, or nothing.
type choice uint8

const (
	unsaid choice = iota
	yes
	no
)

// variation is how an input that is the same for every seed differs between timed calls.
type variation uint8

const (
	unvaried variation = iota
	scaled             // floats differ by up to a quarter
	traded             // some integers trade places
)

// variationOf returns how input buffer i of a call varies in timed calls; random inputs are unvaried, because they differ anyway.
// The argument decides, then the source, then the type: floats vary, and so do integers of 8 bits, which are codes or weights.
// Wider integers do not, because they may be offsets and indices.
func (s *source) variationOf(c call, i int) variation {
	b, a := c.buffers[i], s.arguments[c.index[i]]
	if b.Mode == native.Out || !s.fixedBuffer(c, i) {
		return unvaried
	}
	varies := !s.asIs && (floating(b.Elem) || b.Elem.Size() == 1)
	if a.vary != unsaid {
		varies = a.vary == yes
	}
	switch {
	case !varies:
		return unvaried
	case floating(b.Elem):
		return scaled
	}
	return traded
}

// differs reports whether input buffer i of a call can differ between timed calls: it is random, or it varies and has a content
// that this changes. Zeros stay zeros, and equal integers can trade places unnoticed.
func (s *source) differs(c call, i int) bool {
	if c.buffers[i].Mode == native.Out {
		return false
	}
	if !s.fixedBuffer(c, i) {
		return true
	}
	fill, elem := s.arguments[c.index[i]].fill, c.buffers[i].Elem
	size := elem.Size()
	switch how := s.variationOf(c, i); {
	case how == unvaried:
		return false
	case how == traded:
		return fill.kind == fillFile && len(fill.data) > size && !bytes.Equal(fill.data[size:], fill.data[:len(fill.data)-size])
	case fill.kind == fillFile:
		for at := 0; at+size <= len(fill.data); at += size {
			if x := decode(fill.data[at:at+size], elem); x != 0 && !math.IsNaN(x) && !math.IsInf(x, 0) {
				return true
			}
		}
		return false
	}
	from := fill.constant
	if fill.kind == fillRandom {
		from = fill.low
	}
	x, err := from.number(c.values)
	return err == nil && x != 0
}

// remembered reports whether a candidate that remembers its result would be right in every timed call: no input can differ, or there
// is none. accepted says that the file puts up with it, for each input or for the whole source.
func (s *source) remembered(c call) (remembered, accepted bool) {
	inputs, kept := 0, 0
	for i, b := range c.buffers {
		if b.Mode == native.Out {
			continue
		}
		if s.differs(c, i) {
			return false, false
		}
		inputs++
		if a := s.arguments[c.index[i]]; a.vary == no || a.vary == unsaid && s.asIs {
			kept++
		}
	}
	return true, s.fast || kept == inputs && (inputs > 0 || s.asIs)
}

// unvariedText says what is wrong with a call of which nothing varies, and what helps.
const unvariedText = "no input differs between timed calls, so that a candidate which remembers its result would be scored as fast: fill an input at random, " +
	"write vary: true at an argument with a file whose elements may trade places, or accept it by vary: false in source or at every input"

// unverified says what is wrong with a call of which inputs vary while the expected results are files, or returns "".
func (s *source) unverified(c call) string {
	if s.reference.outputs == nil {
		return ""
	}
	for i, b := range c.buffers {
		if s.differs(c, i) {
			return fmt.Sprintf("%s differs between timed calls, and the files of outputs are right only for exactly these numbers, so that no timed call could be verified: "+
				"write vary: false in source, or compare with a reference function", b.Name)
		}
	}
	return ""
}

// unnoticed says why wrong or skipped work would go unnoticed in timed calls, and what helps, or returns "".
func (s *source) unnoticed(c call) string {
	if remembered, accepted := s.remembered(c); remembered && !accepted {
		return unvariedText
	}
	return s.unverified(c)
}

// checkVariation reports inputs whose variation leaves something unnoticed. list is the node of the arguments.
func (r *reader) checkVariation(list node, s *source, c call) {
	remembered, accepted := s.remembered(c)
	unnoticed := s.unnoticed(c)
	switch {
	case remembered && !accepted && r.made:
		r.warn(list, "no input differs between timed calls: a candidate that remembers its result is scored as fast")
	case unnoticed != "" && r.made:
		r.warn(list, "the files of outputs say nothing about inputs that differ between timed calls, of which none is verified")
	case unnoticed != "":
		r.fault(list, "%s", unnoticed)
	case remembered:
		r.warn(list, "all checks and all timed calls are on one input, as the file accepts: a candidate that always gives its result is right, and one that remembers it is scored as fast")
	case s.fixed(c):
		r.warn(list, "no buffer is filled with random numbers, so that all checks are on one input, and a kernel that always gives its result is right")
	}
	if remembered || s.asIs {
		return
	}
	for i, b := range c.buffers {
		a := s.arguments[c.index[i]]
		if a.vary == unsaid && b.Mode != native.Out && a.fill.kind == fillFile && !floating(b.Elem) && b.Elem.Size() > 1 && b.Len > 1 {
			r.warn(a.node, "%s is the same in all timed calls: a candidate that keeps what it makes of it (packs it once) is scored without that work. At this argument vary: true lets elements trade places, and vary: false accepts it", a.name)
		}
	}
}

// varyInputs varies those inputs of a call that are the same for every seed, and returns the names of those that differ from the
// file then. It copies the inputs of the file first.
func (s *source) varyInputs(c call, inputs [][]byte, seed uint64) (varied []string) {
	rng := rand.New(rand.NewPCG(seed, 0x7363616c65))
	for i, b := range c.buffers {
		before := inputs[i]
		switch s.variationOf(c, i) {
		case scaled:
			inputs[i] = scaleFloats(inputs[i], b.Elem, rng)
		case traded:
			// Each buffer has its own random stream, so that the floats of other arguments do not depend on it.
			h := fnv.New64a()
			h.Write([]byte("trade " + b.Name))
			inputs[i] = tradeIntegers(inputs[i], b.Elem, rand.New(rand.NewPCG(seed, h.Sum64())))
		}
		if !bytes.Equal(inputs[i], before) {
			varied = append(varied, b.Name)
		}
	}
	return varied
}

// narrowInputs brings the random inputs of a call closer to that number of their range which is nearest to 0, so that sums and rounding
// errors get smaller. One number of each is farther away than the others: a function that looks for it among some of them alone is wrong. It returns the
// names of those that it changed.
func (s *source) narrowInputs(c call, inputs [][]byte, seed uint64) (names []string) {
	rng := rand.New(rand.NewPCG(seed, 0x6e6172726f77))
	for i, b := range c.buffers {
		a := s.arguments[c.index[i]]
		share, place := 0.5+rng.Float64()/4, rng.Float64()
		if b.Mode == native.Out || a.fill.kind != fillRandom {
			continue
		}
		low, lowErr := a.fill.low.number(c.values)
		high, highErr := a.fill.high.number(c.values)
		if lowErr != nil || highErr != nil || low >= high {
			continue
		}
		whole := a.fill.integers || !floating(b.Elem)
		centre := min(max(low, 0), high)
		out := make([]byte, 0, len(inputs[i]))
		add := func(distance float64) {
			if whole {
				distance = math.Trunc(distance)
			}
			out = encode(out, centre+distance, b.Elem)
		}
		far := int(place * float64(b.Len))
		for e, at := 0, elementsOf(inputs[i], b.Elem); e < b.Len; e++ {
			if e == far && b.Len >= leastForFar {
				add((share + farPart*(1-share)) * farther(low-centre, high-centre))
				continue
			}
			add(share * (at(e) - centre))
		}
		if !bytes.Equal(out, inputs[i]) {
			inputs[i], names = out, append(names, b.Name)
		}
	}
	return names
}

// Of at least leastForFar numbers one is farther away than the others: so much of the way from the end of the narrower range to the end of the whole one.
const (
	leastForFar = 64
	farPart     = 0.4
)

// farther returns the one of two numbers that is farther from 0.
func farther(a, b float64) float64 {
	if math.Abs(a) > math.Abs(b) {
		return a
	}
	return b
}

// narrowedText says in a message which inputs come from a part of their range.
func narrowedText(names []string) string { return inputsText(names, "comes", "come") }

// variedText says in a message which inputs vary.
func variedText(names []string) string {
	return inputsText(names, "differs", "differ") + " from the numbers of the file"
}

// inputsText names inputs in a message, with the verb for one of them or for several.
func inputsText(names []string, one, several string) string {
	n := len(names)
	if n == 1 {
		return "input " + names[0] + " " + one
	}
	return "inputs " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + " " + several
}

// tradeIntegers returns a copy of data in which about a quarter of the elements have traded places. Where they are in order, about
// half of them take the value of the next one instead. They then stay in order, also where a call mixes elements of several
// copies. No value is new, so that codes and indices of tables stay valid.
func tradeIntegers(data []byte, elem native.Elem, rng *rand.Rand) []byte {
	size := elem.Size()
	n := len(data) / size
	element := func(b []byte, i int) []byte { return b[i*size : (i+1)*size] }
	out := bytes.Clone(data)
	if orderOf(n, func(i int) float64 { return decode(element(data, i), elem) }) != 0 {
		for i := range n - 1 {
			if rng.Uint64()%2 == 0 {
				copy(element(out, i), element(data, i+1))
			}
		}
		return out
	}
	swap := func(i, j int) {
		x, y := element(out, i), element(out, j)
		for k := range size {
			x[k], y[k] = y[k], x[k]
		}
	}
	for i := range n {
		if rng.Uint64()%8 == 0 {
			swap(i, rng.IntN(n))
		}
	}
	if bytes.Equal(out, data) {
		tradeOne(n, swap, func(i int) bool { return bytes.Equal(element(data, i), element(data, 0)) }, rng)
	}
	return out
}

// tradeOne swaps one of n elements that are like the first with one that is not, where there is one.
func tradeOne(n int, swap func(i, j int), first func(i int) bool, rng *rand.Rand) {
	var of, seen [2]int // an element of each kind, and how many there are
	for i := range n {
		kind := 0
		if !first(i) {
			kind = 1
		}
		seen[kind]++
		if rng.IntN(seen[kind]) == 0 {
			of[kind] = i
		}
	}
	if seen[1] > 0 {
		swap(of[0], of[1])
	}
}

// scaleFloats returns a copy of data with its elements multiplied by numbers from 0.75 to 1.25. Where they are in order, each
// moves towards the next one instead, by up to a quarter of itself and less than half of the distance. They then stay in order,
// also where a call mixes elements of several copies.
func scaleFloats(data []byte, elem native.Elem, rng *rand.Rand) []byte {
	size := elem.Size()
	at := func(i int) float64 { return decode(data[i*size:(i+1)*size], elem) }
	n := len(data) / size
	order := orderOf(n, at)
	out := make([]byte, 0, len(data))
	for i := range n {
		x, share := at(i), rng.Float64()
		switch {
		case order == 0:
			x *= 0.75 + share/2
		case math.IsInf(x, 0):
		case i == n-1:
			x += float64(order) * share * math.Abs(x) / 4
		default:
			x += float64(order) * share * min(math.Abs(x)/4, math.Abs(at(i+1)-x)/2)
		}
		out = encode(out, x, elem)
	}
	return out
}

// orderOf returns 1 if n numbers never fall, -1 if they never rise, and 0 if they are all the same or in no order.
func orderOf(n int, at func(i int) float64) int {
	rises, falls := true, true
	for i := 1; i < n && (rises || falls); i++ {
		rises = rises && at(i-1) <= at(i)
		falls = falls && at(i-1) >= at(i)
	}
	switch {
	case rises && !falls:
		return 1
	case falls && !rises:
		return -1
	}
	return 0
}
