package exchange

import (
	"fmt"
	"io"
	"strconv"

	"tune/space"
)

// Extra keys of a recorded file that keep what another format has.
const (
	sourceFormatKey = "source_format"
	sourceKey       = "source"
)

// readRecorded reads tune's own form.
func (f *File) readRecorded(root *node) (err error) {
	f.Format, f.root = Recorded, root
	for _, field := range []struct {
		name string
		to   *string
	}{{"space", &f.Space}, {"device", &f.Device}, {"kernel", &f.Kernel}, {"objective", &f.Objective}, {"unit", &f.Unit}} {
		value, err := text(root, "", field.name)
		if err != nil {
			return err
		}
		if value != "" {
			*field.to = value
		}
	}
	if f.Objective == "" {
		f.Objective = "time"
	}
	if at := root.get("objective"); at != nil {
		if err := checkObjective(f.Objective, at, "objective"); err != nil {
			return err
		}
	}
	if f.Unit == "" {
		f.Unit = unitOf(f.Objective)
	}
	if f.originFormat, err = f.sourceFormat(root); err != nil {
		return err
	}
	f.origin = root
	if f.originFormat != Recorded {
		f.origin = root.get(sourceKey)
	}
	if f.originFormat == T4 {
		if err := f.checkTimeUnit(); err != nil {
			return err
		}
	}
	names, err := member(root, "", "names", kindArray)
	if err != nil {
		return err
	}
	values, err := member(root, "", "values", kindArray)
	if err != nil {
		return err
	}
	if len(values.items) != len(names.items) {
		return wrong(values, "values", "it has %d lists for %d names", len(values.items), len(names.items))
	}
	for i := range names.items {
		n := &names.items[i]
		if n.kind != kindString {
			return wrong(n, fmt.Sprintf("names[%d]", i), "want a string, not %s", kindNames[n.kind])
		}
		p, err := readDomain(n.str(), &values.items[i], fmt.Sprintf("values[%d]", i))
		if err != nil {
			return err
		}
		f.Parameters = append(f.Parameters, p)
	}
	rows, err := member(root, "", "rows", kindArray)
	if err != nil {
		return err
	}
	f.Rows = make([]Row, len(rows.items))
	for i := range rows.items {
		f.observe.tell(Checking, i, len(f.Rows))
		if err := f.readRow(&f.Rows[i], &rows.items[i], fmt.Sprintf("rows[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// sourceFormat returns the format of the original entries that a recorded file keeps.
func (f *File) sourceFormat(root *node) (Format, error) {
	name, err := text(root, "", sourceFormatKey)
	if err != nil || name == "" {
		return Recorded, err
	}
	if name != string(KernelTuner) && name != string(T4) {
		return "", wrong(root.get(sourceFormatKey), sourceFormatKey, "unknown format %q: want %s or %s", name, KernelTuner, T4)
	}
	_, err = member(root, "", sourceKey, kindObject)
	return Format(name), err
}

// readDomain reads the values of a parameter.
func readDomain(name string, list *node, path string) (space.Parameter, error) {
	if list.kind != kindArray {
		return space.Parameter{}, wrong(list, path, "want a list of values, not %s", kindNames[list.kind])
	}
	values := make([]space.Value, len(list.items))
	for i := range list.items {
		v, err := valueOf(&list.items[i], fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return space.Parameter{}, err
		}
		values[i] = v
	}
	return parameter(name, values, list, path)
}

// readRow reads [indices, value, error, cost_s, repeats], and the original entry where the file keeps those.
func (f *File) readRow(r *Row, n *node, path string) error {
	if n.kind != kindArray || len(n.items) < 2 || len(n.items) > 6 {
		return wrong(n, path, "want [indices, value, error, cost_s, repeats]")
	}
	r.off = n.off
	indices := &n.items[0]
	if indices.kind != kindArray || len(indices.items) != len(f.Parameters) {
		return wrong(indices, path+"[0]", "want a list of %d indices", len(f.Parameters))
	}
	r.Ordinals = make([]int, len(indices.items))
	for i := range indices.items {
		item := &indices.items[i]
		o, err := strconv.Atoi(item.raw)
		if p := f.Parameters[i]; err != nil || o < 0 || o >= p.Len() {
			return wrong(item, fmt.Sprintf("%s[0][%d]", path, i), "want a position in the values of %s, 0 to %d", p.Name, p.Len()-1)
		}
		r.Ordinals[i] = o
	}
	at := func(i int) *node {
		if i < len(n.items) {
			return &n.items[i]
		}
		return &node{off: n.off}
	}
	reason := at(2)
	switch {
	case reason.kind != kindString && reason.kind != kindNull:
		return wrong(reason, path+"[2]", "want the text of an error, or null, not %s", kindNames[reason.kind])
	case reason.kind == kindString && reason.str() != "":
		r.fail(failed(reason.str()), reason.str())
	default:
		if err := f.readCost(r, &n.items[1], path+"[1]"); err != nil {
			return err
		}
	}
	if cost := at(3); cost.kind != kindNull {
		if cost.kind != kindNumber {
			return wrong(cost, path+"[3]", "want the seconds that it took, 0 or more, or null")
		}
		r.Outcome.Seconds = cost.float()
		if err := checkTime(cost, path+"[3]", r.Outcome.Seconds, 1); err != nil {
			return err
		}
	}
	if repeats := at(4); repeats.kind != kindNull {
		read := numbers
		if unit, ok := secondsIn(f.Unit); ok {
			read = func(n *node, path string) ([]float64, error) { return timesIn(n, path, unit) }
		}
		v, err := read(repeats, path+"[4]")
		if err != nil {
			return err
		}
		if repeats.kind != kindArray || len(v) != 4 {
			return wrong(repeats, path+"[4]", "want [min, median, max, std] of the repeats, or null")
		}
		r.Stats = (*[4]float64)(v)
	}
	if source := at(5); source.kind != kindNull {
		if f.originFormat == Recorded {
			return wrong(source, path+"[5]", "the file names no %s for it", sourceFormatKey)
		}
		return f.readOrigin(r, source, path+"[5]")
	}
	return nil
}

// readOrigin reads the original entry beside a row of a recorded file: for Kernel Tuner [key, entry], for T4 the entry itself.
func (f *File) readOrigin(r *Row, n *node, path string) error {
	if f.originFormat == KernelTuner {
		if n.kind != kindArray || len(n.items) != 2 || n.items[0].kind != kindString || n.items[1].kind != kindObject {
			return wrong(n, path, "want the key and the entry of a cache")
		}
		r.key, n = n.items[0].raw, &n.items[1]
	}
	if n.kind != kindObject {
		return wrong(n, path, "want an object, not %s", kindNames[n.kind])
	}
	r.origin = n
	_, err := f.readTimes(r, n, path)
	return err
}

// writeRecorded writes tune's own form.
func (f *File) writeRecorded(w io.Writer, rows Rows) error {
	head := objectNode()
	head.set("space", textNode(f.Space)).set("device", textNode(f.Device)).set("kernel", textNode(f.Kernel))
	head.set("objective", textNode(f.Objective)).set("unit", textNode(f.Unit))
	var names, values []node
	for _, p := range f.Parameters {
		names = append(names, textNode(p.Name))
		var domain []node
		for i := range p.Len() {
			domain = append(domain, valueNode(p.At(i)))
		}
		values = append(values, listNode(domain...))
	}
	head.set("names", listNode(names...)).set("values", listNode(values...))
	if f.origin != nil {
		head.set(sourceFormatKey, textNode(string(f.originFormat))).set(sourceKey, *f.origin)
	}
	head.set("rows", listNode())
	return emit(w, func(e emitter) error {
		return e.members(head, "", "", func(i int) error {
			if head.keys[i].name != "rows" {
				e.flat(&head.items[i])
				return nil
			}
			return e.list(rows, "", "", func(r *Row) {
				n := f.ownRow(r)
				e.flat(&n)
			})
		})
	})
}

// ownRow makes the row of the recorded form.
func (f *File) ownRow(r *Row) node {
	var indices []node
	for _, o := range r.Ordinals {
		indices = append(indices, intNode(o))
	}
	value, reason := nullNode(), ""
	if r.Outcome.Status == space.OK {
		value = r.costNode()
	} else {
		reason = r.reason()
	}
	stats := nullNode()
	if s := r.Spread(); s != nil {
		stats = listNode(floatNode(s[0]), floatNode(s[1]), floatNode(s[2]), floatNode(s[3]))
	}
	row := listNode(listNode(indices...), value, textNode(reason), floatNode(r.Outcome.Seconds), stats)
	if r.origin != nil {
		origin := *r.origin
		if f.originFormat == KernelTuner {
			origin = listNode(node{kind: kindString, raw: r.key}, origin)
		}
		row.items = append(row.items, origin)
	}
	return row
}

// costNode is the cost as it was written.
func (r *Row) costNode() node {
	if r.cost != "" {
		return node{kind: kindNumber, raw: r.cost}
	}
	return floatNode(r.Outcome.Cost)
}

// reason returns the reason why there is no cost, in words that failed maps back to the status.
func (r *Row) reason() string {
	o := r.Outcome
	switch {
	case o.Reason == "":
		return o.Status.String()
	case failed(o.Reason) != o.Status:
		return o.Status.String() + ": " + o.Reason
	}
	return o.Reason
}

// readTimes reads the times in an original entry, and returns their sum in seconds.
func (f *File) readTimes(r *Row, n *node, path string) (seconds float64, err error) {
	if f.originFormat == T4 {
		return f.readT4Times(r, n, path)
	}
	return f.readCacheTimes(r, n, path)
}
