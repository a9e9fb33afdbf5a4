package choice

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// holdsBy is by how many standard errors a gain in cross-validation is above 0 where it is not one of chance.
	holdsBy = 3
	// mixtures is how often shapes and costs are mixed, to see whether a gain is one of chance.
	mixtures = 199
	// largeGain is a gain in cross-validation, of the mean regret, that errors of measurement do not make: it needs no other proof.
	largeGain = 0.05
)

// Grow returns a tree of the given variants with a small weighted regret. It is never worse on the matrix than the best of the
// variants for all.
//
// The tree grows from the top: each question is the one after which the best variants of both sides have the least regret. A
// threshold is the middle, on a logarithmic scale, of two neighbouring values; of questions that are equally good the one about
// the first feature stands, and of its thresholds the one with the widest gap.
//
// One tree asks about fields alone, and one about products too. The second is the result where it gains more in cross-validation.
//
// Then it is pruned from the bottom. A question stays, with what is below it, only if it lowers the mean regret of the matrix by
// MinGain, and if this holds in cross-validation: of the shapes that come to it, each fold in turn is judged by a tree of the same
// depth that grew on the others, and their gain over a single leaf has to be above 0.
//
// The gain of the first question, with all that is below it, must not be one of chance either. It is above 0 by three standard
// errors, which are those of folds that share their training (Nadeau and Bengio, Machine Learning 52, 2003), or the tree
// gains more than each of 199 trees at the same shapes with their costs in random order. The first finds a gain at most shapes,
// even of few; the second a large gain at few of many. So of matrices whose variants differ by noise alone, about one in fifty
// has a tree. A gain of a twentieth or more is no error of measurement, and needs no such proof: with few shapes there would be none,
// and a tree that is not needed costs little, but one that is missing much.
func Grow(m Matrix, variants []int, g Growth) (*Tree, error) {
	g, err := g.check(m, variants)
	if err != nil {
		return nil, err
	}
	return newTerms(m).tree(variants, g), nil
}

// Fit returns a tree of at most k variants with a small weighted regret.
//
// The variants of Choose are the best where each shape finds its fastest one. A tree does not find all of them, and a variant that is
// the fastest here and slow there is worth less to it. So Fit makes a second set: it grows a tree of all variants, takes the
// shapes of a leaf together as one, and chooses for these.
//
// More variants are not always better, either: questions about them fit the matrix more closely, hold less often in
// cross-validation, and are then pruned with all that is below them. So Fit makes both sets for each number of variants up to k. Of the
// trees of all sets it returns the one with the least regret on the matrix, and of equals the one with the fewest variants, then that of
// Choose. Members of Must take part in all sets, and a tree need not use them.
func Fit(m Matrix, k int, s Search, g Growth) (*Tree, error) {
	if err := s.check(m, k); err != nil {
		return nil, err
	}
	t := newTerms(m)
	g, err := g.check(m, t.undominated(nil))
	if err != nil {
		return nil, err
	}
	return t.fitTree(k, s, g), nil
}

func (t terms) fitTree(k int, s Search, g Growth) *Tree {
	var best *Tree
	var tried [][]int
	least, leaves := math.Inf(1), t.together(t.tree(t.undominated(nil), g))
	for n := max(1, len(s.Must)); n <= k; n++ {
		for _, of := range []terms{t, leaves} {
			set := of.solve(n, s, noGoal).set
			if slices.ContainsFunc(tried, func(other []int) bool { return slices.Equal(other, set) }) {
				continue
			}
			tried = append(tried, set)
			tree := t.tree(set, g)
			if sum := t.of(tree); sum < least-rounding || best == nil {
				best, least = tree, sum
			}
		}
	}
	return best
}

// of returns what a tree adds up to.
func (t terms) of(tree *Tree) float64 {
	sum := 0.0
	for i, s := range t.m.Shapes {
		sum += t.costs[i][tree.At(s.Fields)]
	}
	return sum
}

// together returns terms with one row for all shapes that come to the same leaf of a tree.
func (t terms) together(tree *Tree) terms {
	out := terms{m: t.m, penalty: t.penalty}
	at := map[*Node]int{}
	for i, s := range t.m.Shapes {
		leaf := tree.leaf(s.Fields)
		row, ok := at[leaf]
		if !ok {
			row = len(out.costs)
			at[leaf] = row
			out.costs = append(out.costs, make([]float64, len(t.m.Variants)))
		}
		for j, c := range t.costs[i] {
			out.costs[row][j] += c
		}
	}
	return out
}

