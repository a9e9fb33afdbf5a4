package space

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// limits bounds the work of New and of sampling.
type limits struct {
	// edges is how many edges the diagram may have, before neighbouring equal ones are bundled. An edge costs a few constraint
	// evaluations in New and at most 32 bytes.
	edges int
	// steps is how many assignments New tries in search of a first point, where the diagram lacks constraints.
	steps int
	// draws is how many draws Sample rejects before it gives up.
	draws int
}

var defaultLimits = limits{edges: 2 << 20, steps: 1 << 20, draws: 1 << 20}

// Space is a set of points: the combinations of parameter values that no constraint excludes. It is
// immutable, has at least one point, and is safe for concurrent use.
type Space struct {
	scope
	name     string
	sizes    []int
	fields   []field // of packed points; nil where reading bit by bit is needed
	widths   []int   // by parameter: packedBits
	packed   int     // PackedLen
	defaults []int
	read     []bool // by parameter: whether a condition or a constraint reads it
	// written has, for each parameter with few values, what a key says of it, by its ordinal: name=value. It is nil for others.
	written [][]string
	// when has the condition of each parameter, nil where it is always active.
	when        []*expr
	constraints []*expr
	// byLast has, for each parameter, the constraints that are decided once it is bound.
	byLast [][]*check

	diagram *diagram
	// rejects has, for each parameter, the checks that the diagram lacks and that are decided once it is bound. partial says that
	// there are any.
	rejects [][]*check
	partial bool
	// listed says that FromRows made the space: its points are exactly those of the diagram, and no constraints describe them.
	listed bool

	limits      limits
	first       []int
	fingerprint string
}

// definitionError is an error in one parameter or constraint, so that the YAML form can add its line.
type definitionError struct {
	parameter, constraint int // -1 where the error is elsewhere
	label                 string
	err                   error
}

func (e *definitionError) Error() string { return e.label + ": " + e.err.Error() }
func (e *definitionError) Unwrap() error { return e.err }

// New returns the space of the given parameters, in that order, and constraints, which are expressions in the language of the
// package documentation. The error names the parameter or constraint that is wrong; an error in an expression is an *ExprError. A
// space without any point is an error as well, which names the conflicting constraints as far as they are known.
func New(name string, params []Parameter, constraints ...string) (*Space, error) {
	return newSpace(name, params, constraints, defaultLimits)
}

func newSpace(name string, params []Parameter, constraints []string, limits limits) (*Space, error) {
	s, err := define(name, params, constraints, limits)
	if err == nil {
		s.buildDiagram()
		err = s.findFirst()
	}
	if err != nil {
		return nil, fmt.Errorf("space %q: %w", name, err)
	}
	return s, nil
}

// define checks the definition.
func define(name string, params []Parameter, constraints []string, limits limits) (*Space, error) {
	switch {
	case len(params) == 0:
		return nil, errors.New("it has no parameters")
	case len(params) > maxParameters:
		return nil, fmt.Errorf("it has %d parameters, more than %d", len(params), maxParameters)
	case len(constraints) > maxConstraints:
		return nil, fmt.Errorf("it has %d constraints, more than %d", len(constraints), maxConstraints)
	}
	if err := checkText("name", name); err != nil {
		return nil, err
	}
	n := len(params)
	s := &Space{
		name:   name,
		scope:  scope{index: make(map[string]int, n)},
		when:   make([]*expr, n),
		byLast: make([][]*check, n),
		limits: limits,
	}
	for i, p := range params {
		fail := func(err error) error {
			label := fmt.Sprintf("parameter %q", p.Name)
			if p.Name == "" {
				label = fmt.Sprintf("parameter %d", i+1)
			}
			return &definitionError{parameter: i, constraint: -1, label: label, err: err}
		}
		normal, ord, err := p.normalise()
		if err != nil {
			return nil, fail(err)
		}
		if _, ok := s.index[p.Name]; ok {
			return nil, fail(errors.New("another parameter has the same name"))
		}
		s.params = append(s.params, normal)
		s.index[p.Name] = i
		s.sizes = append(s.sizes, normal.Len())
		s.defaults = append(s.defaults, ord)
		s.written = append(s.written, normal.pairs())
	}
	s.setPacked()
	// Conditions are compiled once all names are known, so that the error for one that names a later parameter says so.
	for i, p := range s.params {
		if p.When == "" {
			continue
		}
		e, err := s.scope.compile(p.When, i)
		if err != nil {
			return nil, &definitionError{parameter: i, constraint: -1, label: conditionOf(p.Name), err: err}
		}
		s.when[i] = e
	}
	for i, text := range constraints {
		e, err := s.scope.compile(text, n)
		if err == nil && e.last() < 0 && e.eval(nil) != isTrue {
			err = fmt.Errorf("%s is never true: leave it out, or mend it", text)
		}
		if err != nil {
			return nil, &definitionError{parameter: -1, constraint: i, label: constraintAt(i), err: err}
		}
		s.constraints = append(s.constraints, e)
		if e.last() < 0 {
			continue
		}
		for _, part := range e.conjuncts() {
			s.byLast[part.last()] = append(s.byLast[part.last()], &check{expr: part, owner: -1, last: part.last(), constraint: i})
		}
	}
	s.read = make([]bool, n)
	for _, e := range slices.Concat(s.when, s.constraints) {
		if e != nil {
			for _, i := range e.reads {
				s.read[i] = true
			}
		}
	}
	s.fingerprint = s.digest()
	return s, nil
}

