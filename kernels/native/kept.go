package native

import (
	"slices"
	"sync"
)

// Kept keeps what a family has drawn for the last few seeds, such as the inputs of the asked shape with their references: every candidate is
// checked on them. It is safe for concurrent use. The zero value keeps nothing yet.
type Kept[T any] struct {
	// Most is how many seeds are kept; 0 stands for 2, that of the search and that of a check at the end.
	Most int

	mu   sync.Mutex
	list []keptSeed[T] // the oldest first
}

type keptSeed[T any] struct {
	seed  uint64
	drawn T
}

// Of returns what is kept for a seed, or else draws it and keeps it. One call draws at a time. What failed is not kept.
func (k *Kept[T]) Of(seed uint64, draw func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.IndexFunc(k.list, func(one keptSeed[T]) bool { return one.seed == seed }); i >= 0 {
		return k.list[i].drawn, nil
	}
	drawn, err := draw()
	if err != nil {
		return drawn, err
	}
	most := k.Most
	if most == 0 {
		most = 2
	}
	k.list = append(k.list, keptSeed[T]{seed, drawn})
	k.list = slices.Delete(k.list, 0, max(0, len(k.list)-most))
	return drawn, nil
}
