package insight

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tune/results"
	"tune/space"
)

// Table holds outcomes of a run in columns.
type Table struct {
	Parameters []Parameter
	Rows       []Row // by number
	// Seen is how many outcomes the run has. Where it is more than the rows, each Stride-th one is a row, and so is the best one.
	Seen, Stride int
	failed       []failed // all of them, by kind
}

// Parameter is what the keys of a run say of a parameter.
type Parameter struct {
	Name   string
	Values []string // that occur, as keys write them: numbers in their order, others by name
	// Numbers are the values as numbers; nil where one of them is none.
	Numbers []float64
}

// Row is an outcome.
type Row struct {
	Number  int
	Status  space.Status
	Reduced bool    // whether its fidelity is reduced, so that its cost does not compare
	Cost    float64 // where it is right
	Elapsed float64 // seconds
	// Choices has the index of the value of each parameter, −1 where the parameter has none. Parameters that were first seen
	// after the row may be missing at its end.
	Choices []int32
}

// Counts reports whether the row is right and of full fidelity; see space.Outcome.
func (r *Row) Counts() bool { return r.Status == space.OK && !r.Reduced }

// Less reports whether the row is better than another one; see space.Objective.
func (r *Row) Less(than *Row) bool { return space.Objective{}.Less(r.outcome(), than.outcome()) }

// outcome is the outcome of the row as far as its rank needs it.
func (r *Row) outcome() space.Outcome {
	o := space.Outcome{Status: r.Status, Cost: r.Cost}
	if r.Reduced {
		o.Fidelity = 1
	}
	return o
}

// Choice returns the index of the value of parameter k, −1 where it has none.
func (r *Row) Choice(k int) int32 {
	if k < len(r.Choices) {
		return r.Choices[k]
	}
	return -1
}

// Key writes the choices of a row.
func (t *Table) Key(r *Row) string {
	var key []byte
	for k, p := range t.Parameters {
		if c := r.Choice(k); c >= 0 {
			if len(key) > 0 {
				key = append(key, ' ')
			}
			key = append(append(append(key, p.Name...), '='), p.Values[c]...)
		}
	}
	return string(key)
}

// Collect reads a history into a table of at most the given number of rows; 0 means as many as Look uses.
func Collect(h results.History, most int) (*Table, error) {
	c := NewCollector(most)
	for entries, err := range ahead(results.Only(h, c.Keeps)) {
		for i := range entries {
			c.Add(&entries[i])
		}
		if err != nil {
			return c.Table(), err // what comes before the damage
		}
	}
	return c.Table(), nil
}

// Collector makes a table of outcomes, one after the other. The table depends on their order only in the order of its parameters.
type Collector struct {
	table   Table // without its rows
	rows    packed
	most    int
	index   map[string]int     // of each parameter
	values  []map[string]int32 // the index of each of its values
	choices []int32            // of the row that is made
	mu      sync.Mutex         // guards what Keeps reads: the stride of the table, and best
	best    *Row               // of all outcomes; nil before a right one
	// Most keys are much like the one before.
	places []int   // the parameters of the names in that
	last   []int32 // of each parameter, the value that it had last
}

// NewCollector makes a collector whose table has at most the given number of rows; 0 means as many as Look uses.
func NewCollector(most int) *Collector {
	return &Collector{table: Table{Stride: 1}, most: cmp.Or(most, mostRows), index: map[string]int{}}
}

// Keeps reports whether an outcome may become a row. Of any other, Add reads neither the key nor the metrics. It may be called while
// another goroutine adds outcomes that come earlier.
func (c *Collector) Keeps(e *space.Entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeps(e)
}

func (c *Collector) keeps(e *space.Entry) bool { return c.drawn(e.Number) || c.leads(e) }

// drawn reports whether the outcome with a number is one of those that become rows however good they are.
func (c *Collector) drawn(number int) bool { return number%c.table.Stride == 0 }

// leads reports whether an outcome is better than all before it; of equal ones the first one by number is, whatever the order.
func (c *Collector) leads(e *space.Entry) bool {
	switch {
	case !e.Outcome.Counts():
		return false
	case c.best == nil:
		return true
	}
	than := c.best.outcome()
	order := space.Objective{}
	return order.Less(e.Outcome, than) || !order.Less(than, e.Outcome) && e.Number < c.best.Number
}

// Add adds an outcome.
func (c *Collector) Add(e *space.Entry) {
	t := &c.table
	t.Seen++
	if e.Outcome.Status != space.OK {
		t.count(e)
	}
	if !c.keeps(e) {
		return
	}
	row := Row{
		Number: e.Number, Status: e.Outcome.Status, Reduced: e.Outcome.Fidelity != 0, Cost: e.Outcome.Cost, Elapsed: e.Elapsed,
		Choices: c.choicesOf(e.Key),
	}
	if c.leads(e) {
		best := row
		best.Choices = slices.Clone(row.Choices)
		c.mu.Lock()
		c.best = &best
		c.mu.Unlock()
	}
	if !c.drawn(e.Number) {
		return
	}
	c.rows.add(&row)
	if c.rows.len > c.most {
		c.mu.Lock()
		t.Stride *= 2
		c.mu.Unlock()
		all := c.rows
		c.rows = packed{}
		for r := range all.all() {
			if c.drawn(r.Number) {
				c.rows.add(&r)
			}
		}
	}
}

