package results

import (
	"bufio"
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
	buffer := bufio.NewWriterSize(w, 64<<10)
	out := csv.NewWriter(buffer) // which writes to this buffer, and adds none of its own
	if err := out.Write(columns(metrics, params)); err != nil {
		return err
	}
	var line []byte
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
			if !haveColumns(&e.Outcome, metrics) {
				return fmt.Errorf("trial %d has a metric that is not among those of the run: remove %s, which only saves time", e.Number, summaryName)
			}
			var plainly bool
			if line, plainly = appendLine(line[:0], batch, e, metrics, point); plainly {
				_, err = buffer.Write(line)
			} else {
				row = appendRow(row[:0], batch, e, metrics, point)
				err = out.Write(row)
			}
			if err != nil {
				return err
			}
		}
	}
	return buffer.Flush()
}

// haveColumns reports whether each metric of an outcome has a column. Both lists are sorted.
func haveColumns(o *space.Outcome, metrics []string) bool {
	found := 0
	for _, name := range metrics {
		if found < len(o.Metrics) && o.Metrics[found].Name == name {
			found++
		}
	}
	return found == len(o.Metrics)
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
	found := 0
	for _, name := range metrics {
		if found < len(o.Metrics) && o.Metrics[found].Name == name {
			row = append(row, formatFloat(o.Metrics[found].Value))
			found++
		} else {
			row = append(row, "")
		}
	}
	for _, v := range point {
		row = append(row, plain.Line(v))
	}
	return append(row, reasonCell(o.Reason))
}

// appendLine appends the line that csv.Writer makes of appendRow. Nearly every line has only fields that need no more than quotes around
// them; for any other it reports false, and the line is of no use. A run may have millions of lines.
func appendLine(line []byte, batch string, e *space.Entry, metrics, point []string) (_ []byte, ok bool) {
	o := &e.Outcome
	line = append(strconv.AppendInt(line, int64(e.Number), 10), ',')
	line = append(append(line, batch...), ',')
	line = append(strconv.AppendInt(line, int64(o.Fidelity), 10), ',')
	line = append(append(line, o.Status.String()...), ',')
	if o.Status == space.OK {
		line = appendNumber(line, o.Cost)
	}
	found := 0
	for _, name := range metrics {
		line = append(line, ',')
		if found < len(o.Metrics) && o.Metrics[found].Name == name {
			line = appendNumber(line, o.Metrics[found].Value)
			found++
		}
	}
	for _, v := range point {
		if line, ok = appendField(append(line, ','), v); !ok {
			return line, false
		}
	}
	if line, ok = appendField(append(line, ','), reasonCell(o.Reason)); !ok {
		return line, false
	}
	return append(line, '\n'), true
}

// appendField appends a field of printable ASCII, in quotes where it has a comma. It reports false where more would have to be done.
func appendField(line []byte, field string) (_ []byte, ok bool) {
	comma := false
	for i := range len(field) {
		switch b := field[i]; {
		case b == ',':
			comma = true
		case b < ' ' || b > '~' || b == '"' || b == '\\' || b == ' ' && i == 0:
			return line, false
		}
	}
	if !comma {
		return append(line, field...), true
	}
	line = append(append(line, '"'), field...)
	return append(line, '"'), true
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
