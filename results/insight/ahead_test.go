package insight

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tune/space"
)

// rounds yields n rounds of some outcomes each, and then calls end.
func rounds(n, size int, end func() error) func(func(space.Round, error) bool) {
	return func(yield func(space.Round, error) bool) {
		for i := range n {
			r := space.Round{Batch: space.Batch{First: i * size, Count: size}}
			for j := range size {
				r.Entries = append(r.Entries, space.Entry{Number: i*size + j})
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := end(); err != nil {
			yield(space.Round{Entries: []space.Entry{{Number: n * size}}}, err)
		}
	}
}

// Reading ahead yields every outcome in order, what comes before an error or a panic, and then that.
func TestAhead(t *testing.T) {
	damaged := errors.New("damaged")
	for name, of := range map[string]struct {
		end  func() error
		want string // the error
		more int    // outcomes
	}{
		"whole":   {func() error { return nil }, "", 0},
		"damaged": {func() error { return damaged }, "damaged", 1},
		"panic":   {func() error { panic("broken reader") }, "broken reader", 0},
	} {
		for _, n := range []int{0, 1, 700, 9000} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				var got []int
				var failed error
				for entries, err := range ahead(rounds(n, 3, of.end)) {
					for _, e := range entries {
						got = append(got, e.Number)
					}
					failed = err
				}
				if of.want == "" && failed != nil || of.want != "" && (failed == nil || !strings.Contains(failed.Error(), of.want)) {
					t.Errorf("the error is %v, want %q", failed, of.want)
				}
				// A panic may cost the outcomes that were not handed over yet.
				if want := 3*n + of.more; !slices.IsSorted(got) || len(got) != want && (name != "panic" || want-len(got) > 512) {
					t.Errorf("%d outcomes, want %d", len(got), want)
				}
			})
		}
	}
}

// A caller that stops early stops the reading.
func TestAheadStops(t *testing.T) {
	ended := make(chan bool)
	go func() {
		for range ahead(func(yield func(space.Round, error) bool) {
			defer close(ended)
			for yield(space.Round{Entries: make([]space.Entry, 100)}, nil) {
			}
		}) {
			break
		}
	}()
	<-ended
}