// conditionOf and constraintAt name expressions of a definition in errors.
func conditionOf(parameter string) string { return fmt.Sprintf("parameter %q: condition", parameter) }
func constraintAt(i int) string           { return fmt.Sprintf("constraint %d", i+1) }

// checkText rejects free text that YAML cannot represent.
func checkText(what, text string) error {
	if len(text) > maxExprBytes {
		return fmt.Errorf("its %s is longer than %d bytes", what, maxExprBytes)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("its %s is not valid UTF-8", what)
	}
	return nil
}

// digest hashes everything that determines the points and their numbers.
func (s *Space) digest() string {
	var b strings.Builder
	for i := range s.params {
		p := &s.params[i]
		fmt.Fprintf(&b, "%s %s %d %d %d", p.Type, p.Name, p.From, p.Step, s.sizes[i])
		for _, v := range p.Values {
			fmt.Fprintf(&b, " %s %q", v.kind, v.String())
		}
		if s.when[i] != nil {
			fmt.Fprintf(&b, " when %s", s.when[i].text)
		}
		b.WriteByte('\n')
	}
	var texts []string
	for _, c := range s.constraints {
		texts = append(texts, "constraint "+c.text+"\n")
	}
	slices.Sort(texts)
	b.WriteString(strings.Join(texts, ""))
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// buildDiagram compiles the space. Where the whole exceeds the limit, it leaves one constraint to rejection: the one whose own
// automaton is too large, or else the heaviest of those that are open at the widest place. It repeats this until the rest fits.
// If the conditions alone do not fit, it leaves out the heaviest of those in the same way. Without any checks the diagram is one
// chain of runs.
func (s *Space) buildDiagram() {
	m := newMachines(s)
	var kept []*check
	for _, checks := range s.byLast {
		kept = append(kept, checks...)
	}
	loose := make([]bool, len(s.params))
	for budget := compileBudget * s.limits.edges; len(kept) > 0; {
		b := &builder{machines: m, kept: kept, loose: loose, limit: min(s.limits.edges, budget)}
		d, wide := b.build()
		if d != nil {
			s.finish(d, kept, loose)
			return
		}
		budget -= max(b.spent(), 1)
		worst := slices.Index(kept, b.culprit)
		if worst < 0 {
			worst = s.heaviest(kept, wide)
		}
		if worst < 0 || budget <= 0 {
			break
		}
		kept = slices.Delete(kept, worst, worst+1)
	}
	for budget := compileBudget * s.limits.edges; budget > 0; {
		b := &builder{machines: m, loose: loose, limit: min(s.limits.edges, budget)}
		d, wide := b.build()
		if d != nil {
			s.finish(d, nil, loose)
			return
		}
		budget -= max(b.spent(), 1)
		worst := -1
		if b.culprit != nil {
			worst = b.culprit.owner
		}
		if worst < 0 {
			worst = s.heaviestCondition(loose, wide)
		}
		if worst < 0 {
			break
		}
		loose[worst] = true
	}
	for i, when := range s.when {
		loose[i] = when != nil
	}
	d, _ := (&builder{machines: m, loose: loose, limit: math.MaxInt}).build()
	s.finish(d, nil, loose)
}

// compileBudget limits the edges that buildDiagram may examine over all its attempts, as a multiple of the edges of the largest
// diagram; it applies once for the constraints and again for the conditions.
const compileBudget = 4

// finish keeps the diagram and lists the checks that it lacks.
func (s *Space) finish(d *diagram, kept []*check, loose []bool) {
	s.diagram = d
	s.rejects = make([][]*check, len(s.params))
	for i, checks := range s.byLast {
		for _, c := range checks {
			if !slices.Contains(kept, c) {
				s.rejects[i] = append(s.rejects[i], c)
				s.partial = true
			}
		}
		if loose[i] {
			s.rejects[i] = append(s.rejects[i], &check{expr: s.when[i], owner: i, last: i})
			s.partial = true
		}
	}
}

// heaviest returns the constraint among kept whose parameters have the most combinations, of those that
// are open at the layer; -1 where none is.
func (s *Space) heaviest(kept []*check, at int) int {
	best, most := -1, -1.0
	for i, c := range kept {
		if c.reads[0] > at || c.last < at {
			continue
		}
		if w := s.combinations(c.reads); w >= most {
			best, most = i, w
		}
	}
	return best
}

// heaviestCondition is heaviest for the conditions that are still in the diagram; it returns their parameter.
func (s *Space) heaviestCondition(loose []bool, at int) int {
	best, most := -1, -1.0
	for i, e := range s.when {
		if e == nil || loose[i] || len(e.reads) == 0 || e.reads[0] > at || i < at {
			continue
		}
		if w := s.combinations(e.reads); w >= most {
			best, most = i, w
		}
	}
	return best
}

// combinations is the logarithm of the number of combinations of the given parameters.
func (s *Space) combinations(params []int) float64 {
	sum := 0.0
	for _, j := range params {
		sum += math.Log2(float64(s.sizes[j]))
	}
	return sum
}

// findFirst finds the default point, or reports why the space has none.
func (s *Space) findFirst() error {
	if ords, ok := s.complete(s.defaults); ok {
		s.first = ords
		return nil
	}
	if s.diagram.len() == 0 {
		return s.explainEmpty()
	}
	ords := make([]int, len(s.params))
	w := &walker{s: s, ords: ords, steps: s.limits.steps, yield: func() bool { return false }}
	w.walk(0, 0)
	if w.found {
		s.first = ords
		return nil
	}
	if w.steps >= 0 {
		return s.explainEmpty()
	}
	// A random draw finds a point if the first one in order comes after a long stretch without points.
	if p, err := s.Sample(rand.New(rand.NewPCG(1, 1))); err == nil {
		s.first = p.ords
		return nil
	}
	return fmt.Errorf("no point was found that satisfies its constraints, in %d steps of search and %d random draws: loosen one of them", s.limits.steps, s.limits.draws)
}

// Name returns the name of the space.
func (s *Space) Name() string { return s.name }

// Parameters returns the parameters in order. Enums with both integers and floats have only floats. The lists of values must not
// be changed.
func (s *Space) Parameters() []Parameter { return slices.Clone(s.params) }

// Parameter returns the parameter of that name.
func (s *Space) Parameter(name string) (Parameter, bool) {
	i, ok := s.index[name]
	if !ok {
		return Parameter{}, false
	}
	return s.params[i], true
}

// Constraints returns the texts of the constraints as they were given.
func (s *Space) Constraints() []string {
	texts := make([]string, len(s.constraints))
	for i, c := range s.constraints {
		texts[i] = c.src
	}
	return texts
}

func (s *Space) names() []string {
	names := make([]string, len(s.params))
	for i, p := range s.params {
		names[i] = p.Name
	}
	return names
}

// Fingerprint returns 16 hexadecimal digits of a hash of the definition: the names, domains, order and
// conditions of the parameters, and the constraints, in whatever order and spelling. Spaces with the
// same fingerprint have the same points, keys and indices. The name of the space, documentation and
// defaults do not count.
func (s *Space) Fingerprint() string { return s.fingerprint }

// same reports whether points of o are points of s.
func (s *Space) same(o *Space) bool { return s == o || o != nil && s.fingerprint == o.fingerprint }

// Same reports whether two spaces have the same definition. No space is the same as none.
func (s *Space) Same(o *Space) bool { return s != nil && s.same(o) }

// Product returns the product of all domain sizes, before conditions and constraints.
func (s *Space) Product() *big.Int {
	product := big.NewInt(1)
	for _, n := range s.sizes {
		product.Mul(product, big.NewInt(int64(n)))
	}
	return product
}

// Len returns the number of points. ok is false where it is unknown because the diagram of all constraints would be too large,
// and where the number does not fit a uint64.
func (s *Space) Len() (n uint64, ok bool) {
	if n = s.diagram.len(); s.partial || n == saturated {
		return 0, false
	}
	return n, true
}

// At returns the point with index i, in [0, Len()), in canonical order: by the ordinal of the first parameter, then of the
// second, and so on, with inactive before all values. It panics where i is out of range or Len is unknown.
func (s *Space) At(i uint64) Point {
	n, ok := s.Len()
	if !ok {
		panic(fmt.Sprintf("space: At(%d): the number of points of space %q is not known", i, s.name))
	}
	if i >= n {
		panic(fmt.Sprintf("space: At(%d): space %q has %d points", i, s.name, n))
	}
	ords := make([]int, len(s.params))
	s.diagram.at(i, ords)
	return Point{s, ords}
}

// Index returns the index of p, the inverse of At. It returns false where p does not belong to s, or Len is unknown.
func (s *Space) Index(p Point) (uint64, bool) {
	if _, ok := s.Len(); !ok || !s.same(p.space) {
		return 0, false
	}
	return s.diagram.index(p.ords)
}

// Sample returns a random point. Every point is equally likely: exactly where Len is known or the number of points before
// rejection fits a uint64, otherwise up to the rounding of a float64 at each parameter. Where the diagram lacks constraints, a
// draw that breaks one is rejected; after a million rejections in a row Sample returns an error.
func (s *Space) Sample(r *rand.Rand) (Point, error) {
	ords := make([]int, len(s.params))
	for range s.limits.draws {
		s.diagram.sample(r, ords)
		if !s.partial || s.accepts(ords) {
			return Point{s, ords}, nil
		}
	}
	return Point{}, fmt.Errorf("space %q: %d random draws in a row broke a constraint that is too wide to count", s.name, s.limits.draws)
}

// accepts applies the checks that the diagram lacks.
func (s *Space) accepts(ords []int) bool {
	for _, checks := range s.rejects {
		for _, c := range checks {
			if !c.holds(ords) {
				return false
			}
		}
	}
	return true
}

// All yields the points in canonical order, whether or not Len is known.
func (s *Space) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		w := &walker{s: s, ords: make([]int, len(s.params)), steps: -1}
		w.yield = func() bool { return yield(Point{s, slices.Clone(w.ords)}) }
		w.walk(0, 0)
	}
}

