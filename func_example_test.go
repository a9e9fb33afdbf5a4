package tune_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"time"

	"tune"
	"tune/space"
)

const side = 512

var in, out = make([]float32, side*side), make([]float32, side*side)

// transpose writes in to out with rows and columns exchanged, in blocks of rows × columns.
func transpose(rows, columns int) {
	for i0 := 0; i0 < side; i0 += rows {
		for j0 := 0; j0 < side; j0 += columns {
			for i := i0; i < min(i0+rows, side); i++ {
				for j := j0; j < min(j0+columns, side); j++ {
					out[j*side+i] = in[i*side+j]
				}
			}
		}
	}
}

// fill draws other numbers for in, and clears out, so that no result of another point is left in it.
func fill(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range in {
		in[i] = r.Float32()
	}
	clear(out)
}

// isTransposed compares out with in.
func isTransposed() error {
	for i := range side {
		for j := range side {
			if out[j*side+i] != in[i*side+j] {
				return fmt.Errorf("the number in row %d and column %d is not in its place", i, j)
			}
		}
	}
	return nil
}

// A Go function is tuned: in which blocks does it run fastest?
func ExampleFunc() {
	found, err := tune.Func(context.Background(), tune.Function{
		Name: "transpose", Parameters: []space.Parameter{space.Ints("rows", 1, 8, 16, 64), space.Ints("columns", 1, 8, 16, 64)},
		Make: func(p space.Point) func() {
			rows, columns := p.Int("rows"), p.Int("columns")
			return func() { transpose(rows, columns) }
		},
		Inputs: fill, Check: isTransposed, Budget: 5 * time.Second, Evaluations: 5,
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(found) // such as rows=64 columns=16: 362.2 µs, 1.85× as fast as the baseline (671.4 µs), 98 % interval 1.382 to 1.957
	fmt.Println(found.NS <= found.BaselineNS, found.Report.Checking)
	// Output: true fresh inputs
}

// A function that sorts in place needs its input back before each call, and other inputs for each check.
func ExampleFunc_inPlace() {
	random, numbers := make([]int, 5000), make([]int, 5000)
	found, err := tune.Func(context.Background(), tune.Function{
		Name:       "sort",
		Parameters: []space.Parameter{space.Ints("below", 1, 8, 24, 200).Describe("length from which on insertion sort takes over")},
		Make: func(p space.Point) func() {
			below := p.Int("below")
			return func() { quicksort(numbers, below) }
		},
		Inputs: func(seed uint64) {
			r := rand.New(rand.NewPCG(seed, 0))
			for i := range random {
				random[i] = r.IntN(1 << 20)
			}
		},
		Reset: func() { copy(numbers, random) },
		Check: func() error {
			if !slices.IsSorted(numbers) {
				return errors.New("it is not sorted")
			}
			return nil
		},
		Budget: 5 * time.Second, Evaluations: 3,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Report.Settings.Kernel, found.NS <= found.BaselineNS)
	// Output: sort true
}

// quicksort sorts numbers, and leaves parts that are short to insertion sort.
func quicksort(numbers []int, below int) {
	for len(numbers) > max(below, 1) {
		pivot, i, j := numbers[len(numbers)/2], 0, len(numbers)-1
		for i <= j {
			for numbers[i] < pivot {
				i++
			}
			for numbers[j] > pivot {
				j--
			}
			if i <= j {
				numbers[i], numbers[j] = numbers[j], numbers[i]
				i, j = i+1, j-1
			}
		}
		quicksort(numbers[:j+1], below)
		numbers = numbers[i:]
	}
	for i := 1; i < len(numbers); i++ {
		for j := i; j > 0 && numbers[j] < numbers[j-1]; j-- {
			numbers[j], numbers[j-1] = numbers[j-1], numbers[j]
		}
	}
}
