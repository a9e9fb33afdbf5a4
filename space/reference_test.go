package space

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// The reference evaluates syntax trees with big integers and lists products of domains in full. It
// shares the parser with the package, and nothing else.

// undefined is the value of a part that divides by zero or overflows, unknown that of one which needs
// an inactive parameter.
type (
	undefined struct{}
	unknown   struct{}
)

// reference returns a bool, *big.Int, float64, string, undefined or unknown.
func reference(n *node, params []Parameter, ords []int) any {
	eval := func(i int) any { return reference(n.kids[i], params, ords) }
	switch n.op {
	case opInt:
		return big.NewInt(n.num)
	case opFloat:
		return n.flt
	case opString:
		return n.text
	case opBool:
		return n.num != 0
	case opName:
		i := slices.IndexFunc(params, func(p Parameter) bool { return p.Name == n.text })
		if ords[i] < 0 {
			return unknown{}
		}
		if v, ok := params[i].At(ords[i]).Any().(int64); ok {
			return big.NewInt(v)
		}
		return params[i].At(ords[i]).Any()
	case opNot:
		v := eval(0)
		if v, ok := v.(bool); ok {
			return !v
		}
		return v
	case opAnd, opOr:
		var result any = n.op == opAnd
		for i := range n.kids {
			switch v := eval(i).(type) {
			case undefined:
				return v
			case unknown:
				result = v
			case bool:
				if v == (n.op == opOr) {
					return v
				}
			}
		}
		return result
	case opChain:
		var result any = true
		left := eval(0)
		for i, cmp := range n.cmp {
			right := eval(i + 1)
			v := referenceCompare(left, right, cmp)
			left = right
			switch v := v.(type) {
			case undefined:
				return v
			case unknown:
				result = v
			case bool:
				if !v {
					return false
				}
			}
		}
		return result
	case opIn, opNotIn:
		var result any = n.op == opNotIn
		left := eval(0)
		for i := range n.kids[1:] {
			switch v := referenceCompare(left, eval(i+1), "==").(type) {
			case undefined:
				return v
			case unknown:
				result = v
			case bool:
				if v {
					return n.op == opIn
				}
			}
		}
		return result
	case opChoose:
		switch c := eval(0); c {
		case true:
			return n.typed(eval(1))
		case false:
			return n.typed(eval(2))
		default:
			return c
		}
	}
	kids := make([]any, len(n.kids))
	for i := range kids {
		kids[i] = n.typed(eval(i))
		switch kids[i].(type) {
		case undefined, unknown:
			return kids[i]
		}
	}
	if n.typ == typeInt {
		return referenceInt(n.op, kids)
	}
	return referenceFloat(n.op, kids)
}

// typed converts an integer to a float where the checker found that n has floats.
func (n *node) typed(v any) any {
	if i, ok := v.(*big.Int); ok && n.typ == typeFloat {
		f, _ := new(big.Float).SetInt(i).Float64()
		return f
	}
	return v
}

