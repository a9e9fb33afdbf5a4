package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tune/space"
)

// lineFormat is format 2: JSON Lines. Each line is one object, whose last member is the checksum of the text before that member.
// docs/design/journal.md has the table of members.
//
// Names that would be repeated in every line are declared once, as a shape: the parameters of a point and the metrics of an
// outcome. An outcome then has the values only. Where a key cannot be split like that, or there are too many shapes, the outcome
// has the key and the metrics in full.
type lineFormat struct {
	shapes []shape
	known  map[string]int // shapes by their names
	fresh  *shape         // declared by encode and not yet confirmed by keep
	none   shape          // of an outcome that names none
	trials int            // in the batches that were decoded
	// whole says which outcomes are decoded completely; nil means all. Of the others the values are only counted: their key is
	// someKey, and they have no metrics.
	whole func(*space.Entry) bool
	// parts are the parameters that keys are limited to; nil means all of them. Outcomes then have no metrics. An outcome that is
	// written in full keeps its key.
	parts []string
	last  string // the last of these keys, as many are like the one before
	// raw says that outcomes have the values of their points, and keys only where whole wants these. All have their metrics.
	raw bool

	// Buffers that calls share.
	names, texts []string
	sign, key    []byte
	text         []byte // of raw values
	written      []space.Written
}

// someKey is the key of an outcome that is not decoded completely.
const someKey = "-"

// shape holds the names that outcomes have in common.
type shape struct {
	params, metrics []string
	parts           []string // of a key: what stands before each value
	picked          []int    // the parameters that keys are limited to, in their order
}

// mostShapes bounds the shapes of a journal: there is one for each set of parameters that are active together.
const mostShapes = 256

const (
	// lineOpening begins the first line.
	lineOpening = `{"journal":`
	// sumMember precedes the checksum, and sumEnd follows it.
	sumMember, sumEnd = `,"crc":"`, `"}`
	sumLen            = len(sumMember) + 8 + len(sumEnd)
)

func (*lineFormat) number() int { return 2 }

func (*lineFormat) unseal(line []byte) ([]byte, bool) {
	n := len(line) - sumLen
	if n < 2 {
		return nil, false
	}
	payload, sum := line[:n], line[n:]
	if string(sum[:len(sumMember)]) != sumMember || string(sum[len(sum)-len(sumEnd):]) != sumEnd {
		return nil, false
	}
	return payload, isChecksum(sum[len(sumMember):len(sum)-len(sumEnd)], payload)
}

// seal completes the line that begins at an offset of buf.
func seal(buf []byte, from int) ([]byte, error) {
	payload := buf[from:]
	buf = append(buf, sumMember...)
	buf = append(appendChecksum(buf, payload), sumEnd...)
	if err := tooLong(buf[from:]); err != nil {
		return nil, err
	}
	return append(buf, '\n'), nil
}

func (f *lineFormat) keep() {
	if f.fresh != nil {
		f.add(*f.fresh)
		f.fresh = nil
	}
}

func (f *lineFormat) add(s shape) {
	for i, name := range s.params {
		before := " "
		if i == 0 {
			before = ""
		}
		s.parts = append(s.parts, before+name+"=")
		if slices.Contains(f.parts, name) {
			s.picked = append(s.picked, i)
		}
	}
	f.known[string(appendNames(nil, s.params, s.metrics))] = len(f.shapes)
	f.shapes = append(f.shapes, s)
}

// appendNames appends a text that identifies a shape. Only odd names of metrics contain the separators; two shapes with the same
// text are told apart where one is used.
func appendNames(buf []byte, params, metrics []string) []byte {
	for _, p := range params {
		buf = append(append(buf, p...), ' ')
	}
	for _, m := range metrics {
		buf = append(append(buf, '\n'), m...)
	}
	return buf
}

func (f *lineFormat) encode(buf []byte, r *record) ([]byte, int, error) {
	from, lines := len(buf), 1
	switch r.kind {
	case aHeader:
		buf = append(buf, lineOpening+`2,"run":`...)
		buf = appendText(buf, r.run)
	case aBatch:
		buf = appendBatch(buf, &r.batch)
	case anEnd:
		buf = appendEnd(buf, &r.end)
	case anOutcome:
		n, ok := f.shapeOf(&r.entry)
		if ok && n == len(f.shapes) {
			var err error
			if buf, err = seal(appendShape(buf, n, *f.fresh), from); err != nil {
				return nil, 0, err
			}
			from, lines = len(buf), 2
		}
		buf = f.appendOutcome(buf, &r.entry, n, ok)
	}
	buf, err := seal(buf, from)
	return buf, lines, err
}