// walker visits the paths of the diagram depth first, and leaves a path as soon as a check that the diagram lacks fails.
type walker struct {
	s     *Space
	ords  []int
	steps int // assignments left to try; a negative initial value means no limit
	found bool
	yield func() bool
}

// walk visits the paths below a node of layer i. It returns false to end the walk.
func (w *walker) walk(i int, node int32) bool {
	if i == len(w.ords) {
		w.found = true
		return w.yield()
	}
	l, limited := &w.s.diagram.layers[i], w.steps >= 0
	for _, r := range l.runs[l.first[node]:l.first[node+1]] {
	next:
		for o := r.lo; o < r.lo+r.n; o++ {
			if limited {
				if w.steps--; w.steps < 0 {
					return false
				}
			}
			w.ords[i] = o
			for _, c := range w.s.rejects[i] {
				if !c.holds(w.ords) {
					continue next
				}
			}
			if !w.walk(i+1, r.child) {
				return false
			}
		}
	}
	return true
}

// Default returns the point where every parameter has its default. Where a constraint excludes that, it returns the first point
// in canonical order; in a space too large to search, it returns some point, always the same.
func (s *Space) Default() Point { return Point{s, s.first} }

// active reports whether parameter i is active, given the ordinals of those before it.
func (s *Space) active(i int, ords []int) bool {
	return s.when[i] == nil || s.when[i].eval(ords) == isTrue
}