// choicesOf returns the choices of a key, until the next call. A key that cannot be split has none.
func (c *Collector) choicesOf(key string) []int32 {
	c.choices = c.choices[:0]
	for range c.values {
		c.choices = append(c.choices, -1)
	}
	place, rest := c.follow(key)
	_ = space.SplitKey(rest, func(name, value string) {
		c.choose(c.parameter(place, name), value)
		place++
	})
	return c.choices
}

// follow makes the choices of a key as long as its parameters are those of the key before. It returns how many these are, and what is left
// of the key. A value in quotes is left to others.
func (c *Collector) follow(key string) (place int, rest string) {
	rest = strings.TrimLeft(key, " ")
	for ; place < len(c.places); place++ {
		k := c.places[place]
		name := c.table.Parameters[k].Name
		if len(rest) <= len(name) || rest[len(name)] != '=' || rest[:len(name)] != name {
			break
		}
		value := rest[len(name)+1:]
		if value != "" && value[0] == '"' {
			break
		}
		end := strings.IndexByte(value, ' ')
		if end < 0 {
			end = len(value)
		}
		c.choose(k, value[:end])
		rest = strings.TrimLeft(value[end:], " ")
	}
	return place, rest
}

// choose sets the choice of a parameter.
func (c *Collector) choose(k int, value string) {
	if at, values := c.last[k], c.table.Parameters[k].Values; at >= int32(len(values)) || values[at] != value {
		c.last[k] = c.value(k, value)
	}
	c.choices[k] = c.last[k]
}

// parameter returns the index of the parameter whose name is at a place of a key. A new one is added.
func (c *Collector) parameter(place int, name string) int {
	t := &c.table
	if place < len(c.places) && t.Parameters[c.places[place]].Name == name {
		return c.places[place]
	}
	k, ok := c.index[name]
	if !ok {
		k = len(c.values)
		name = strings.Clone(name) // not the whole key
		c.index[name], c.values, c.last = k, append(c.values, map[string]int32{}), append(c.last, 0)
		t.Parameters, c.choices = append(t.Parameters, Parameter{Name: name}), append(c.choices, -1)
	}
	if place == len(c.places) {
		c.places = append(c.places, k)
	}
	c.places[place] = k
	return k
}

// value returns the index of a value of a parameter. A new one is added.
func (c *Collector) value(k int, value string) int32 {
	at, ok := c.values[k][value]
	if !ok {
		at = int32(len(c.values[k]))
		value = strings.Clone(value)
		c.values[k][value] = at
		c.table.Parameters[k].Values = append(c.table.Parameters[k].Values, value)
	}
	return at
}

// Table returns the table of all that was added. Nothing can be added after it.
func (c *Collector) Table() *Table {
	t := &c.table
	for r := range c.rows.all() {
		r.Choices = slices.Clone(r.Choices)
		t.Rows = append(t.Rows, r)
	}
	c.rows = packed{}
	if c.best != nil && !c.drawn(c.best.Number) {
		t.Rows = append(t.Rows, *c.best)
	}
	slices.SortFunc(t.Rows, func(a, b Row) int { return cmp.Compare(a.Number, b.Number) })
	t.order()
	return t
}

// order sorts the values of each parameter.
func (t *Table) order() {
	for k := range t.Parameters {
		p := &t.Parameters[k]
		numbers := make([]float64, 0, len(p.Values))
		for _, v := range p.Values {
			if x, err := strconv.ParseFloat(v, 64); err == nil && space.Finite(x) {
				numbers = append(numbers, x)
			}
		}
		allNumbers := len(numbers) == len(p.Values)
		order := make([]int32, len(p.Values))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int {
			if allNumbers && numbers[a] != numbers[b] {
				return cmp.Compare(numbers[a], numbers[b])
			}
			return cmp.Compare(p.Values[a], p.Values[b])
		})
		to, sorted := make([]int32, len(order)), make([]string, len(order))
		if allNumbers {
			p.Numbers = make([]float64, len(order))
		}
		for at, was := range order {
			to[was], sorted[at] = int32(at), p.Values[was]
			if allNumbers {
				p.Numbers[at] = numbers[was]
			}
		}
		p.Values = sorted
		for i := range t.Rows {
			if c := t.Rows[i].Choice(k); c >= 0 {
				t.Rows[i].Choices[k] = to[c]
			}
		}
	}
}

// Best returns the best row, the first of equal ones; nil where no row counts.
func (t *Table) Best() (best *Row) {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Counts() && (best == nil || r.Less(best)) {
			best = r
		}
	}
	return best
}

// columns are the parameters of the rows that count.
func (t *Table) columns() (columns []column, costs []float64) {
	var rows []*Row
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Counts() {
			rows, costs = append(rows, r), append(costs, r.Cost)
		}
	}
	ordinals := make([][]int, len(t.Parameters))
	for k := range ordinals {
		ordinals[k] = make([]int, len(rows))
	}
	for i, r := range rows { // row by row: the choices of a row are together in memory
		for k := range ordinals {
			ordinals[k][i] = int(r.Choice(k))
		}
	}
	for k, p := range t.Parameters {
		if c, varied := newColumn(p.Name, ordinals[k], len(p.Values)); varied {
			columns = append(columns, c)
		}
	}
	return columns, costs
}
