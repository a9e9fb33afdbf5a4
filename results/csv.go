package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tune/internal/plain"
	"tune/space"
)

// fixedColumns come before the metrics and the parameters of a CSV file.
var fixedColumns = []string{"number", "batch", "fidelity", "status", "cost"}

// reasonColumn is the last column.
const reasonColumn = "reason"

// WriteCSV writes a header line and then a line for each outcome, in the order of the trial numbers. The columns are the number,
// the batch, the fidelity, the status, the cost (empty without one), every metric by name, every parameter in the order of
// params, and the reason. values returns the values of a point from its key, in the order of params and empty where a parameter
// is inactive. A metric with the name of an earlier column gets the prefix "metric.", a parameter the prefix "param.".
//
// Nothing in the file depends on the clock, so that equal histories give equal bytes. For the same reason the trials that
// end.Trim removes are left out; end is the zero value for a run that has not ended.
//
// The history is not held in memory. Where the names of its metrics are not known, it is read twice.
func WriteCSV(w io.Writer, h History, end End, params []string, values func(key string) ([]string, error)) error {
	h = end.Trim(h)
	metrics, err := metricNames(h)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	if err := out.Write(columns(metrics, params)); err != nil {
		return err
	}
	var row []string
	for r, err := range h.Rounds() {
		if err != nil {
			return err
		}
		batch := strconv.Itoa(r.Batch.Number)
		for i := range r.Entries {
			e := &r.Entries[i]
			point, err := values(e.Key)
			if err != nil {
				return fmt.Errorf("trial %d: %w", e.Number, err)
			}
			if len(point) != len(params) {
				return fmt.Errorf("trial %d: %d values for %d parameters", e.Number, len(point), len(params))
			}
			if row = appendRow(row[:0], batch, e, metrics, point); row == nil {
				return fmt.Errorf("trial %d has a metric that is not among those of the run: remove %s, which only saves time", e.Number, summaryName)
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// appendRow appends the fields of an outcome. It returns nil where the outcome has a metric that has no column.
func appendRow(row []string, batch string, e *space.Entry, metrics, point []string) []string {
	o := &e.Outcome
	row = append(row, strconv.Itoa(e.Number), batch, strconv.Itoa(o.Fidelity), o.Status.String())
	if o.Status == space.OK {
		row = append(row, formatFloat(o.Cost))
	} else {
		row = append(row, "")
	}
	found := 0
	for _, name := range metrics { // both are sorted
		if found < len(o.Metrics) && o.Metrics[found].Name == name {
			row = append(row, formatFloat(o.Metrics[found].Value))
			found++
		} else {
			row = append(row, "")
		}
	}
	if found < len(o.Metrics) {
		return nil
	}
	for _, v := range point {
		row = append(row, plain.Line(v))
	}
	return append(row, reasonCell(o.Reason))
}

// columns returns the names of the columns, made unique.
func columns(metrics, params []string) []string {
	names := slices.Clone(fixedColumns)
	taken := map[string]bool{reasonColumn: true}
	for _, name := range names {
		taken[name] = true
	}
	add := func(prefix string, more []string) {
		for _, name := range more {
			name = plain.Line(name)
			for taken[name] {
				name = prefix + name
			}
			taken[name] = true
			names = append(names, name)
		}
	}
	add("metric.", metrics)
	add("param.", params)
	return append(names, reasonColumn)
}

// formatFloat writes the shortest text that reads back as v: a plain number where that is readable,
// so that spreadsheets show cycles as they are.
func formatFloat(v float64) string { return string(appendNumber(nil, v)) }

// reasonCell turns a reason into one printable line. A spreadsheet takes a cell that begins with = + - or @ for a formula, and
// the reason may be text of a candidate, so such a reason gets an apostrophe in front, which marks it as text. The names and
// values of parameters stay unchanged: they are the user's own, a flag such as -O3 is a legitimate value, and programs that read
// the file have to find it.
func reasonCell(reason string) string {
	text := plain.Line(reason)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}
