package tune

import (
	"tune/results"
	"tune/search/strategies"
)

// recordedStrategy returns the strategy that settings record, with its constants. Where it has another version here, or other
// constants, it is the one that there is with its defaults, and lost says why: what the run has found holds all the same, but
// the run cannot go on.
func recordedStrategy(settings *results.Settings) (entry strategies.Strategy, lost, err error) {
	if entry, err = strategies.Lookup(settings.Strategy); err != nil {
		return entry, nil, err
	}
	recorded, lost := strategies.Recorded(settings.Strategy, settings.StrategyConfig, settings.StrategyVersion)
	if lost == nil {
		entry = recorded
	}
	return entry, lost, nil
}

// canLead reports a run whose strategy cannot be led on: it is not to be had here, or not what a text names; "" names nothing.
func (s *session) canLead(text string) error {
	if s.lost != nil || text == "" {
		return s.lost
	}
	return s.entry.Agrees(text)
}
