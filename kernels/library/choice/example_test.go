package choice_test

import (
	"fmt"
	"log"
	"strings"

	"tune/kernels/library/choice"
)

// products returns the costs of four variants of a matrix product at shapes of two fields. Each variant is good in its region.
func products() choice.Matrix {
	m := choice.Matrix{
		Fields:   []string{"m", "n"},
		Variants: []choice.Variant{{Name: "row"}, {Name: "tile"}, {Name: "tall"}, {Name: "plain"}},
	}
	for _, rows := range []int64{1, 2, 4, 8, 16, 32, 64, 128} {
		for _, columns := range []int64{64, 128, 256, 512} {
			costs := []float64{1.8, 1.6, 1.5, 3} // by variant, in microseconds for each element
			switch {
			case rows <= 4:
				costs = []float64{1, 3, 1.1, 2}
			case rows*columns >= 8192:
				costs = []float64{6, 1, 2, 3}
			}
			for j := range costs {
				costs[j] *= 1e-6 * float64(rows*columns)
			}
			m.Shapes = append(m.Shapes, choice.Shape{Fields: []int64{rows, columns}, Weight: 1})
			m.Costs = append(m.Costs, costs)
		}
	}
	return m
}

// From measured costs to the variants of a library, the tree that picks one of them, and what it costs elsewhere.
func Example() {
	m := products()
	c, err := choice.Choose(m, 2, choice.Search{})
	if err != nil {
		log.Fatal(err)
	}
	for _, j := range c.Variants {
		fmt.Println("holds", m.Variants[j].Name)
	}
	fmt.Printf("mean regret %.1f %%, optimal: %v\n", 100*c.Mean, c.Optimal)

	tree, err := choice.Grow(m, c.Variants, choice.Growth{})
	if err != nil {
		log.Fatal(err)
	}
	tree.Walk(func(n *choice.Node, depth int) {
		indent := strings.Repeat("  ", depth)
		if n.Leaf() {
			fmt.Printf("%s%s\n", indent, m.Variants[n.Variant].Name)
			return
		}
		fmt.Printf("%s%s <= %.0f?\n", indent, tree.Features[n.Feature].Name(m.Fields), n.Threshold)
	})

	pairs, err := choice.CrossPairs(choice.Library(2, choice.Search{}, choice.Growth{}), m, 8, 1)
	if err != nil {
		log.Fatal(err)
	}
	cert, err := choice.Certify(pairs, choice.Bootstrap{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at shapes that were held out: mean %.1f %%, worst %.1f %%\n", 100*cert.Mean.Value, 100*cert.Worst.Value)
	// Output:
	// holds row
	// holds tile
	// mean regret 2.1 %, optimal: true
	// m <= 5?
	//   row
	//   tile
	// at shapes that were held out: mean 2.1 %, worst 6.7 %
}

// The fewest variants with a mean regret of at most 3 %, where the plain one is always there.
func ExampleFewest() {
	m := products()
	c, err := choice.Fewest(m, 0.03, choice.Search{Must: []int{3}})
	if err != nil {
		log.Fatal(err)
	}
	for _, j := range c.Variants {
		fmt.Println(m.Variants[j].Name)
	}
	fmt.Printf("%.1f %%\n", 100*c.Mean)
	// Output:
	// row
	// tile
	// plain
	// 2.1 %
}

// A rule of another tool, judged at the shapes of a matrix that it did not see.
func ExampleEvaluate() {
	m := products()
	train, held := m.Split([]int{0, 5, 10, 15, 20, 25, 30})
	for _, rule := range []choice.Rule{choice.OneForAll(), choice.Classifier(nil, choice.Growth{})} {
		c, err := rule.Train(train)
		if err != nil {
			log.Fatal(err)
		}
		cert, err := choice.Evaluate(c, held, choice.Bootstrap{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: mean %.0f %%, worst %.0f %%, %d variants\n", rule.Name, 100*cert.Mean.Value, 100*cert.Worst.Value, cert.Variants)
	}
	// Output:
	// one for all: mean 33 %, worst 100 %, 1 variants
	// classifier: mean 0 %, worst 0 %, 3 variants
}
