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
		"search: jobs is -1: want 1 or more":                      {Jobs: -1},
		"search: the time budget is -1s: want more than nothing":  {Budget: Budget{Wall: -time.Second}},
		"search: the budget is -1 evaluations: want 1 or more":    {Budget: Budget{Evaluations: -1}},
		"search: the target is not a number: want a cost, or nil": {Budget: Budget{Target: &none}},
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
