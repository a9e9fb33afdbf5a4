package space_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"tune/space"
)

func Example() {
	s, err := space.New("demo", []space.Parameter{
		space.Range("lanes", 1, 32).WithDefault(3).Describe("lanes in flight"),
		space.Pow2("tile", 8, 128),
		space.Enum("order", "kind", "lane", "diagonal"),
		space.Range("stagger", 1, 8).If("order == 'diagonal'"),
		space.Bool("packed"),
	}, "lanes * tile <= 512")
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := s.Len()
	fmt.Println(s.Product(), "combinations,", n, "points")
	fmt.Println("default:", s.Default())
	fmt.Println("last:   ", s.At(n-1))
	p, err := s.Sample(rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("random: ", p)
	for _, q := range s.Neighbours(s.Default(), space.Adjacent) {
		fmt.Println("beside: ", q)
	}
	// Output:
	// 7680 combinations, 1840 points
	// default: lanes=3 tile=8 order=kind packed=false
	// last:    lanes=32 tile=16 order=diagonal stagger=8 packed=true
	// random:  lanes=22 tile=8 order=diagonal stagger=6 packed=true
	// beside:  lanes=2 tile=8 order=kind packed=false
	// beside:  lanes=4 tile=8 order=kind packed=false
	// beside:  lanes=3 tile=16 order=kind packed=false
	// beside:  lanes=3 tile=8 order=lane packed=false
	// beside:  lanes=3 tile=8 order=kind packed=true
}

func ExampleRead() {
	s, err := space.Read(strings.NewReader(`
name: blocked
parameters:
  - {name: mr, type: int, from: 1, to: 14}
  - {name: nr, type: enum, values: [1, 2, 4]}
  - {name: prefetch, type: bool, when: mr > 4}
constraints:
  - mr * nr <= 28
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := s.Make(map[string]any{"mr": 6, "nr": 4})
	fmt.Println(p, err)
	_, err = s.Make(map[string]any{"mr": 14, "nr": 4})
	fmt.Println(err)
	if err := s.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// mr=6 nr=4 prefetch=false <nil>
	// constraint mr * nr <= 28 is broken by mr=14 nr=4
	// name: blocked
	// parameters:
	//   - {name: mr, type: int, from: 1, to: 14}
	//   - {name: nr, type: enum, values: [1, 2, 4]}
	//   - {name: prefetch, type: bool, when: mr > 4}
	// constraints:
	//   - mr * nr <= 28
}

func ExampleExprError() {
	_, err := space.New("demo", []space.Parameter{space.Range("lanes", 1, 32), space.Pow2("tile", 8, 128)}, "lanes * tiel <= 512")
	fmt.Println(err)
	// Output:
	// space "demo": constraint 1: column 9: there is no parameter "tiel" (did you mean "tile"?), in "lanes * tiel <= 512"
}

func ExamplePoint_Key() {
	s, err := space.New("build", []space.Parameter{space.Enum("flags", "-O2", "-O3 -ffast-math"), space.Bool("inline")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for p := range s.All() {
		fmt.Println(p.Key())
	}
	// Output:
	// flags=-O2 inline=false
	// flags=-O2 inline=true
	// flags="-O3 -ffast-math" inline=false
	// flags="-O3 -ffast-math" inline=true
}