func referenceCompare(a, b any, cmp string) any {
	for _, v := range []any{a, b} {
		switch v.(type) {
		case undefined, unknown:
			return v
		}
	}
	order := 0
	switch x := a.(type) {
	case bool:
		if x != b.(bool) {
			order = 1
		}
	case string:
		order = strings.Compare(x, b.(string))
	default:
		order = toFloat(a).Cmp(toFloat(b))
	}
	table := map[string]bool{"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order == 0, "!=": order != 0}
	return table[cmp]
}

func toFloat(v any) *big.Float {
	f := new(big.Float).SetPrec(2000)
	switch v := v.(type) {
	case *big.Int:
		return f.SetInt(v)
	case float64:
		return f.SetFloat64(v)
	}
	panic(fmt.Sprintf("%T is not a number", v))
}

func referenceInt(o op, kids []any) any {
	a, b := kids[0].(*big.Int), kids[len(kids)-1].(*big.Int)
	v := new(big.Int)
	switch o {
	case opNegate:
		v.Neg(a)
	case opAbs:
		v.Abs(a)
	case opMin, opMax:
		v.Set(a)
		for _, kid := range kids {
			if k := kid.(*big.Int); (k.Cmp(v) < 0) == (o == opMin) {
				v.Set(k)
			}
		}
	case opAdd:
		v.Add(a, b)
	case opSub:
		v.Sub(a, b)
	case opMul:
		v.Mul(a, b)
	case opFloorDiv, opMod:
		if b.Sign() == 0 {
			return undefined{}
		}
		q, r := new(big.Int).QuoRem(a, b, new(big.Int))
		if r.Sign() != 0 && r.Sign() != b.Sign() {
			q.Sub(q, big.NewInt(1))
			r.Add(r, b)
		}
		v = q
		if o == opMod {
			v = r
		}
	case opPow:
		switch small := a.IsInt64() && a.Int64() >= -1 && a.Int64() <= 1; {
		case b.Sign() < 0:
			return undefined{}
		case small:
			v.Exp(a, new(big.Int).Add(big.NewInt(2), new(big.Int).Mod(b, big.NewInt(2))), nil)
			if b.Sign() == 0 {
				v.SetInt64(1)
			}
		case b.Cmp(big.NewInt(64)) > 0:
			return undefined{}
		default:
			v.Exp(a, b, nil)
		}
	}
	if !v.IsInt64() {
		return undefined{}
	}
	return v
}

func referenceFloat(o op, kids []any) any {
	a, b := kids[0].(float64), kids[len(kids)-1].(float64)
	v := a
	switch o {
	case opNegate:
		v = -a
	case opAbs:
		v = math.Abs(a)
	case opMin, opMax:
		for _, kid := range kids {
			if k := kid.(float64); (k < v) == (o == opMin) {
				v = k
			}
		}
	case opAdd:
		v = a + b
	case opSub:
		v = a - b
	case opMul:
		v = a * b
	case opPow:
		v = math.Pow(a, b)
	default:
		if b == 0 {
			return undefined{}
		}
		switch o {
		case opDiv:
			v = a / b
		case opFloorDiv:
			// The exact quotient rounded down, which can be 0 with either sign.
			q := new(big.Rat).Quo(new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b))
			n, r := new(big.Int).QuoRem(q.Num(), q.Denom(), new(big.Int))
			if r.Sign() < 0 {
				n.Sub(n, big.NewInt(1))
			}
			v, _ = new(big.Float).SetInt(n).Float64()
		case opMod:
			if v = math.Mod(a, b); v != 0 && (v < 0) != (b < 0) {
				v += b
			}
		}
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return undefined{}
	}
	return v
}

// bruteForce lists the points of a definition in canonical order: all ordinals and -1 for each
// parameter, filtered.
func bruteForce(params []Parameter, constraints []string) [][]int {
	parse := func(text string) *node {
		c := &checker{src: text, scope: scopeOf(params), visible: len(params), reads: map[int]bool{}}
		n, err := parseExpr(text)
		if err == nil {
			err = c.check(n)
		}
		if err != nil {
			panic(err)
		}
		return n
	}
	var tests []*node
	for _, text := range constraints {
		tests = append(tests, parse(text))
	}
	conditions := make([]*node, len(params))
	for i, p := range params {
		if p.When != "" {
			conditions[i] = parse(p.When)
		}
	}
	var points [][]int
	ords := make([]int, len(params))
	var fill func(i int)
	fill = func(i int) {
		if i < len(params) {
			for ords[i] = -1; ords[i] < params[i].Len(); ords[i]++ {
				fill(i + 1)
			}
			return
		}
		for j, condition := range conditions {
			active := condition == nil || reference(condition, params, ords) == true
			if active != (ords[j] >= 0) {
				return
			}
		}
		for _, test := range tests {
			switch reference(test, params, ords) {
			case false, undefined{}:
				return
			}
		}
		points = append(points, slices.Clone(ords))
	}
	fill(0)
	return points
}

func scopeOf(params []Parameter) *scope {
	s := &scope{params: params, index: map[string]int{}}
	for i, p := range params {
		s.index[p.Name] = i
	}
	return s
}

