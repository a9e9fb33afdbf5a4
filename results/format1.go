package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tune/space"
)

// sealedFormat is format 1, of earlier versions: a line is the checksum of a record in eight hexadecimal digits, a space, and the
// record as JSON. A journal that was started in this format is continued in it.
type sealedFormat struct{}

// sealLen is the length of the checksum and the space before a record.
const sealLen = 9

// sealedRecord is one record: exactly one of its fields is set.
type sealedRecord struct {
	Header  *sealedHeader  `json:"header,omitempty"`
	Batch   *space.Batch   `json:"batch,omitempty"`
	Outcome *sealedOutcome `json:"outcome,omitempty"`
	End     *End           `json:"end,omitempty"`
}

type sealedHeader struct {
	Format int    `json:"format"`
	Run    string `json:"run"`
}

// sealedOutcome is an entry as it is written.
type sealedOutcome struct {
	Number   int            `json:"number"`
	Key      string         `json:"key"`
	Status   space.Status   `json:"status"`
	Cost     *float64       `json:"cost,omitempty"`
	Metrics  []space.Metric `json:"metrics,omitempty"`
	Fidelity int            `json:"fidelity,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	By       string         `json:"by,omitempty"`
	Seconds  float64        `json:"seconds,omitempty"`
	Elapsed  float64        `json:"elapsed"`
}

func (sealedFormat) number() int { return 1 }

func (sealedFormat) keep() {}

func (sealedFormat) unseal(line []byte) ([]byte, bool) {
	if len(line) < sealLen || line[sealLen-1] != ' ' {
		return nil, false
	}
	return line[sealLen:], isChecksum(line[:sealLen-1], line[sealLen:])
}

func (sealedFormat) encode(buf []byte, r *record) ([]byte, int, error) {
	var s sealedRecord
	switch r.kind {
	case aHeader:
		s.Header = &sealedHeader{1, r.run}
	case aBatch:
		s.Batch = &r.batch
	case anOutcome:
		o := &r.entry.Outcome
		s.Outcome = &sealedOutcome{
			Number: r.entry.Number, Key: r.entry.Key, Status: o.Status, Metrics: o.Metrics, Fidelity: o.Fidelity,
			Reason: o.Reason, By: o.By, Seconds: o.Seconds, Elapsed: r.entry.Elapsed,
		}
		if hasCost(o) {
			s.Outcome.Cost = &o.Cost
		}
	case anEnd:
		s.End = &r.end
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil { // Encode ends with the newline.
		return nil, 0, err
	}
	if err := tooLong(line.Bytes()); err != nil {
		return nil, 0, err
	}
	buf = append(appendChecksum(buf, line.Bytes()[:line.Len()-1]), ' ')
	return append(buf, line.Bytes()...), 1, nil
}

func (sealedFormat) decode(payload []byte, r *record) error {
	var s sealedRecord
	if err := strictJSON(payload, &s); err != nil {
		return err
	}
	kinds := 0
	*r = record{}
	if s.Header != nil {
		kinds++
		r.kind, r.run = aHeader, s.Header.Run
		if s.Header.Format != 1 {
			return unknownFormat(s.Header.Format)
		}
	}
	if s.Batch != nil {
		kinds++
		r.kind, r.batch = aBatch, *s.Batch
	}
	if o := s.Outcome; o != nil {
		kinds++
		r.kind, r.entry = anOutcome, space.Entry{Number: o.Number, Key: o.Key, Elapsed: o.Elapsed, Outcome: space.Outcome{
			Status: o.Status, Metrics: o.Metrics, Fidelity: o.Fidelity, Reason: o.Reason, By: o.By, Seconds: o.Seconds,
		}}
		if o.Cost != nil {
			r.entry.Outcome.Cost = *o.Cost
		}
		r.metrics = metricsOf(o.Metrics)
	}
	if s.End != nil {
		kinds++
		r.kind, r.end = anEnd, *s.End
	}
	if kinds != 1 {
		return fmt.Errorf("the record is of %d kinds rather than one", kinds)
	}
	return nil
}

// checkSealedHeader reads only the format of the first record, so that the error for a journal of a later version names the
// version and not damage.
func checkSealedHeader(payload []byte) error {
	var first struct {
		Header *struct {
			Format int `json:"format"`
		} `json:"header"`
	}
	if err := json.Unmarshal(payload, &first); err != nil {
		return explainJSON(payload, err)
	}
	if first.Header == nil {
		return errors.New("the first record is not a header")
	}
	if first.Header.Format != 1 {
		return unknownFormat(first.Header.Format)
	}
	return nil
}

// couldBeSealed reports whether data could be the rest of a header of this format.
func couldBeSealed(data []byte) bool {
	const opening = ` {"header":{"format":`
	for _, c := range data[:min(len(data), sealLen-1)] {
		if !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return false
		}
	}
	rest := string(data[min(len(data), sealLen-1):])
	n := min(len(rest), len(opening))
	return rest[:n] == opening[:n]
}