// shapeOf splits the key of an entry and finds its shape, or makes one, which keep adds. It returns false where the entry is to
// be written in full.
func (f *lineFormat) shapeOf(e *space.Entry) (int, bool) {
	f.fresh = nil
	f.names, f.texts = f.names[:0], f.texts[:0]
	err := space.SplitKey(e.Key, func(name, text string) {
		f.names, f.texts = append(f.names, name), append(f.texts, text)
	})
	if err != nil {
		return 0, false
	}
	// What is read back must be the key, to the byte.
	f.key = f.key[:0]
	for i, name := range f.names {
		if i > 0 {
			f.key = append(f.key, ' ')
		}
		f.key = append(append(f.key, name...), '=')
		text := f.texts[i]
		if isLiteral(text) {
			f.key = append(f.key, text...)
			continue
		}
		if said, err := strconv.Unquote(text); err == nil {
			f.texts[i] = said
		}
		f.key = append(f.key, space.StringValue(f.texts[i]).String()...)
	}
	if string(f.key) != e.Key || slices.ContainsFunc(f.texts, func(text string) bool { return !utf8.ValidString(text) }) {
		return 0, false
	}
	f.sign = f.sign[:0]
	for _, name := range f.names {
		f.sign = append(append(f.sign, name...), ' ')
	}
	for i := range e.Outcome.Metrics {
		f.sign = append(append(f.sign, '\n'), e.Outcome.Metrics[i].Name...)
	}
	if n, ok := f.known[string(f.sign)]; ok {
		same := slices.Equal(f.shapes[n].params, f.names) && slices.EqualFunc(f.shapes[n].metrics, e.Outcome.Metrics,
			func(name string, m space.Metric) bool { return name == m.Name })
		return n, same
	}
	if len(f.shapes) == mostShapes {
		return 0, false
	}
	f.fresh = &shape{params: slices.Clone(f.names), metrics: metricsOf(e.Outcome.Metrics)}
	for i, name := range f.fresh.params {
		f.fresh.params[i] = strings.Clone(name) // not the whole key
	}
	return len(f.shapes), true
}

// isLiteral reports whether the text of a value is written in JSON unchanged.
func isLiteral(text string) bool { return text == "true" || text == "false" || isNumber([]byte(text)) }

func appendShape(buf []byte, number int, s shape) []byte {
	buf = strconv.AppendInt(append(buf, `{"shape":`...), int64(number), 10)
	buf = appendList(append(buf, `,"p":[`...), s.params, func(b []byte, name string) []byte { return appendText(b, name) })
	return appendList(append(buf, `,"m":[`...), s.metrics, func(b []byte, name string) []byte { return appendText(b, name) })
}

// appendList appends the elements of a list that is open, and closes it.
func appendList[T any](buf []byte, list []T, one func([]byte, T) []byte) []byte {
	for i, v := range list {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = one(buf, v)
	}
	return append(buf, ']')
}

func appendBatch(buf []byte, b *space.Batch) []byte {
	buf = strconv.AppendInt(append(buf, `{"batch":`...), int64(b.Number), 10)
	buf = strconv.AppendInt(append(buf, `,"count":`...), int64(b.Count), 10)
	buf = appendNumber(append(buf, `,"left":`...), b.Progress.Left)
	if n := b.Progress.Evaluations; n != 0 {
		buf = strconv.AppendInt(append(buf, `,"evaluations":`...), int64(n), 10)
	}
	if n := b.Progress.Told; n != b.First { // usually all trials before the batch are told
		buf = strconv.AppendInt(append(buf, `,"told":`...), int64(n), 10)
	}
	return buf
}

func appendEnd(buf []byte, e *End) []byte {
	buf = appendText(append(buf, `{"end":`...), e.Why)
	buf = appendNumber(append(buf, `,"t":`...), e.Elapsed)
	if e.Clock != "" {
		buf = appendText(append(buf, `,"clock":`...), e.Clock)
	}
	if e.Told != 0 {
		buf = strconv.AppendInt(append(buf, `,"told":`...), int64(e.Told), 10)
	}
	if e.Reason != "" {
		buf = appendText(append(buf, `,"reason":`...), e.Reason)
	}
	return buf
}

