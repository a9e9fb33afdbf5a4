package exchange

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"tune/space"
)

// T4's kinds of invalidity, and the corresponding statuses.
var invalidities = []struct {
	name   string
	status space.Status
}{
	{"correct", space.OK},
	{"timeout", space.Timeout},
	{"compile", space.CompileFailed},
	{"runtime", space.Crashed},
	{"correctness", space.WrongAnswer},
	{"constraints", space.Invalid},
}

// readT4 reads results in the format T4.
func (f *File) readT4(root *node) error {
	f.Format, f.originFormat = T4, T4
	results, err := member(root, "", "results", kindArray)
	if err != nil {
		return err
	}
	if len(results.items) == 0 {
		return wrong(results, "results", "it holds no configuration")
	}
	f.origin = &node{kind: kindObject, keys: root.keys, items: slices.Clone(root.items)}
	*f.origin.get("results") = listNode()
	configs := make([]node, len(results.items))
	for i := range results.items {
		n, path := &results.items[i], fmt.Sprintf("results[%d]", i)
		if n.kind != kindObject {
			return wrong(n, path, "want an object, not %s", kindNames[n.kind])
		}
		c, err := member(n, path, "configuration", kindObject)
		if err != nil {
			return err
		}
		configs[i] = *c
	}
	for _, k := range configs[0].keys {
		p, err := collect(k.name, &node{off: k.off}, configs, func(c *node) *node { return c.get(k.name) })
		if err != nil {
			return err
		}
		f.Parameters = append(f.Parameters, p)
	}
	if err := f.checkTimeUnit(); err != nil {
		return err
	}
	f.Rows = make([]Row, len(results.items))
	for i := range results.items {
		r, n, path := &f.Rows[i], &results.items[i], fmt.Sprintf("results[%d]", i)
		r.off, r.origin = n.off, n
		f.observe.tell(Checking, i, len(f.Rows))
		if len(configs[i].keys) != len(f.Parameters) {
			return wrong(&configs[i], join(path, "configuration"), "it has %d parameters, and the first one %d", len(configs[i].keys), len(f.Parameters))
		}
		if r.Ordinals, err = f.ordinals(&configs[i], join(path, "configuration")); err != nil {
			return err
		}
		if err := f.readResult(r, n, path); err != nil {
			return err
		}
	}
	return nil
}

// readResult reads the result of a configuration.
func (f *File) readResult(r *Row, n *node, path string) (err error) {
	objective := "time"
	if list := n.get("objectives"); list != nil && list.kind == kindArray && len(list.items) > 0 {
		first := &list.items[0]
		if first.kind != kindString {
			return wrong(first, join(path, "objectives[0]"), "want a string, not %s", kindNames[first.kind])
		}
		objective = first.str()
		if err := checkObjective(objective, first, join(path, "objectives[0]")); err != nil {
			return err
		}
	}
	if f.Objective == "" {
		f.Objective = objective
	}
	if objective != f.Objective {
		return wrong(n, join(path, "objectives"), "the objective is %q, and that of the first configuration %q", objective, f.Objective)
	}
	status := space.OK
	if at := n.get("invalidity"); at != nil {
		name, err := text(n, path, "invalidity")
		if err != nil {
			return err
		}
		i := slices.IndexFunc(invalidities, func(v struct {
			name   string
			status space.Status
		}) bool {
			return v.name == name
		})
		if i < 0 {
			var names []string
			for _, v := range invalidities {
				names = append(names, v.name)
			}
			return wrong(at, join(path, "invalidity"), "unknown invalidity %q%s", name, space.DidYouMeanOneOf(name, names))
		}
		status = invalidities[i].status
	}
	value, unit, err := measurement(n, path, f.Objective)
	if err != nil {
		return err
	}
	if unit == "" {
		unit = f.timeUnit()
		if f.Objective != "time" {
			unit = unitOf(f.Objective)
		}
	}
	if f.Unit == "" {
		f.Unit = unit
	}
	if unit != f.Unit {
		return wrong(n, join(path, "measurements"), "the unit is %q, and that of the first configuration %q", unit, f.Unit)
	}
	if r.Outcome.Seconds, err = f.readT4Times(r, n, path); err != nil {
		return err
	}
	if status != space.OK {
		reason := status.String()
		if value != nil && value.kind == kindString && value.str() != "" {
			reason = value.str()
		}
		r.fail(status, reason)
		return nil
	}
	if value == nil {
		return wrong(n, join(path, "measurements"), "none is called %q, which is the objective", f.Objective)
	}
	return f.readCost(r, value, join(path, "measurements"))
}