// tree grows and prunes a tree of some variants. The growth has been checked.
func (t terms) tree(variants []int, g Growth) *Tree {
	gr := newGrower(t, g.Features)
	gr.variants = slices.Compact(slices.Sorted(slices.Values(variants)))
	gr.vectors = t.costs
	gr.impurity = func(sums []float64) float64 { return sums[gr.least(sums)] }
	gr.pick = gr.least
	gr.between = func(a, b float64) float64 { return math.Sqrt(a) * math.Sqrt(b) }
	p := pruner{gr, t, g}
	rows := gr.all()
	all := gr.about
	gr.about = slices.DeleteFunc(slices.Clone(all), func(f int) bool { return len(g.Features[f].Factors) > 1 })
	simple, gain := p.tree(rows)
	if len(gr.about) == len(all) {
		return simple
	}
	gr.about = all
	tree, more := p.tree(rows)
	if more > gain+rounding {
		return tree
	}
	return simple
}

// tree grows a tree and prunes it, and returns its gain over a leaf in cross-validation.
func (p pruner) tree(rows []int) (*Tree, float64) {
	root := p.grow(rows, p.Depth)
	p.prune(root, rows, true)
	if root.Leaf() {
		return &Tree{p.features, root}, 0
	}
	gain, clear := p.heldOut(rows, root.depth())
	if gain < largeGain && !clear && !p.unlikeMixed(rows, root.depth()) {
		return &Tree{p.features, &Node{Variant: root.Variant}}, 0
	}
	return &Tree{p.features, root}, gain
}

// grower makes trees of rows. What a row says of each variant is a vector, and rows are taken together by adding their vectors.
type grower struct {
	features []Feature
	values   [][]float64 // by feature and row
	orders   [][]int     // by feature, the rows in ascending order of its values
	about    []int       // the features that questions are about, ascending
	variants []int       // ascending
	vectors  [][]float64 // by row and variant
	impurity func(sums []float64) float64
	pick     func(sums []float64) int // the variant of a leaf
	between  func(a, b float64) float64
}

