package insight

import (
	"iter"

	"tune/internal/guard"
	"tune/space"
)

// ahead reads rounds in a goroutine of its own, while the caller uses the outcomes of those before. An error is the last that it yields.
func ahead(rounds iter.Seq2[space.Round, error]) iter.Seq2[[]space.Entry, error] {
	const (
		together = 512 // outcomes
		most     = 8   // times as many that wait
	)
	return func(yield func([]space.Entry, error) bool) {
		read, done := make(chan []space.Entry, most), make(chan struct{})
		var failed error
		go func() {
			defer close(read)
			failed = guard.Call(func() error {
				var held []space.Entry
				give := func() bool {
					select {
					case read <- held:
						held = nil
						return true
					case <-done:
						return false
					}
				}
				for r, err := range rounds {
					if held = append(held, r.Entries...); err != nil {
						give()
						return err
					}
					if len(held) >= together && !give() {
						return nil
					}
				}
				give()
				return nil
			})
		}()
		defer close(done)
		for entries := range read {
			if !yield(entries, nil) {
				return
			}
		}
		if failed != nil {
			yield(nil, failed)
		}
	}
}
