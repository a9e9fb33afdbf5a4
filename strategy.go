package tune

import (
	"errors"

	"tune/results"
	"tune/search/strategies"
)

// recordedStrategy returns the strategy that settings record, with its constants. Where it has another version here, it is that
// version with its defaults, and other says so: what the run has found holds all the same, but it cannot go on.
func recordedStrategy(settings *results.Settings) (entry strategies.Strategy, other, err error) {
	entry, err = strategies.Recorded(settings.Strategy, settings.StrategyConfig, settings.StrategyVersion)
	if version, ok := errors.AsType[*strategies.VersionError](err); ok {
		entry, err = strategies.Lookup(settings.Strategy)
		return entry, version, err
	}
	return entry, nil, err
}

// canLead reports a run whose strategy cannot be led on: it is of another version, or not what a text names; "" names nothing.
func (s *session) canLead(text string) error {
	if s.otherVersion != nil || text == "" {
		return s.otherVersion
	}
	return s.entry.Agrees(text)
}
