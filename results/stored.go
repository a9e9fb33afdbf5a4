package results

import (
	"fmt"
	"io"
	"iter"
	"os"

	"tune/space"
)

// Stored is the part of a journal that a call has read through, on disk. It takes no memory to speak of, however long
// the journal is.
type Stored struct {
	Outline
	path string
	size int64 // bytes of the part
}

// Rounds reads the batches with their outcomes, each time anew. An error ends it: it is one of reading, since what is
// read was found to be sound before.
func (s Stored) Rounds() iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		file, err := os.Open(s.path)
		if err != nil {
			yield(space.Round{}, err)
			return
		}
		defer file.Close()
		from := newScanner(io.LimitReader(file, s.size))
		from.name = s.path
		for r, err := range from.rounds() {
			if !yield(r, err) {
				return
			}
		}
		if from.valid < s.size {
			yield(space.Round{}, fmt.Errorf("%s has become shorter since it was opened", s.path))
		}
	}
}

// Spent returns the time in seconds that the sittings spent.
func (s Stored) Spent() float64 { return s.Elapsed }

// readStored reads through a journal without locking or changing it, and says what it found.
func readStored(path string) (Stored, Recovery, error) {
	file, err := os.Open(path)
	if err != nil {
		return Stored{}, Recovery{}, err
	}
	defer file.Close()
	s := newScanner(file)
	outline, err := s.readAll(nil)
	return Stored{outline, path, s.valid}, s.recovery(), err
}