// drawParameters makes up to five small parameters, some with conditions.
func drawParameters(t *rapid.T) []Parameter {
	count := rapid.IntRange(1, 5).Draw(t, "parameters")
	var params []Parameter
	for i := range count {
		name := string(rune('a' + i))
		var p Parameter
		switch rapid.IntRange(0, 5).Draw(t, "type") {
		case 0:
			from := rapid.IntRange(-4, 4).Draw(t, "from")
			p = Stepped(name, from, from+rapid.IntRange(0, 8).Draw(t, "width"), rapid.IntRange(1, 3).Draw(t, "step"))
		case 1:
			from := rapid.IntRange(0, 3).Draw(t, "from")
			p = Pow2(name, 1<<from, 1<<(from+rapid.IntRange(0, 3).Draw(t, "width")))
		case 2:
			p = Enum(name, []string{"red", "green", "blue sky", `"`}[:rapid.IntRange(1, 4).Draw(t, "values")]...)
		case 3:
			p = Floats(name, []float64{0.5, 2, -1.25}[:rapid.IntRange(1, 3).Draw(t, "values")]...)
		case 4:
			p = Ints(name, []int{7, -2, 12}[:rapid.IntRange(1, 3).Draw(t, "values")]...)
		case 5:
			p = Bool(name)
		}
		if rapid.Bool().Draw(t, "has default") {
			p = p.WithDefault(p.At(rapid.IntRange(0, p.Len()-1).Draw(t, "default")))
		}
		if i > 0 && rapid.IntRange(0, 2).Draw(t, "conditional") == 0 {
			p.When = drawTruth(t, params, 2)
		}
		params = append(params, p)
	}
	return params
}

// drawTruth makes an expression that is true or false.
func drawTruth(t *rapid.T, params []Parameter, depth int) string {
	if depth > 0 {
		switch rapid.IntRange(0, 5).Draw(t, "junction") {
		case 0:
			return fmt.Sprintf("(%s and %s)", drawTruth(t, params, depth-1), drawTruth(t, params, depth-1))
		case 1:
			return fmt.Sprintf("%s || %s", drawTruth(t, params, depth-1), drawTruth(t, params, depth-1))
		case 2:
			return fmt.Sprintf("!(%s)", drawTruth(t, params, depth-1))
		}
	}
	p := rapid.SampledFrom(params).Draw(t, "parameter")
	switch p.kind() {
	case kindBool:
		return p.Name
	case kindString:
		value := fmt.Sprintf("%q", rapid.SampledFrom(p.Values).Draw(t, "value").text)
		return rapid.SampledFrom([]string{p.Name + " == " + value, value + " != " + p.Name, p.Name + " in (" + value + ",)"}).Draw(t, "test")
	}
	cmp := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="})
	left := drawNumber(t, params, 2)
	if rapid.IntRange(0, 3).Draw(t, "form") == 0 {
		return fmt.Sprintf("%s not in [%s, %s]", left, drawNumber(t, params, 1), drawNumber(t, params, 0))
	}
	text := fmt.Sprintf("%s %s %s", left, cmp.Draw(t, "comparison"), drawNumber(t, params, 1))
	if rapid.IntRange(0, 3).Draw(t, "chain") == 0 {
		text += fmt.Sprintf(" %s %s", cmp.Draw(t, "comparison"), drawNumber(t, params, 0))
	}
	return text
}

// drawNumber makes a numeric expression.
func drawNumber(t *rapid.T, params []Parameter, depth int) string {
	if depth > 0 && rapid.Bool().Draw(t, "operator") {
		form := rapid.SampledFrom([]string{
			"(%s + %s)", "(%s - %s)", "%s * %s", "(%s // %s)", "(%s %% %s)", "(%s / %s)", "min(%s, %s)", "max(%s, %s)",
			"abs(-%s - %s)", "(%s) ** %s", "(%s if true else %s)",
		}).Draw(t, "form")
		return fmt.Sprintf(form, drawNumber(t, params, depth-1), drawNumber(t, params, depth-1))
	}
	p := rapid.SampledFrom(params).Draw(t, "parameter")
	if p.kind() == kindInt || p.kind() == kindFloat {
		return p.Name
	}
	return rapid.SampledFrom([]string{"1", "3", "0x10", "2.5"}).Draw(t, "number")
}
