package library

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"tune/kernels/library/choice"
	"tune/space"
)

// checkPredictor returns an error where a predictor chooses what is not there, or needs what C cannot compute.
func (f Function) checkPredictor(p *choice.Predictor) error {
	for _, v := range p.Variants() {
		if v < 0 || v >= len(f.Variants) {
			return fmt.Errorf("the predicted costs are of variant %d of %d", v, len(f.Variants))
		}
	}
	for _, k := range p.Known {
		if len(k.Fields) != len(f.shape()) || !slices.Contains(p.Variants(), k.Variant) {
			return fmt.Errorf("the known shape %v takes variant %d: want %d dimensions, and a variant of which a cost is predicted", k.Fields, k.Variant, len(f.shape()))
		}
	}
	for _, one := range p.Predictions {
		for _, term := range one.Terms {
			if _, err := amountInC(term.Amount, f.shape()); err != nil {
				return fmt.Errorf("the predicted cost of variant %d: %w", one.Variant, err)
			}
		}
	}
	return nil
}

// amountInC writes an amount as a product of doubles, in the order in which choice multiplies.
func amountInC(a choice.Amount, shape []string) (string, error) {
	variables := map[string]space.CName{}
	for _, name := range shape {
		variables[name] = space.CName{Text: name, Positive: true}
	}
	var factors []string
	for _, f := range a {
		text, err := f.C(variables, nil)
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(text, "(") {
			text = "(" + text + ")"
		}
		factors = append(factors, "(double)"+text)
	}
	return strings.Join(factors, " * "), nil
}

// writeCost writes statements that add up a predicted cost. Terms that follow each other under the same condition stand in one branch.
func (t *functionText) writeCost(line func(format string, args ...any), sum string, one choice.Prediction) {
	under := "" // the condition of the branch that is open
	end := func() {
		if under != "" {
			line("}")
		}
		under = ""
	}
	line("%s = 0.0;", sum)
	for _, term := range one.Terms {
		amount := term.Amount
		when := ""
		if len(amount) > 0 && amount[0].IsTruth() {
			when, amount = t.inC(amount[:1]), amount[1:]
		}
		if when != under {
			if end(); when != "" {
				line("if %s {", strings.TrimPrefix(when, "(double)"))
			}
			under = when
		}
		indent := ""
		if under != "" {
			indent = "\t"
		}
		product := strconv.FormatFloat(term.Weight, 'g', -1, 64)
		if len(amount) > 0 {
			product += " * (" + t.inC(amount) + ")"
		}
		line("%s%s += %s;", indent, sum, product)
	}
	end()
}

// inC writes an amount that checkPredictor has written already.
func (t *functionText) inC(a choice.Amount) string {
	text, err := amountInC(a, t.shape)
	if err != nil {
		panic(err)
	}
	return text
}

// writePredictor writes the choice by known shapes and by predicted costs.
func (t *functionText) writePredictor(b *strings.Builder, p *choice.Predictor, indent string) {
	line := func(format string, args ...any) { fmt.Fprintf(b, indent+format+"\n", args...) }
	var empty []string
	for _, name := range t.shape {
		empty = append(empty, name+" < 1")
	}
	line("if (%s) /* which no call comes here with, so that divisions are simple */", strings.Join(empty, " || "))
	line("\t__builtin_unreachable();")
	for n, k := range p.Known {
		if n == 0 {
			line("/* Shapes at which measurements say more than the sums below. */")
		}
		var words []string
		for i, name := range t.shape {
			words = append(words, fmt.Sprintf("%s == %d", name, k.Fields[i]))
		}
		line("if (%s)", strings.Join(words, " && "))
		line("\treturn %d;", k.Variant)
	}
	line("/* The predicted cost of each variant, in seconds. */")
	line("int tune_best = %d;", p.Predictions[0].Variant)
	line("double tune_cost, tune_least;")
	t.writeCost(line, "tune_least", p.Predictions[0])
	for _, one := range p.Predictions[1:] {
		t.writeCost(line, "tune_cost", one)
		line("if (tune_cost < tune_least) {")
		line("\ttune_least = tune_cost;")
		line("\ttune_best = %d;", one.Variant)
		line("}")
	}
	line("return tune_best;")
}

// Predicts reports whether costs are predicted, which takes so long that choices are kept.
func (t *functionText) Predicts() (predicts bool) {
	t.tree.Walk(func(n *choice.Node, _ int) { predicts = predicts || n.Predictor != nil })
	return predicts
}

// VariantBits is how many bits the number of a variant has, where choices are kept, and FieldBits how many each dimension has.
func (t *functionText) VariantBits() int { return max(bits.Len(uint(len(t.Kernels)-1)), 1) }

// FieldBits is how many bits of a word each dimension has beside the variant.
func (t *functionText) FieldBits() int { return (64 - t.VariantBits()) / len(t.shape) }

// Wide is the condition that a dimension has more bits.
func (t *functionText) Wide() string {
	return fmt.Sprintf("(%s) >> %d", strings.Join(t.shape, " | "), t.FieldBits())
}

// Word packs the dimensions into a word.
func (t *functionText) Word() string {
	word := "(uint64_t)" + t.shape[0]
	for _, name := range t.shape[1:] {
		word = fmt.Sprintf("(%s << %d | (uint64_t)%s)", word, t.FieldBits(), name)
	}
	return word
}
