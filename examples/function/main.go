// Function tunes a Go function: how many partial sums make a dot product fastest?
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"time"

	"tune"
	"tune/space"
)

const n = 4096

var (
	x, y   = make([]float64, n), make([]float64, n)
	result float64
)

// dot sums in as many parts as asked, which are added up in the end.
func dot(parts int) float64 {
	var sums [16]float64
	for i := 0; i+parts <= n; i += parts {
		for k, a := range x[i : i+parts] {
			sums[k] += a * y[i+k]
		}
	}
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total
}

// fill draws the inputs.
func fill(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range x {
		x[i], y[i] = r.Float64(), r.Float64()
	}
	result = 0
}

// check compares the result with a plain sum.
func check() error {
	want := 0.0
	for i := range x {
		want += x[i] * y[i]
	}
	if math.Abs(result-want) > 1e-9*want {
		return fmt.Errorf("the product is %v, want %v", result, want)
	}
	return nil
}

func main() {
	budget := flag.Duration("budget", 10*time.Second, "how long to tune")
	dir := flag.String("dir", "", "directory of the run, which 'tune runs' and 'tune export' read; none is kept without it")
	flag.Parse()
	found, err := tune.Func(context.Background(), tune.Function{
		Name:       "dot",
		Parameters: []space.Parameter{space.Ints("parts", 1, 2, 4, 8, 16)},
		Make: func(p space.Point) func() {
			parts := p.Int("parts")
			return func() { result = dot(parts) }
		},
		Inputs: fill, Check: check, Budget: *budget, Dir: *dir,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found)
}
