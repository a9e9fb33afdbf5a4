package native

import (
	"context"
	"time"

	"tune/kernels"
)

// What the reference may take to judge timed calls of a candidate: a share of the time in which the candidate was timed, or a few milliseconds, and
// in any case the first call of one that leads, which is then the best of the search.
const (
	judgeShare = 0.1
	judgeLeast = 5 * time.Millisecond
	judgeLeads = 3 * time.Second
)

// judge compares calls of the fastest samples, and blind ones, with the reference. Most timed calls are on contents that were put together for them. Repeated
// afresh they show whether a candidate keeps something, but not whether it is right: one that recognises the few contents with a
// reference could write the same nonsense for all others each time. It reports whether the reference has judged. Where the case is loose, the reference
// is asked about the baseline first, and if that is unlike it, never again.
func (m *meter) judge(ctx context.Context) (judged bool, err error) {
	with := m.variants.cases[0].With
	loose := m.variants.cases[0].Loose
	if with == nil || m.c == nil || loose && !m.isBaseline && !m.variants.sound {
		return false, nil
	}
	m.c.timing += time.Since(m.began)
	for _, of := range m.evidence.decisive() {
		if !m.mayJudge() {
			break
		}
		began := time.Now()
		one, err := with(ctx, of.Given)
		m.c.judging += time.Since(began)
		m.variants.judging = time.Since(began)
		m.c.judged = true
		if ended := ctx.Err(); err != nil && ended != nil {
			return false, ended
		}
		if err != nil {
			break // the reference does not take such inputs, which proves nothing
		}
		_, err = one.Verify(buffersOf(of.Evidence))
		r := kernels.AsRejection(err)
		if r != nil && loose && m.isBaseline {
			m.variants.cases[0].With = nil
			return false, nil
		}
		if r != nil {
			return false, kernels.Reject(r.Status, "%s, in a timed call: %s", one.Name, r.Reason)
		}
		if err != nil {
			return false, err
		}
		m.variants.sound = m.variants.sound || m.isBaseline
		if judged = true; !m.leads && !m.strict {
			break // one is enough of a candidate that decides nothing
		}
	}
	return judged, nil
}

// mayJudge reports whether there is time to call the reference once more.
func (m *meter) mayJudge() bool {
	takes := m.variants.judging
	if m.leads && !m.c.judged && takes <= judgeLeads {
		return true
	}
	return m.c.judging+takes <= max(judgeLeast, time.Duration(judgeShare*float64(m.c.timing)))
}
