package surrogate_test

import (
	"testing"

	"tune/search"
	"tune/search/searchtest"
	"tune/search/surrogate"
	"tune/space"
)

// The suite with a model so small that it forgets most of what it saw; in make stress package strategies checks the defaults.
func TestConformance(t *testing.T) {
	searchtest.Conformance(t, "small", func(in *space.Space, seed uint64) (search.Strategy, error) {
		return surrogate.New(in, seed, surrogate.Config{Pool: 20, Most: 16})
	}, searchtest.Dear)
}

func TestValidate(t *testing.T) {
	for _, c := range []surrogate.Config{{Initial: 1}, {Batch: -1}, {Pool: -1}, {Most: 15}, {Samples: -1}} {
		if c.Validate() == nil {
			t.Errorf("%+v is valid", c)
		}
	}
}
