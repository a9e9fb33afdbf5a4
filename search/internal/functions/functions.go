// Package functions holds functions with known minima, for comparing strategies. Each is the discretised form of a function from
// the literature: its parameters count the steps of a grid that contains the minimum.
package functions

import (
	"fmt"
	"math"

	"tune/space"
)

// Function is a function to minimise.
type Function struct {
	Name string
	// Doc says where the function is from, and what makes it hard.
	Doc string
	// Space is the space that it is defined on.
	Space *space.Space
	// Cost is the value at a point of Space.
	Cost func(space.Point) float64
	// Minimum is the least cost, and At the key of a point that has it.
	Minimum float64
	At      string
}

// Table returns every function.
func Table() []Function {
	return []Function{
		Sphere(10),
		Rosenbrock(4),
		Step(5),
		Rastrigin(6),
		OneMax(60),
	}
}

// Sphere is De Jong's F1 in n dimensions: smooth, separable, one minimum. De Jong, "An analysis of the behavior of
// a class of genetic adaptive systems", University of Michigan, 1975.
func Sphere(n int) Function {
	return real(fmt.Sprintf("sphere-%d", n), "De Jong 1975, F1: smooth and separable", n, 5.12, 100, 0, func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v * v
		}
		return sum
	})
}

// Rosenbrock is De Jong's F2 in n dimensions: a long curved valley. Rosenbrock, "An automatic method for finding the
// greatest or least value of a function", Computer Journal 3(3), 1960; De Jong 1975.
func Rosenbrock(n int) Function {
	return real(fmt.Sprintf("rosenbrock-%d", n), "Rosenbrock 1960; De Jong 1975, F2: a curved valley", n, 2.048, 1000, 1, func(x []float64) float64 {
		sum := 0.0
		for i := range x[1:] {
			a, b := x[i+1]-x[i]*x[i], 1-x[i]
			sum += 100*a*a + b*b
		}
		return sum
	})
}

// Step is De Jong's F3 in n dimensions: plateaus, on which no near point is better. De Jong 1975.
func Step(n int) Function {
	return real(fmt.Sprintf("step-%d", n), "De Jong 1975, F3: plateaus", n, 5.12, 100, -5.12, func(x []float64) float64 {
		sum := 6 * float64(n)
		for _, v := range x {
			sum += math.Floor(v)
		}
		return sum
	})
}

// Rastrigin is a sphere with a regular pattern of local minima. Rastrigin, "Systems of extremal control", Nauka,
// 1974; in n dimensions by Mühlenbein, Schomisch and Born, "The parallel genetic algorithm as function optimizer",
// Parallel Computing 17, 1991.
func Rastrigin(n int) Function {
	return real(fmt.Sprintf("rastrigin-%d", n), "Rastrigin 1974; Mühlenbein et al. 1991: many local minima", n, 5.12, 100, 0, func(x []float64) float64 {
		sum := 10 * float64(n)
		for _, v := range x {
			sum += v*v - 10*math.Cos(2*math.Pi*v)
		}
		return sum
	})
}

// OneMax counts the values that are false among n booleans. Ackley, "A Connectionist Machine for Genetic Hillclimbing", Kluwer,
// 1987.
func OneMax(n int) Function {
	var params []space.Parameter
	for i := range n {
		params = append(params, space.Bool(name(i)))
	}
	f := Function{Name: fmt.Sprintf("onemax-%d", n), Doc: "Ackley 1987: truth values, each counts by itself"}
	f.Space = mustSpace(f.Name, params)
	f.Cost = func(p space.Point) float64 {
		zeros := 0
		for i := range n {
			zeros += 1 - p.Ordinal(i)
		}
		return float64(zeros)
	}
	f.At = key(f.Space, n, 1)
	return f
}

// real makes a function of n real variables from -bound to bound, in steps of 1/scale. Its minimum of 0 is where all of them
// equal at.
func real(title, doc string, n int, bound, scale, at float64, cost func([]float64) float64) Function {
	most := int(math.Round(bound * scale))
	var params []space.Parameter
	for i := range n {
		params = append(params, space.Range(name(i), -most, most))
	}
	f := Function{Name: title, Doc: doc, Space: mustSpace(title, params)}
	f.Cost = func(p space.Point) float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(p.Ordinal(i)-most) / scale
		}
		return cost(x)
	}
	f.At = key(f.Space, n, int(math.Round(at*scale))+most)
	return f
}

func name(i int) string { return fmt.Sprintf("x%d", i) }

func mustSpace(name string, params []space.Parameter) *space.Space {
	s, err := space.New(name, params)
	if err != nil {
		panic(err) // The table is fixed, and its test makes every entry.
	}
	return s
}

// key returns the key of the point whose n ordinals are all the same.
func key(s *space.Space, n, ordinal int) string {
	ordinals := make([]int, n)
	for i := range ordinals {
		ordinals[i] = ordinal
	}
	p, err := s.FromOrdinals(ordinals)
	if err != nil {
		panic(err)
	}
	return p.Key()
}
