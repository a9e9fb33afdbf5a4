package sim_test

import (
	"fmt"
	"strings"

	"tune/sim"
)

// The program squares the word at address 1 of memory and counts the squares that it stored at address 0.
func Example() {
	p, err := sim.Read(strings.NewReader(`[
		{"load": [["const", 0, 1]]},
		{"load": [["load", 1, 0], ["load", 2, 3]]},
		{"alu": [["*", 1, 1, 1], ["+", 2, 2, 0]]},
		{"store": [["store", 0, 1], ["store", 3, 2]]}
	]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	code, err := sim.Decode(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := sim.NewMachine()
	for _, mem := range [][]uint32{{0, 7}, {41, 65536}} {
		res, err := m.Run(code, mem, sim.Limits{})
		fmt.Println(res.Cycles, "cycles", mem, err)
	}
	fmt.Println("at least", sim.LowerBound(p).Cycles, "cycles, because of", sim.LowerBound(p).Limiter())
	for _, w := range sim.Lint(p) {
		fmt.Println(w)
	}
	// Output:
	// 4 cycles [1 49] <nil>
	// 4 cycles [42 0] <nil>
	// at least 4 cycles, because of dependence
	// bundle 1, load slot 1: reads scratch word 3, which nothing writes before
}