// appendOutcome appends an outcome with the values that shapeOf found, or in full.
func (f *lineFormat) appendOutcome(buf []byte, e *space.Entry, number int, shaped bool) []byte {
	o := &e.Outcome
	buf = strconv.AppendInt(append(buf, `{"n":`...), int64(e.Number), 10)
	if shaped {
		buf = strconv.AppendInt(append(buf, `,"shape":`...), int64(number), 10)
		buf = appendList(append(buf, `,"p":[`...), f.texts, func(b []byte, text string) []byte {
			if isLiteral(text) {
				return append(b, text...)
			}
			return appendText(b, text)
		})
	} else {
		buf = appendText(append(buf, `,"key":`...), e.Key)
	}
	if o.Status != space.OK {
		buf = appendText(append(buf, `,"status":`...), o.Status.String())
	}
	if hasCost(o) {
		buf = appendNumber(append(buf, `,"cost":`...), o.Cost)
	}
	switch {
	case len(o.Metrics) == 0:
	case shaped:
		buf = appendList(append(buf, `,"m":[`...), o.Metrics, func(b []byte, m space.Metric) []byte { return appendNumber(b, m.Value) })
	default:
		buf = appendList(append(buf, `,"metrics":[`...), o.Metrics, func(b []byte, m space.Metric) []byte { return appendText(b, m.Name) })
		buf = appendList(append(buf, `,"m":[`...), o.Metrics, func(b []byte, m space.Metric) []byte { return appendNumber(b, m.Value) })
	}
	if o.Fidelity != 0 {
		buf = strconv.AppendInt(append(buf, `,"fidelity":`...), int64(o.Fidelity), 10)
	}
	if o.Reason != "" {
		buf = appendText(append(buf, `,"reason":`...), o.Reason)
	}
	if o.By != "" {
		buf = appendText(append(buf, `,"by":`...), o.By)
	}
	if o.Seconds != 0 || 1/o.Seconds < 0 {
		buf = appendNumber(append(buf, `,"s":`...), o.Seconds)
	}
	return appendNumber(append(buf, `,"t":`...), e.Elapsed)
}

// appendNumber appends the shortest number that reads back as v, in the form of encoding/json.
func appendNumber(buf []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(buf, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(buf, v, 'f', -1, 64)
}

// appendText appends a JSON string.
func appendText(buf []byte, text string) []byte {
	const hexDigits = "0123456789abcdef"
	buf = append(buf, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			buf = append(buf, '\\', c)
		case c < ' ':
			buf = append(buf, `\u00`...)
			buf = append(buf, hexDigits[c>>4], hexDigits[c&15])
		default:
			buf = append(buf, c)
		}
	}
	return append(buf, '"')
}

func (f *lineFormat) decode(payload []byte, r *record) error {
	*r = record{}
	c := cursor{text: payload}
	first, err := c.begin()
	if err != nil {
		return err
	}
	switch string(first) {
	case "journal":
		return f.decodeHeader(&c, r)
	case "shape":
		return f.decodeShape(&c, r)
	case "batch":
		return f.decodeBatch(&c, r)
	case "n":
		return f.decodeOutcome(&c, r)
	case "end":
		return f.decodeEnd(&c, r)
	}
	return fmt.Errorf("unknown record: its first field is %q", first)
}

func (f *lineFormat) decodeHeader(c *cursor, r *record) error {
	r.kind = aHeader
	n, err := c.integer("journal")
	if err == nil && n != 2 {
		return unknownFormat(n)
	}
	for name := range c.members(&err) {
		switch name {
		case "run":
			r.run, err = c.str(name)
		default:
			return unknownField(name)
		}
	}
	return err
}

func (f *lineFormat) decodeShape(c *cursor, r *record) error {
	r.kind = aShape
	var s shape
	n, err := c.integer("shape")
	names := func(name string) (list []string, err error) {
		err = c.list(name, func() error {
			text, err := c.str(name)
			list = append(list, text)
			return err
		})
		return list, err
	}
	for name := range c.members(&err) {
		switch name {
		case "p":
			s.params, err = names(name)
		case "m":
			s.metrics, err = names(name)
		default:
			return unknownField(name)
		}
	}
	switch {
	case err != nil:
		return err
	case n != len(f.shapes) || n >= mostShapes:
		return fmt.Errorf("shape %d stands where shape %d is expected", n, len(f.shapes))
	}
	f.add(s)
	return nil
}