// checkTimeUnit reports an unknown unit of time.
func (f *File) checkTimeUnit() error {
	m := f.origin.get("metadata")
	if m == nil {
		return nil
	}
	u, err := text(m, "metadata", "timeunit")
	if err != nil {
		return err
	}
	if _, ok := secondsIn(u); u != "" && !ok {
		return wrong(m.get("timeunit"), "metadata.timeunit", "unknown unit %q: want seconds, milliseconds, microseconds or nanoseconds", u)
	}
	return nil
}

// timeUnit returns the unit of the times of a T4 file; milliseconds where it does not say.
func (f *File) timeUnit() string {
	if m := f.origin.get("metadata"); m != nil {
		if u := m.get("timeunit"); u != nil && u.kind == kindString {
			if s, ok := secondsIn(u.str()); ok {
				return map[float64]string{1: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns"}[s]
			}
		}
	}
	return "ms"
}

// measurement returns the value and the unit of a measurement by its name; a nil value where there is none.
func measurement(n *node, path, name string) (value *node, unit string, err error) {
	list := n.get("measurements")
	if list == nil {
		return nil, "", nil
	}
	path = join(path, "measurements")
	if list.kind != kindArray {
		return nil, "", wrong(list, path, "want a list, not %s", kindNames[list.kind])
	}
	for i := range list.items {
		m, at := &list.items[i], fmt.Sprintf("%s[%d]", path, i)
		if m.kind != kindObject {
			return nil, "", wrong(m, at, "want an object, not %s", kindNames[m.kind])
		}
		if is, err := text(m, at, "name"); err != nil {
			return nil, "", err
		} else if is != name {
			continue
		}
		if unit, err = text(m, at, "unit"); err != nil {
			return nil, "", err
		}
		return m.get("value"), unit, nil
	}
	return nil, "", nil
}

// readT4Times reads the times of a configuration.
func (f *File) readT4Times(r *Row, n *node, path string) (seconds float64, err error) {
	if r.Timestamp, err = text(n, path, "timestamp"); err != nil {
		return 0, err
	}
	unit, _ := secondsIn(f.timeUnit())
	times := n.get("times")
	if times == nil {
		return 0, nil
	}
	path = join(path, "times")
	if times.kind != kindObject {
		return 0, wrong(times, path, "want an object, not %s", kindNames[times.kind])
	}
	// The schema calls the first compilation_time, and the files compilation.
	for _, name := range []string{"compilation", "compilation_time", "framework", "validation"} {
		v, err := amount(times, path, name, unit)
		if err != nil {
			return 0, err
		}
		seconds += v * unit
		if name == "compilation" || name == "compilation_time" {
			r.CompileSeconds += v * unit
		}
	}
	if runs := times.get("runtimes"); runs != nil && runs.kind == kindArray {
		v, err := timesIn(runs, join(path, "runtimes"), unit)
		if err != nil {
			return 0, err
		}
		for _, t := range v {
			seconds += t * unit
		}
		if own, ok := secondsIn(f.Unit); ok {
			if own != unit {
				for i := range v {
					v[i] *= unit / own
				}
			}
			r.Repeats = v
		}
	}
	return seconds, nil
}

// writeT4 writes results in the format T4.
func (f *File) writeT4(w io.Writer, rows Rows) error {
	head := objectNode().set("metadata", *objectNode().set("timeunit", textNode("milliseconds"))).
		set("results", listNode()).set("schema_version", textNode("1.0.0"))
	if f.originFormat == T4 && f.origin != nil {
		head = f.origin
	}
	const unit = "  "
	configs := f.newConfigurations(unit, unit+unit+unit)
	return emit(w, func(e emitter) error {
		return e.members(head, "\n"+unit, "\n", func(i int) error {
			if head.keys[i].name != "results" {
				e.indented(&head.items[i], unit, unit)
				return nil
			}
			return e.list(rows, "\n"+unit+unit, "\n"+unit, func(r *Row) {
				n := f.result(r, configs)
				e.indented(&n, unit, unit+unit)
			})
		})
	})
}

// configurations writes the configurations of rows. There may be very many rows, and all of them have the same members.
type configurations struct {
	members [][]string // of each parameter, the text for each of its values, with what stands before it
	end     string
	text    []byte // memory of object
}

// newConfigurations prepares for objects at an indent, with their members in lines of their own.
func (f *File) newConfigurations(unit, indent string) *configurations {
	c := &configurations{end: "\n" + indent + "}"}
	for i, p := range f.Parameters {
		before := ","
		if i == 0 {
			before = "{"
		}
		before += "\n" + indent + unit + textNode(p.Name).raw + ": "
		var texts []string
		for o := range p.Len() {
			texts = append(texts, before+valueNode(p.At(o)).raw)
		}
		c.members = append(c.members, texts)
	}
	return c
}

// object is the configuration of a row, as it is written: a node without members, so that it is laid out no further.
func (c *configurations) object(r *Row) node {
	c.text = c.text[:0]
	for i, o := range r.Ordinals {
		c.text = append(c.text, c.members[i][o]...)
	}
	return node{raw: string(append(c.text, c.end...))}
}

// result makes the result of a row.
func (f *File) result(r *Row, configs *configurations) node {
	if f.originFormat == T4 && r.origin != nil {
		return *r.origin
	}
	n := objectNode().set("timestamp", textNode(r.Timestamp))
	n.set("configuration", configs.object(r))
	ms := func(seconds float64) node { return floatNode(seconds * 1e3) }
	times := objectNode().set("compilation", ms(r.CompileSeconds))
	unit, isTime := secondsIn(f.Unit)
	rest := r.Outcome.Seconds - r.CompileSeconds
	var runs []node
	if isTime {
		for _, v := range r.Repeats {
			runs = append(runs, floatNode(v*(unit/1e-3)))
			rest -= v * unit
		}
	}
	times.set("framework", ms(max(0, rest))).set("search_algorithm", intNode(0)).set("validation", intNode(0))
	if len(runs) > 0 {
		times.set("runtimes", listNode(runs...))
	}
	n.set("times", *times)
	value, correctness := textNode(r.Outcome.Reason), 0
	if r.Outcome.Status == space.OK {
		value, correctness = r.costNode(), 1
	} else if r.Outcome.Reason == "" {
		value = textNode(r.Outcome.Status.String())
	}
	for _, v := range invalidities {
		if v.status == r.Outcome.Status {
			n.set("invalidity", textNode(v.name))
		}
	}
	n.set("correctness", intNode(correctness))
	measurements := []node{measured(f.objective(), value, f.Unit)}
	for _, m := range r.Outcome.Metrics {
		if m.Name != f.objective() {
			measurements = append(measurements, measured(m.Name, floatNode(m.Value), ""))
		}
	}
	n.set("measurements", listNode(measurements...))
	n.set("objectives", listNode(textNode(f.objective())))
	return *n
}

func measured(name string, value node, unit string) node {
	return *objectNode().set("name", textNode(name)).set("value", value).set("unit", textNode(unit))
}

// Rows yields the rows of a file. A row is valid until the next one.
type Rows = iter.Seq2[*Row, error]

// Write writes one of the formats.
func (f *File) Write(w io.Writer, format Format) error {
	if format == Recorded && f.root != nil {
		return emit(w, func(e emitter) error { e.flat(f.root); return nil })
	}
	return f.WriteRows(w, format, func(yield func(*Row, error) bool) {
		for i := range f.Rows {
			f.observe.tell(Writing, i, len(f.Rows))
			if !yield(&f.Rows[i], nil) {
				return
			}
		}
	})
}

// WriteRows is Write with other rows than those of the file, however many: it keeps none of them in memory.
func (f *File) WriteRows(w io.Writer, format Format, rows Rows) error {
	switch format {
	case KernelTuner:
		return f.writeKernelTuner(w, rows)
	case T4:
		return f.writeT4(w, rows)
	}
	return f.writeRecorded(w, rows)
}
