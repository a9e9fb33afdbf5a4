package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tune/space"
)

// fixedColumns stand before the metrics and the parameters of a CSV file.
var fixedColumns = []string{"number", "batch", "fidelity", "status", "cost"}

// reasonColumn is the last column.
const reasonColumn = "reason"

// WriteCSV writes a line for each outcome, in the order of the trial numbers, under a line of names.
// The columns are the number, the batch, the fidelity, the status, the cost (empty without one), every
// metric by name, every parameter in the order of params, and the reason. values returns the values of
// a point from its key, in the order of params and empty where a parameter is inactive. A metric whose
// name is that of a column before it is called "metric." and its name, and a parameter likewise
// "param." and its name.
//
// Nothing in the file depends on the clock, so that equal histories give equal bytes. For the same
// reason the trials that end.Trim takes away are left out; end is the zero value for a run that has
// not ended.
//
// No part of the history is kept: where the names of its metrics are not known, it is gone through twice.
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
			row = appendRow(row[:0], batch, e, metrics, point)
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// appendRow appends the fields of an outcome.
func appendRow(row []string, batch string, e *space.Entry, metrics, point []string) []string {
	o := &e.Outcome
	row = append(row, strconv.Itoa(e.Number), batch, strconv.Itoa(o.Fidelity), o.Status.String())
	if o.Status == space.OK {
		row = append(row, formatFloat(o.Cost))
	} else {
		row = append(row, "")
	}
	for _, name := range metrics {
		row = append(row, metricText(o.Metrics, name))
	}
	return append(append(row, point...), oneLine(o.Reason))
}

// columns returns the names of the columns, each of them once.
func columns(metrics, params []string) []string {
	names := slices.Clone(fixedColumns)
	taken := map[string]bool{reasonColumn: true}
	for _, name := range names {
		taken[name] = true
	}
	add := func(prefix string, more []string) {
		for _, name := range more {
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

func metricText(metrics []space.Metric, name string) string {
	for _, m := range metrics {
		if m.Name == name {
			return formatFloat(m.Value)
		}
	}
	return ""
}

// formatFloat writes the shortest text that reads back as v: a plain number where that is readable,
// so that spreadsheets show cycles as they are.
func formatFloat(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// oneLine keeps a reason from spreading over lines, and gives the text that a journal gives back.
func oneLine(reason string) string {
	return inOneLine.Replace(strings.ToValidUTF8(reason, "\uFFFD"))
}

var inOneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")