func newGrower(t terms, features []Feature) *grower {
	g := &grower{features: features, values: make([][]float64, len(features)), orders: make([][]int, len(features))}
	for f, feature := range features {
		values, order := make([]float64, len(t.m.Shapes)), make([]int, len(t.m.Shapes))
		for i, s := range t.m.Shapes {
			values[i], order[i] = feature.Value(s.Fields), i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
		g.values[f], g.orders[f], g.about = values, order, append(g.about, f)
	}
	return g
}

// least returns the variant with the least sum, of equals the first.
func (g *grower) least(sums []float64) int {
	best := g.variants[0]
	for _, j := range g.variants[1:] {
		if sums[j] < sums[best]-rounding*math.Abs(sums[best]) {
			best = j
		}
	}
	return best
}

// rounding is the relative difference of sums that may come from the order of adding.
const rounding = 1e-12

func (g *grower) all() []int {
	rows := make([]int, len(g.vectors))
	for i := range rows {
		rows[i] = i
	}
	return rows
}

func (g *grower) add(sums []float64, row int) {
	for _, j := range g.variants {
		sums[j] += g.vectors[row][j]
	}
}

func (g *grower) sums(rows []int) []float64 {
	sums := make([]float64, len(g.vectors[0]))
	for _, i := range rows {
		g.add(sums, i)
	}
	return sums
}

// grow returns a tree of the rows, which are in ascending order, with questions down to the given depth.
func (g *grower) grow(rows []int, depth int) *Node {
	sums := g.sums(rows)
	n := &Node{Variant: g.pick(sums)}
	if depth == 0 || g.impurity(sums) <= 0 {
		return n
	}
	q, ok := g.question(rows)
	if !ok {
		return n
	}
	n.Feature, n.Threshold = q.feature, q.threshold
	left, right := g.divide(n, rows)
	n.Left, n.Right = g.grow(left, depth-1), g.grow(right, depth-1)
	return n
}

// divide returns the rows that go to the left and to the right of a question.
func (g *grower) divide(n *Node, rows []int) (left, right []int) {
	for _, i := range rows {
		if g.values[n.Feature][i] <= n.Threshold {
			left = append(left, i)
		} else {
			right = append(right, i)
		}
	}
	return left, right
}

// question is a way to divide rows. impurity is that of both sides together.
type question struct {
	feature                  int
	threshold, impurity, gap float64
}

// question returns the best one for the rows. ok is false where all rows have the same features.
func (g *grower) question(rows []int) (best question, ok bool) {
	here := make([]bool, len(g.vectors))
	for _, i := range rows {
		here[i] = true
	}
	order, right, sums := make([]int, 0, len(rows)), make([]float64, len(rows)), make([]float64, len(g.vectors[0]))
	for _, f := range g.about {
		values := g.values[f]
		order = order[:0]
		for _, i := range g.orders[f] {
			if here[i] {
				order = append(order, i)
			}
		}
		if values[order[0]] == values[order[len(order)-1]] {
			continue
		}
		clear(sums)
		for at := len(order) - 1; at > 0; at-- {
			g.add(sums, order[at])
			if values[order[at-1]] < values[order[at]] {
				right[at] = g.impurity(sums) // of the rows from this place on
			}
		}
		clear(sums)
		for at := 1; at < len(order); at++ {
			g.add(sums, order[at-1])
			a, b := values[order[at-1]], values[order[at]]
			if a == b {
				continue
			}
			q := question{f, g.threshold(a, b), g.impurity(sums) + right[at], math.Log(b) - math.Log(max(a, 0.5))}
			if !ok || q.before(best) {
				best, ok = q, true
			}
		}
	}
	return best, ok
}

// before reports whether a question is better than one that was found before it.
func (q question) before(other question) bool {
	close := rounding * (1e-3 + math.Abs(other.impurity))
	switch {
	case q.impurity < other.impurity-close:
		return true
	case q.impurity > other.impurity+close || q.feature != other.feature:
		return false
	}
	return q.gap > other.gap*(1+rounding)
}

// threshold returns a whole number from a on that is less than b.
func (g *grower) threshold(a, b float64) float64 {
	if t := math.Floor(g.between(a, b)); t >= a && t < b {
		return t
	}
	return a
}

// pruner drops questions that are not worth it.
type pruner struct {
	*grower
	terms terms
	Growth
}

// prune drops questions of a tree of the rows, from the bottom, and returns what the rows add to the mean regret. With validate it
// drops those too that do not hold in cross-validation.
func (p pruner) prune(n *Node, rows []int, validate bool) float64 {
	leaf := p.sums(rows)[n.Variant]
	if n.Leaf() {
		return leaf
	}
	left, right := p.divide(n, rows)
	with := p.prune(n.Left, left, validate) + p.prune(n.Right, right, validate)
	keep := leaf-with >= p.MinGain
	if keep && validate {
		gain, _ := p.heldOut(rows, n.depth())
		keep = gain > 0
	}
	if !keep {
		*n = Node{Variant: n.Variant}
		return leaf
	}
	return with
}

// heldOut returns by how much trees of the given depth are better than leaves at rows that they did not grow on, which are two or
// more, and whether that is clearly above 0.
func (p pruner) heldOut(rows []int, depth int) (gain float64, clear bool) {
	folds, order := min(p.Folds, len(rows)), p.random(rows).Perm(len(rows))
	gains := make([]float64, 0, len(rows))
	for fold := range folds {
		var train, held []int
		out := make([]bool, len(rows))
		for at := fold; at < len(rows); at += folds {
			out[order[at]] = true
		}
		for at, i := range rows {
			if out[at] {
				held = append(held, i)
			} else {
				train = append(train, i)
			}
		}
		root := p.grow(train, depth)
		leaf := root.Variant
		p.prune(root, train, false)
		tree := Tree{p.features, root}
		for _, i := range held {
			gains = append(gains, p.terms.judged(i, leaf)-p.terms.judged(i, tree.At(p.terms.m.Shapes[i].Fields)))
		}
	}
	square, n := 0.0, float64(len(rows))
	for _, g := range gains {
		gain += g
	}
	for _, g := range gains {
		square += (g - gain/n) * (g - gain/n)
	}
	shared := 1 + float64(folds)/float64(folds-1)
	return gain, gain > holdsBy*math.Sqrt(shared*square*n/(n-1))
}

// random returns the source of random orders of some rows.
func (p pruner) random(rows []int) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, uint64(len(rows))))
}

// unlikeMixed reports whether a tree of the rows gains more than each of those of rows that have the costs of other rows. Trees of
// two questions tell more than deep ones, which fit any costs.
func (p pruner) unlikeMixed(rows []int, depth int) bool {
	depth = min(depth, 2)
	random := p.random(rows)
	own := p.grow(rows, depth).value(p.grower, rows)
	mixed := *p.grower
	mixed.vectors = slices.Clone(p.vectors)
	for range mixtures {
		for at, from := range random.Perm(len(rows)) {
			mixed.vectors[rows[at]] = p.vectors[rows[from]]
		}
		if mixed.grow(rows, depth).value(&mixed, rows) <= own*(1+rounding) {
			return false
		}
	}
	return true
}

// value returns what a tree of the rows adds to the mean regret.
func (n *Node) value(g *grower, rows []int) float64 {
	if n.Leaf() {
		return g.sums(rows)[n.Variant]
	}
	left, right := g.divide(n, rows)
	return n.Left.value(g, left) + n.Right.value(g, right)
}

// judged returns what a variant adds to the mean regret at a row that it was not chosen by. A missing cost counts as more than twice the
// worst regret, and not as more than all together, so that one of them does not outweigh all that is known.
func (t terms) judged(row, variant int) float64 {
	if math.IsInf(t.m.Costs[row][variant], 1) {
		return t.shares[row] * t.penalty
	}
	return t.costs[row][variant]
}