func (f *lineFormat) decodeBatch(c *cursor, r *record) error {
	r.kind = aBatch
	b := &r.batch
	var err error
	b.Number, err = c.integer("batch")
	b.First, b.Progress.Told = f.trials, f.trials
	for name := range c.members(&err) {
		switch name {
		case "count":
			b.Count, err = c.integer(name)
		case "left":
			b.Progress.Left, err = c.float(name)
		case "evaluations":
			b.Progress.Evaluations, err = c.integer(name)
		case "told":
			b.Progress.Told, err = c.integer(name)
		default:
			return unknownField(name)
		}
	}
	f.trials += b.Count
	return err
}

func (f *lineFormat) decodeEnd(c *cursor, r *record) error {
	r.kind = anEnd
	e := &r.end
	var err error
	e.Why, err = c.str("end")
	for name := range c.members(&err) {
		switch name {
		case "t":
			e.Elapsed, err = c.float(name)
		case "clock":
			e.Clock, err = c.str(name)
		case "told":
			e.Told, err = c.integer(name)
		case "reason":
			e.Reason, err = c.str(name)
		default:
			return unknownField(name)
		}
	}
	return err
}

func (f *lineFormat) decodeOutcome(c *cursor, r *record) error {
	r.kind = anOutcome
	e, o := &r.entry, &r.entry.Outcome
	o.Status = space.OK
	d := outcomeDecoder{format: f, record: r, shape: &f.none}
	var err error
	e.Number, err = c.integer("n")
	for err == nil && c.at < len(c.text) {
		var name []byte
		if name, err = c.member(); err == nil {
			err = d.member(c, name)
		}
	}
	if err != nil || !f.raw && f.whole != nil && !f.whole(e) {
		return err
	}
	switch {
	case f.parts != nil:
		return d.part()
	case !f.raw || f.whole == nil || f.whole(e):
		err = d.restOfPoint()
	}
	return cmp.Or(err, d.restOfMetrics())
}

// complete reports whether each outcome is decoded completely.
func (f *lineFormat) complete() bool { return f.whole == nil && f.parts == nil && !f.raw }

// outcomeDecoder decodes the members of an outcome. The values of a point and of metrics are only counted where it is not known yet whether
// the outcome is decoded completely, or something is wrong with them.
type outcomeDecoder struct {
	format         *lineFormat
	record         *record
	shape          *shape
	point, metrics cursor // at values that were counted; zero where there are none
	pointed        *shape // of point
}

// member decodes the value of a member.
func (d *outcomeDecoder) member(c *cursor, name []byte) (err error) {
	e := &d.record.entry
	o := &e.Outcome
	switch string(name) {
	case "shape":
		var n int
		if n, err = c.integer("shape"); err == nil && (n < 0 || n >= len(d.format.shapes)) {
			err = fmt.Errorf("field shape: %d is not declared", n)
		}
		if err == nil {
			d.shape = &d.format.shapes[n]
		}
	case "p":
		err = d.values(c)
	case "key":
		d.point = cursor{}
		e.Key, err = c.str("key")
	case "status":
		var text string
		if text, err = c.str("status"); err == nil {
			o.Status, err = space.ParseStatus(text)
		}
	case "cost":
		o.Cost, err = c.float("cost")
	case "metrics":
		d.shape = &shape{params: d.shape.params, parts: d.shape.parts}
		err = c.list("metrics", func() error {
			text, err := c.str("metrics")
			d.shape.metrics = append(d.shape.metrics, text)
			return err
		})
	case "m":
		err = d.numbers(c)
	case "fidelity":
		o.Fidelity, err = c.integer("fidelity")
	case "reason":
		o.Reason, err = c.str("reason")
	case "by":
		o.By, err = c.str("by")
	case "s":
		o.Seconds, err = c.float("s")
	case "t":
		e.Elapsed, err = c.float("t")
	default:
		return unknownField(string(name))
	}
	return err
}

