package exchange

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tune/space"
)

// parseOpen parses a text that ends too early, if it lacks only the end of a cache whose tuner was stopped: Kernel Tuner writes a
// comma after each entry, and the closing braces when it ends.
func parseOpen(text string) (node, error) {
	if !strings.Contains(text, `"cache"`) {
		return node{}, errEnds
	}
	text = strings.TrimSuffix(strings.TrimRight(text, " \t\r\n"), ",")
	if n, err := parse(text + "}}"); err == nil {
		return n, nil
	}
	return parse(text + "}")
}

// errorKey is the key for tune's own description of a failure. Kernel Tuner ignores it.
const errorKey = "error"

// cacheTimes are the times in an entry that add up to an evaluation.
var cacheTimes = []string{"compile_time", "verification_time", "benchmark_time", "framework_time"}

// readCache reads a cache of Kernel Tuner.
func (f *File) readCache(root *node) error {
	f.Format, f.originFormat = KernelTuner, KernelTuner
	cache, err := member(root, "", "cache", kindObject)
	if err != nil {
		return err
	}
	for _, field := range []struct {
		name string
		to   *string
	}{{"device_name", &f.Device}, {"kernel_name", &f.Kernel}, {"objective", &f.Objective}} {
		if *field.to, err = text(root, "", field.name); err != nil {
			return err
		}
	}
	if f.Objective == "" {
		f.Objective = "time" // Kernel Tuner's default objective
	}
	if at := root.get("objective"); at != nil {
		if err := checkObjective(f.Objective, at, "objective"); err != nil {
			return err
		}
	}
	f.Unit = unitOf(f.Objective)
	if err := f.readParameters(root, cache); err != nil {
		return err
	}
	f.Rows = make([]Row, len(cache.items))
	for i := range cache.items {
		r, n := &f.Rows[i], &cache.items[i]
		f.observe.tell(Checking, i, len(f.Rows))
		path := "cache." + cache.keys[i].raw
		r.off, r.origin, r.key = cache.keys[i].off, n, cache.keys[i].raw
		if n.kind != kindObject {
			return wrong(n, path, "want an object, not %s", kindNames[n.kind])
		}
		if err := f.readEntry(r, n, path); err != nil {
			return err
		}
	}
	// The rest of the file is kept beside the rows, with an empty cache to mark where they belong.
	f.origin = &node{kind: kindObject, keys: root.keys, items: slices.Clone(root.items)}
	*f.origin.get("cache") = node{kind: kindObject}
	return nil
}

// readParameters reads the names and domains of a cache's parameters.
func (f *File) readParameters(root, cache *node) error {
	keys, err := member(root, "", "tune_params_keys", kindArray)
	if err != nil {
		return err
	}
	domains := root.get("tune_params")
	for i := range keys.items {
		n := &keys.items[i]
		if n.kind != kindString {
			return wrong(n, fmt.Sprintf("tune_params_keys[%d]", i), "want a string, not %s", kindNames[n.kind])
		}
		name := n.str()
		var p space.Parameter
		if domains != nil && domains.kind == kindObject && domains.get(name) != nil {
			p, err = readDomain(name, domains.get(name), "tune_params."+name)
		} else {
			p, err = collect(name, n, cache.items, func(entry *node) *node { return entry.get(name) })
		}
		if err != nil {
			return err
		}
		f.Parameters = append(f.Parameters, p)
	}
	return nil
}

// collect makes the domain of a parameter from the values in the entries: numbers in ascending order, anything else in the order
// of the entries.
func collect(name string, at *node, entries []node, value func(*node) *node) (space.Parameter, error) {
	var values []space.Value
	seen := map[space.Value]bool{}
	numeric := true
	for i := range entries {
		n := value(&entries[i])
		if n == nil {
			return space.Parameter{}, wrong(&entries[i], name, "the entry has no value of this parameter")
		}
		v, err := valueOf(n, name)
		if err != nil {
			return space.Parameter{}, err
		}
		if !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
		numeric = numeric && n.kind == kindNumber
	}
	if numeric {
		slices.SortStableFunc(values, compareNumbers)
		values = slices.CompactFunc(values, func(a, b space.Value) bool { return compareNumbers(a, b) == 0 })
	}
	return parameter(name, values, at, name)
}

