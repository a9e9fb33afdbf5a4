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
		"search: Settings.Jobs is -1: want 1 or more, or 0 for one":                      {Jobs: -1},
		"search: Settings.Budget.Wall is -1s: want more than nothing, or 0 for no limit": {Budget: Budget{Wall: -time.Second}},
		"search: Settings.Budget.Evaluations is -1: want 1 or more, or 0 for no limit":   {Budget: Budget{Evaluations: -1}},
		"search: Settings.Budget.Target is not a number: want a cost, or nil":            {Budget: Budget{Target: &none}},
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