// values decodes the values of a point, or counts them.
func (d *outcomeDecoder) values(c *cursor) error {
	from, e := *c, &d.record.entry
	if d.format.complete() && len(d.shape.parts) > 0 && d.format.decodePoint(c, d.shape) == nil && c.take(']') {
		d.point, e.Key = cursor{}, string(d.format.key)
		return nil
	}
	*c = from
	d.point, d.pointed = from, d.shape
	e.Key = someKey
	err := c.count("p", len(d.shape.params), "parameters")
	if err == nil && d.format.raw {
		e.Written = d.format.keepWritten(d.shape.params, c.text[from.at+1:c.at-1])
	}
	return err
}

// How much memory for raw values is allocated at once: the bytes of their texts, and the number of points.
const textsAtOnce, pointsAtOnce = 64 << 10, 512

// keepWritten returns values with a copy of their text.
func (f *lineFormat) keepWritten(names []string, text []byte) *space.Written {
	if len(f.text)+len(text) > cap(f.text) {
		f.text = make([]byte, 0, max(textsAtOnce, len(text)))
	}
	from := len(f.text)
	f.text = append(f.text, text...)
	if len(f.written) == cap(f.written) {
		f.written = make([]space.Written, 0, pointsAtOnce)
	}
	f.written = append(f.written, space.Written{Names: names, Text: f.text[from:len(f.text):len(f.text)]})
	return &f.written[len(f.written)-1]
}

// numbers decodes the values of metrics, or counts them.
func (d *outcomeDecoder) numbers(c *cursor) error {
	from, r := *c, d.record
	r.metrics = d.shape.metrics
	if (d.format.complete() || d.format.raw) && len(r.metrics) > 0 && c.take('[') {
		out := make([]space.Metric, len(r.metrics))
		for k, name := range r.metrics {
			v, err := c.float("m")
			if end := k+1 == len(out); err != nil || end && !c.take(']') || !end && !c.take(',') {
				break
			} else if out[k] = (space.Metric{Name: name, Value: v}); end {
				d.metrics, r.entry.Outcome.Metrics = cursor{}, out
				return nil
			}
		}
	}
	*c = from
	d.metrics = from
	return c.count("m", len(r.metrics), "names")
}

// restOfPoint and restOfMetrics decode what was only counted.
func (d *outcomeDecoder) restOfPoint() error {
	if d.point.text == nil {
		return nil
	}
	if err := d.format.decodePoint(&d.point, d.pointed); err != nil {
		return err
	}
	d.record.entry.Key = string(d.format.key)
	return nil
}

func (d *outcomeDecoder) restOfMetrics() error {
	if d.metrics.text == nil {
		return nil
	}
	r := d.record
	out := make([]space.Metric, 0, len(r.metrics))
	err := d.metrics.list("m", func() error {
		v, err := d.metrics.float("m")
		out = append(out, space.Metric{Name: r.metrics[len(out)], Value: v})
		return err
	})
	r.entry.Outcome.Metrics = out
	return err
}

// part decodes those values of a point that keys are limited to, and writes the key of these. It is someKey where there are none.
func (d *outcomeDecoder) part() error {
	f := d.format
	if d.point.text == nil || len(d.pointed.picked) == 0 {
		return nil
	}
	c, key := &d.point, f.key[:0]
	c.take('[')
	at := 0
	for _, k := range d.pointed.picked {
		for ; at < k; at++ {
			c.skip()
		}
		before := d.pointed.parts[k]
		if len(key) == 0 {
			before = strings.TrimPrefix(before, " ")
		}
		var err error
		if key, err = c.appendValue(append(key, before...)); err != nil {
			return err
		}
		c.take(',')
		at++
	}
	if f.key = key; f.last != string(key) {
		f.last = string(key)
	}
	d.record.entry.Key = f.last
	return nil
}

// decodePoint reads the values of a point and writes its key to f.key. count has found that there is one value for each parameter
// of the shape.
func (f *lineFormat) decodePoint(c *cursor, s *shape) (err error) {
	key := f.key[:0]
	defer func() { f.key = key }()
	next := byte('[')
	for i := range s.parts {
		if !c.take(next) {
			return unfit("p", "a list")
		}
		next = ','
		if key, err = c.appendValue(append(key, s.parts[i]...)); err != nil {
			return err
		}
	}
	return nil
}

func unknownField(name string) error { return fmt.Errorf("unknown field %q", name) }
