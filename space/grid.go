package space

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Grid is a range of numbers that is cut into steps. It says how the values of a parameter were chosen: see Parameter.Grid.
type Grid struct {
	// From and To are the ends, both included. From is less than To, and above 0 where Log is set.
	From, To float64
	// Steps is the number of steps between them, at least 1. There is one value more than steps, or fewer where whole numbers
	// coincide.
	Steps int
	// Log makes the ratio of neighbouring values equal, and not their difference.
	Log bool
	// Whole rounds the values to whole numbers.
	Whole bool
}

// Float returns a parameter with numbers from … to in equal steps: one number more than steps.
func Float(name string, from, to float64, steps int) Parameter {
	return Grid{From: from, To: to, Steps: steps}.parameter(name)
}

// LogFloat returns a parameter with numbers from … to, each of which is the one before times the same factor: one number more
// than steps.
func LogFloat(name string, from, to float64, steps int) Parameter {
	return Grid{From: from, To: to, Steps: steps, Log: true}.parameter(name)
}

// LogRange returns a parameter with integers from … to, each of which is about the one before times the same factor.
func LogRange(name string, from, to, steps int) Parameter {
	return Grid{From: float64(from), To: float64(to), Steps: steps, Log: true, Whole: true}.parameter(name)
}

// parameter returns the parameter with the values of a grid. New reports a grid that is wrong.
func (g Grid) parameter(name string) Parameter {
	p := Parameter{Name: name, Type: TypeEnum, Grid: &g}
	if g.Validate() == nil {
		p.Values = g.values()
	}
	return p
}

// Validate reports a grid that has no values.
func (g Grid) Validate() error {
	switch {
	case !Finite(g.From) || !Finite(g.To) || !Finite(g.To-g.From):
		return errors.New("from and to have to be finite numbers, and their difference too")
	case g.Steps < 1:
		return fmt.Errorf("steps is %d: want at least 1", g.Steps)
	case g.Steps >= maxValues:
		return fmt.Errorf("steps is %d: want less than %d", g.Steps, maxValues)
	case g.From >= g.To:
		return fmt.Errorf("from %s is not less than to %s", plainNumber(g.From), plainNumber(g.To))
	case g.Log && g.From <= 0:
		return fmt.Errorf("from %s is not above 0, which scale: log needs: write a larger one", plainNumber(g.From))
	case g.Whole && (!wholeNumber(g.From) || !wholeNumber(g.To)):
		return errors.New("from and to have to be whole numbers of at most 2^53")
	}
	return nil
}

func wholeNumber(v float64) bool { return v == math.Trunc(v) && math.Abs(v) <= 1<<53 }

// nearly is the share of a step by which a value may be moved to one with fewer digits.
const nearly = 1.0 / 1536

// values returns the numbers of the grid, ascending. Each but the ends is rounded to the fewest digits that move it by less than
// the share nearly of a step, so that people can read the numbers; they do not depend on the last bits of the arithmetic.
func (g Grid) values() []Value {
	var out []Value
	n := float64(g.Steps)
	step := (g.To - g.From) / n
	ratio := math.Pow(g.To/g.From, 1/n)
	for i := range g.Steps + 1 {
		x, by := g.From+(g.To-g.From)*float64(i)/n, step
		if g.Log {
			x = math.Exp(math.Log(g.From) + (math.Log(g.To)-math.Log(g.From))*float64(i)/n)
			by = min(x*(ratio-1), x/2/nearly) // so that no value becomes 0
		}
		switch i {
		case 0:
			x = g.From
		case g.Steps:
			x = g.To
		default:
			x = short(x, nearly*by)
		}
		v := FloatValue(x)
		if g.Whole {
			v = IntValue(int64(math.Round(x)))
		}
		if len(out) == 0 || out[len(out)-1] != v {
			out = append(out, v)
		}
	}
	return out
}

// short returns the number of the fewest digits that is less than by from x.
func short(x, by float64) float64 {
	if math.Abs(x) < by {
		return 0
	}
	for digits := 1; digits < 17; digits++ {
		v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
		if err == nil && math.Abs(v-x) < by {
			return v
		}
	}
	return x
}

// plainNumber writes a number in the fewest digits.
func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// typeName is the type in YAML of a parameter with the values of the grid.
func (g Grid) typeName() string {
	if g.Whole {
		return typeNames[TypeInt]
	}
	return floatType
}

// String describes the grid in words, such as "0.1..10 in 20 log steps".
func (g Grid) String() string {
	scale, steps := "", "steps"
	if g.Log {
		scale = "log "
	}
	if g.Steps == 1 {
		steps = "step"
	}
	return fmt.Sprintf("%s..%s in %d %s%s", plainNumber(g.From), plainNumber(g.To), g.Steps, scale, steps)
}

// nearest returns the value of the grid that is nearest to a number, the first of equally near ones.
func (g Grid) nearest(x float64) Value {
	values := g.values()
	best, least := values[0], math.Inf(1)
	for _, v := range values {
		at, _ := v.Number()
		if d := math.Abs(at - x); d < least {
			best, least = v, d
		}
	}
	return best
}
