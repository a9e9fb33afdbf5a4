package insight

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"tune/space"
)

// set is a set of rows.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

// join adds the rows of another set.
func (s set) join(o set) {
	for i, w := range o {
		s[i] |= w
	}
}

func (s set) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// both counts the rows that are in two sets, or in three where c is not nil.
func both(a, b, c set) (n int) {
	for i, w := range a {
		if w &= b[i]; c != nil {
			w &= c[i]
		}
		n += bits.OnesCount64(w)
	}
	return n
}

// tried is a test with the rows that meet it.
type tried struct {
	test
	failed, right set
	width         int32 // how many values meet it
}

// causes finds the rules that cover the failures of a status, greedily: of the tests, and pairs of tests, that no right row meets, the
// one that covers most of the failures that are left, as in the covering algorithms of rule learning (Fürnkranz, "Separate-and-conquer
// rule learning", 1999). A pair must cover twice as many as a single test. A rule is left out where rows that fail at random would
// be as likely to look like that.
func (t *Table) causes(status space.Status) (rules []rule) {
	var failed, right []int
	for i := range t.Rows {
		switch t.Rows[i].Status {
		case status:
			failed = append(failed, i)
		case space.OK:
			right = append(right, i)
		}
	}
	if len(failed) < leastShared || len(right) == 0 {
		return nil
	}
	tests := t.tests(failed, right)
	left := newSet(len(failed))
	for i := range failed {
		left.add(i)
	}
	least := max(leastShared, int(math.Ceil(leastCovered*float64(len(failed)))))
	parameters := float64(len(t.Parameters))
	// surprising reports whether covering n failures and nothing right is unlikely by chance, for rules of so many tests: whether n
	// rows that are drawn from all of them would all be failures.
	surprising := func(n, size int) bool {
		p := float64(size) * math.Log(parameters)
		for i := range n {
			p += math.Log(float64(len(failed)-i) / float64(len(failed)+len(right)-i))
		}
		return n >= least && p <= math.Log(chance)
	}
	for len(rules) < mostCauses {
		one, n := bestTest(tests, left)
		if !surprising(n, 1) {
			n = 0
		}
		a, b, m := bestPair(tests, left, max(2*n, least)-1)
		switch {
		case m > 0 && surprising(m, 2):
			rules = append(rules, rule{[]test{tests[a].test, tests[b].test}, both(tests[a].failed, tests[b].failed, nil)})
			for i := range left {
				left[i] &^= tests[a].failed[i] & tests[b].failed[i]
			}
		case n > 0:
			rules = append(rules, rule{[]test{tests[one].test}, tests[one].failed.len()})
			for i := range left {
				left[i] &^= tests[one].failed[i]
			}
		default:
			return rules
		}
	}
	return rules
}

// tests lists the tests that some failure meets and some right row does not: for each value of a parameter that it is this one, and for
// numbers that they are at most, or at least, this one.
func (t *Table) tests(failed, right []int) (out []tried) {
	for k, p := range t.Parameters {
		last := len(p.Values) - 1
		count := len(p.Values)
		if p.Numbers != nil {
			count += 2 * (last - 1)
		}
		if last < 1 || count > mostTests { // with more, each value is seldom the same
			continue
		}
		add := func(lo, hi int, failed, right set) {
			if !slices.ContainsFunc(failed, func(w uint64) bool { return w != 0 }) {
				return
			}
			out = append(out, tried{test{k, int32(lo), int32(hi)}, slices.Clone(failed), slices.Clone(right), int32(hi - lo)})
		}
		// Of equal tests the first is used: the narrowest.
		f, r := t.byValue(k, failed), t.byValue(k, right)
		for c := range f {
			add(c, c, f[c], r[c])
		}
		if p.Numbers == nil {
			continue
		}
		mostFailed, mostRight, leastFailed, leastRight := slices.Clone(f[0]), slices.Clone(r[0]), slices.Clone(f[last]), slices.Clone(r[last])
		for c := 1; c < last; c++ {
			mostFailed.join(f[c])
			mostRight.join(r[c])
			add(0, c, mostFailed, mostRight)
			leastFailed.join(f[last-c])
			leastRight.join(r[last-c])
			add(last-c, last, leastFailed, leastRight)
		}
	}
	return out
}

// byValue returns, for each value of a parameter, which of some rows have it.
func (t *Table) byValue(k int, rows []int) []set {
	sets := make([]set, len(t.Parameters[k].Values))
	for c := range sets {
		sets[c] = newSet(len(rows))
	}
	for i, row := range rows {
		if c := t.Rows[row].Choice(k); c >= 0 {
			sets[c].add(i)
		}
	}
	return sets
}

// mostTests is how many tests of one parameter are tried at most.
const mostTests = 512

// bestTest returns the test that no right row meets and that covers most of the failures that are left; of equal ones the narrowest.
func bestTest(tests []tried, left set) (best, covers int) {
	for i, c := range tests {
		n := both(c.failed, left, nil)
		if n < covers || n == 0 || n == covers && c.width >= tests[best].width || c.right.len() > 0 {
			continue
		}
		best, covers = i, n
	}
	return best, covers
}

// bestPair is bestTest for pairs of tests of different parameters; a pair must cover more than the given number.
func bestPair(tests []tried, left set, more int) (a, b, covers int) {
	order := make([]int, 0, len(tests))
	purity := make([]float64, len(tests))
	for i, c := range tests {
		n := both(c.failed, left, nil)
		if purity[i] = float64(n) / float64(1+c.right.len()); n > more {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(purity[j], purity[i]) })
	order = order[:min(len(order), triedTogether)]
	width := int32(0)
	for x, i := range order {
		for _, j := range order[:x] {
			c, d := &tests[i], &tests[j]
			if c.parameter == d.parameter {
				continue
			}
			n := both(c.failed, d.failed, left)
			if n <= more || n < covers || n == covers && c.width+d.width >= width || both(c.right, d.right, nil) > 0 {
				continue
			}
			a, b, covers, width = min(i, j), max(i, j), n, c.width+d.width
		}
	}
	return a, b, covers
}
