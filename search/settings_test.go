package search

import (
	"math"
	"testing"
	"time"
)

// TestSettings: settings that make no sense are refused by their name.
func TestSettings(t *testing.T) {
	none := math.NaN()
	for want, s := range map[string]Settings{
		"search: jobs is -1: want 1 or more":                                    {Jobs: -1},
		"search: Budget.Wall is -1s: want more than nothing, or 0 for no limit": {Budget: Budget{Wall: -time.Second}},
		"search: Budget.Evaluations is -1: want 1 or more, or 0 for no limit":   {Budget: Budget{Evaluations: -1}},
		"search: the target is not a number: want a cost, or nil":               {Budget: Budget{Target: &none}},
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
