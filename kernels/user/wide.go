package user

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// The factors of wrong results that a tolerance should not accept: 10 %, less what rounding may add. Where the file states none it is 1 %: the
// tolerance for all files is too wide for results that are all tiny.
const (
	scaledBy        = 1.0999
	scaledByDefault = 1.00999
)

// tooWide says that the tolerance of buffer i accepts what nobody has computed from the inputs, after each of some calls, or
// returns "".
func tooWide(b native.Buffer, i int, t tolerance, cases []native.Case, results []outcome) string {
	accepts := func(content func(k int) []byte) bool {
		for k := range cases {
			if !within(b, i, t, &results[k], content(k)) {
				return false
			}
		}
		return true
	}
	const remedy = "narrow absolute and relative in reference.tolerance, or in the tolerance of this argument"
	if b.Mode == native.InOut && accepts(func(k int) []byte { return cases[k].Inputs[i] }) {
		return fmt.Sprintf("the tolerance of %s is as large as what the reference changes: a candidate that leaves it as it is passes; %s", b.Name, remedy)
	}
	zeros := make([]byte, b.Bytes())
	if accepts(func(int) []byte { return zeros }) {
		return fmt.Sprintf("the tolerance of %s is as large as its results: an output of zeros passes; %s", b.Name, remedy)
	}
	if n := len(results); n > 1 && accepts(func(k int) []byte { return results[(k+1)%n].buffers[i] }) {
		return fmt.Sprintf("the tolerance of %s is as large as the difference between the results of different inputs (%d were tried): a candidate that gives its first result for ever passes; %s", b.Name, n, remedy)
	}
	if t == (tolerance{}) {
		return ""
	}
	middle, ok := middleOf(b, i, results)
	if !ok {
		return ""
	}
	factor, share := scaledBy, "10 %"
	if t == defaultTolerance(b.Elem) {
		factor, share = scaledByDefault, "1 %"
	}
	for _, wrong := range []struct {
		what string
		of   func(x float64, e, n int, at func(e int) float64) float64 // element e of n, whose result is x
	}{
		{fmt.Sprintf("an output of %s everywhere", strconv.FormatFloat(middle, 'g', 4, 64)), func(float64, int, int, func(int) float64) float64 { return middle }},
		{"an output in the opposite order", func(_ float64, e, n int, at func(int) float64) float64 { return at(n - 1 - e) }},
		{"an output that is " + share + " too large everywhere", func(x float64, _, _ int, _ func(int) float64) float64 { return factor * x }},
	} {
		different := true
		passes := accepts(func(k int) []byte {
			content, is := changed(b, results[k].buffers[i], wrong.of)
			different = different && is
			return content
		})
		if passes && different {
			return fmt.Sprintf("the tolerance of %s is so wide that %s passes; %s", b.Name, wrong.what, remedy)
		}
	}
	return ""
}

// firstElements is how many elements of a large buffer are compared before all of them.
const firstElements = 4096

// within reports whether the tolerance of buffer i accepts a content after a call.
func within(b native.Buffer, i int, t tolerance, o *outcome, content []byte) bool {
	for _, n := range []int{min(firstElements, b.Len), b.Len} {
		want := o.buffers[i][:n*b.Elem.Size()]
		marked := o.unwritten[i]
		if marked != nil {
			marked = marked[:n]
		}
		got := native.Replace(content[:len(want)], want, marked, b.Elem.Size())
		if _, _, wrong := compare(got, want, b.Elem, t, new(kernels.Deviation)); wrong > 0 {
			return false
		}
	}
	return true
}

// middleOf returns the number in the middle between the least and the greatest that some calls write to buffer i. It returns false where
// they write none, or one that is not finite.
func middleOf(b native.Buffer, i int, results []outcome) (float64, bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for k := range results {
		for e := range b.Len {
			if one := results[k].element(i, e, b.Elem.Size()); one != nil {
				x := decode(one, b.Elem)
				if !space.Finite(x) {
					return 0, false
				}
				low, high = min(low, x), max(high, x)
			}
		}
	}
	return low/2 + high/2, low <= high
}

// changed returns the content of a buffer after a change of each element, and whether that makes most of them different.
func changed(b native.Buffer, content []byte, of func(x float64, e, n int, at func(e int) float64) float64) ([]byte, bool) {
	size := b.Elem.Size()
	at := func(e int) float64 { return decode(content[e*size:(e+1)*size], b.Elem) }
	out := make([]byte, 0, len(content))
	differ := 0
	for e := range b.Len {
		out = encode(out, of(at(e), e, b.Len, at), b.Elem)
		if !bytes.Equal(out[e*size:], content[e*size:(e+1)*size]) {
			differ++
		}
	}
	return out, 2*differ >= b.Len
}