// compareNumbers orders values that are numbers.
func compareNumbers(a, b space.Value) int {
	x, y := numberOf(a), numberOf(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func numberOf(v space.Value) float64 {
	switch x := v.Any().(type) {
	case int64:
		return float64(x)
	case float64:
		return x
	}
	return 0
}

// ordinals finds the positions of a configuration's values in the domains.
func (f *File) ordinals(n *node, path string) ([]int, error) {
	out := make([]int, len(f.Parameters))
	for i := range f.Parameters {
		p := &f.Parameters[i]
		m := n.get(p.Name)
		if m == nil {
			return nil, wrong(n, join(path, p.Name), "it is missing")
		}
		v, err := valueOf(m, join(path, p.Name))
		if err != nil {
			return nil, err
		}
		o, ok := p.Ordinal(v)
		if !ok {
			return nil, wrong(m, join(path, p.Name), "%s is not among the values of the parameter: %s", m.raw, p.Domain())
		}
		out[i] = o
	}
	return out, nil
}

// readEntry reads one entry of a cache.
func (f *File) readEntry(r *Row, n *node, path string) (err error) {
	if r.Ordinals, err = f.ordinals(n, path); err != nil {
		return err
	}
	if r.Outcome.Seconds, err = f.readCacheTimes(r, n, path); err != nil {
		return err
	}
	// Later versions name the error beside the objective, or in its place.
	if e := n.get("__error__"); e != nil && e.kind == kindString && e.str() != "" {
		r.fail(failed(e.str()), e.str())
		return nil
	}
	value := n.get(f.Objective)
	if value == nil {
		return wrong(n, join(path, f.Objective), "the objective is missing")
	}
	if e := n.get(errorKey); e != nil && e.kind == kindString && e.str() != "" && value.kind == kindString {
		r.fail(failed(e.str()), e.str())
		return nil
	}
	return f.readCost(r, value, join(path, f.Objective))
}

// readCacheTimes reads the times of an entry, which are in milliseconds. The time of the original search itself does not count:
// the search that reads this file takes its own.
func (f *File) readCacheTimes(r *Row, n *node, path string) (seconds float64, err error) {
	for _, name := range cacheTimes {
		ms, err := amount(n, path, name, 1e-3)
		if err != nil {
			return 0, err
		}
		seconds += ms
		if name == "compile_time" {
			r.CompileSeconds = ms / 1e3
		}
	}
	if r.Timestamp, err = text(n, path, "timestamp"); err != nil {
		return 0, err
	}
	if runs := n.get("times"); runs != nil && runs.kind == kindArray && f.Objective == "time" {
		if r.Repeats, err = timesIn(runs, join(path, "times"), 1e-3); err != nil {
			return 0, err
		}
	}
	return seconds / 1e3, nil
}

// writeKernelTuner writes a cache file of Kernel Tuner. Costs in a unit of time are written in milliseconds. There is no newline
// at the end, because Kernel Tuner takes a file that does not end with the two braces for an unfinished one.
func (f *File) writeKernelTuner(w io.Writer, rows Rows) error {
	head := f.cacheHead()
	return emit(w, func(e emitter) error {
		e.w.WriteString("{\n")
		for i, k := range head.keys {
			if k.name == "cache" {
				continue
			}
			e.w.WriteString(k.raw)
			e.w.WriteString(": ")
			e.indented(&head.items[i], "", "")
			e.w.WriteString(",\n")
		}
		e.w.WriteString(`"cache": {`)
		separator := "\n"
		for r, err := range rows {
			if err != nil {
				return err
			}
			key, entry := f.cacheEntry(r)
			e.w.WriteString(separator + key + ": ")
			e.flat(entry)
			separator = ",\n"
		}
		e.w.WriteString("}\n}")
		return nil
	})
}

// cacheHead makes everything in a cache but its entries.
func (f *File) cacheHead() *node {
	if f.originFormat == KernelTuner && f.origin != nil {
		return f.origin
	}
	head := objectNode()
	head.set("device_name", textNode(f.Device)).set("kernel_name", textNode(f.Kernel)).set("problem_size", textNode(""))
	var names []node
	params := objectNode()
	for _, p := range f.Parameters {
		names = append(names, textNode(p.Name))
		var values []node
		for i := range p.Len() {
			values = append(values, valueNode(p.At(i)))
		}
		params.set(p.Name, listNode(values...))
	}
	head.set("tune_params_keys", listNode(names...)).set("tune_params", *params)
	return head.set("objective", textNode(f.objective()))
}

// objective returns the name of the objective for other tuners: "time" for a time.
func (f *File) objective() string {
	if _, ok := secondsIn(f.Unit); ok {
		return "time"
	}
	return f.Objective
}

// cacheEntry makes the key and the entry of a row.
func (f *File) cacheEntry(r *Row) (key string, entry *node) {
	if f.originFormat == KernelTuner && r.origin != nil {
		return r.key, r.origin
	}
	entry = objectNode()
	var texts []string
	for i, v := range f.values(r) {
		entry.set(f.Parameters[i].Name, valueNode(v))
		switch x := v.Any().(type) {
		case bool:
			texts = append(texts, map[bool]string{true: "True", false: "False"}[x]) // as Python writes it
		case string:
			texts = append(texts, x)
		default:
			texts = append(texts, v.String())
		}
	}
	unit, isTime := secondsIn(f.Unit)
	toMS := func(v float64) node { return floatNode(v * (unit / 1e-3)) }
	value := textNode("RuntimeFailedConfig")
	switch {
	case r.Outcome.Status == space.OK && isTime && f.Unit != "ms":
		value = toMS(r.Outcome.Cost)
	case r.Outcome.Status == space.OK:
		value = r.costNode()
	case r.Outcome.Status == space.CompileFailed:
		value = textNode("CompilationFailedConfig")
	case r.Outcome.Status == space.Invalid:
		value = textNode("InvalidConfig")
	}
	entry.set(f.objective(), value)
	if r.Outcome.Status != space.OK {
		entry.set(errorKey, textNode(r.reason()))
	}
	if len(r.Repeats) > 0 && isTime {
		var times []node
		for _, v := range r.Repeats {
			times = append(times, toMS(v))
		}
		entry.set("times", listNode(times...))
	}
	ms := func(seconds float64) node { return floatNode(seconds * 1e3) }
	entry.set("compile_time", ms(r.CompileSeconds)).set("verification_time", intNode(0))
	entry.set("benchmark_time", ms(max(0, r.Outcome.Seconds-r.CompileSeconds)))
	for _, m := range r.Outcome.Metrics {
		if entry.get(m.Name) == nil {
			entry.set(m.Name, floatNode(m.Value))
		}
	}
	entry.set("strategy_time", intNode(0)).set("framework_time", intNode(0))
	if r.Timestamp != "" {
		entry.set("timestamp", textNode(r.Timestamp))
	}
	return textNode(strings.Join(texts, ",")).raw, entry
}
