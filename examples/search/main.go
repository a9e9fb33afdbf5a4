// Search lets a strategy of tune explore a space, with an evaluator that is not a kernel: any function from a point to a cost. Here
// it is the length of a text that gzip has compressed.
package main

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"log"
	"strings"

	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// text is what is compressed, in chunks.
var text = []byte(strings.Repeat("the quick brown fox jumps over the lazy dog\n", 200) + strings.Repeat("0123456789abcdef\n", 300))

// compressed returns how many bytes remain of the text if it is compressed in chunks, at a level.
func compressed(level, chunk int) (int, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, level)
	if err != nil {
		return 0, err
	}
	for at := 0; at < len(text); at += chunk {
		if _, err := w.Write(text[at:min(at+chunk, len(text))]); err != nil {
			return 0, err
		}
		if err := w.Flush(); err != nil {
			return 0, err
		}
	}
	return out.Len(), w.Close()
}

func main() {
	s, err := space.New("flate", []space.Parameter{space.Ints("level", 1, 2, 3, 4, 5, 6, 7, 8, 9), space.Pow2("chunk", 64, 65536)})
	if err != nil {
		log.Fatal(err)
	}
	entry, err := strategies.Parse("auto")
	if err != nil {
		log.Fatal(err)
	}
	strategy, err := entry.New(s, 1, strategies.Hints{})
	if err != nil {
		log.Fatal(err)
	}
	evaluate := func(_ context.Context, t space.Trial) (space.Outcome, error) {
		n, err := compressed(t.Point.Int("level"), t.Point.Int("chunk"))
		if err != nil {
			return space.Fail(space.Invalid, "%v", err), nil // the point's fault: the search goes on
		}
		return space.Outcome{Status: space.OK, Cost: float64(n)}, nil
	}
	result, err := search.Run(context.Background(), strategy, search.EvaluatorFunc(evaluate), search.Settings{
		Budget: search.Budget{Evaluations: 40}, Jobs: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.0f bytes at %s\n", result.Stop, result.Best.Outcome.Cost, result.Best.Trial.Point)
}
