package strategies

import (
	"fmt"
	"slices"

	"tune/internal/pattern"
	"tune/search"
	"tune/space"
)

var ownName = pattern.Lazy(`^[a-z][a-z0-9-]*$`)

// Own makes an entry for a strategy of the caller's, which is in no table. Run directories record its name and its version. The
// name consists of lower-case letters, digits and dashes, and is not one of Table's. The version is 1 or more, and changes
// whenever the strategy asks for other points with the same seed. make makes the strategy for the space of a run; it is wrapped
// as every strategy is, see Make. Paced and Hintless may be set in the result.
func Own(name string, version int, make func(s *space.Space, seed uint64, h Hints) (search.Strategy, error)) (Strategy, error) {
	switch {
	case !ownName().MatchString(name):
		return Strategy{}, fmt.Errorf("strategy %q: want a name of lower-case letters, digits and dashes that begins with a letter", name)
	case slices.Contains(Names(), name):
		return Strategy{}, fmt.Errorf("strategy %q: the name is taken by one of tune's own", name)
	case version < 1:
		return Strategy{}, fmt.Errorf("strategy %s: version %d: want 1 or more", name, version)
	case make == nil:
		return Strategy{}, fmt.Errorf("strategy %s: the function that makes it is nil", name)
	}
	return Strategy{
		Name: name, Version: version, Doc: "a strategy of the program",
		resolve: func(values []float64) ([]float64, error) { return values, nil },
		make: func(s *space.Space, seed uint64, h Hints, _ []float64) (search.Strategy, error) {
			own, err := make(s, seed, h)
			if own == nil && err == nil {
				err = fmt.Errorf("strategy %s: the function that makes it returned nil", name)
			}
			return own, err
		},
	}, nil
}
