package rowwise

import (
	"fmt"
	"strings"

	"tune/internal/pattern"
	"tune/kernels/native/cgen"
)

// lines returns the steps that a piece has: lines of C whose variables end in @.
func (k knobs) lines(piece string) []string {
	var w cgen.Writer
	w.Piece(pieces, piece, k)
	var out []string
	for _, line := range strings.Split(w.String(), "\n") {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// Single returns the steps of a piece for one vector.
func (k knobs) Single(piece string) string {
	var b strings.Builder
	for _, line := range k.lines(piece) {
		b.WriteString("\t" + strings.ReplaceAll(line, "@", "") + "\n")
	}
	return b.String()
}

// assigned matches a step that computes a variable, rather than declares, copies or negates it.
var assigned = pattern.Lazy(`^(?:vec )?(\w+@) = .*(?: [*+/-] |\()`)

// weave writes the steps of a piece for several vectors, operation by operation. A core looks ahead over so many instructions only:
// where those of one vector depend on each other in a chain, it finds others to do sooner if they stand next to them.
func (g *generator) weave(lines []string, vectors []int) {
	for _, line := range lines {
		code, comment, commented := strings.Cut(line, " //")
		if m := assigned().FindStringSubmatch(code); m != nil {
			code = fmt.Sprintf("%s HOLD(%s);", code, m[1])
		}
		for i, v := range vectors {
			one := code
			if commented && i == 0 {
				one += " //" + comment
			}
			g.Line("%s", strings.ReplaceAll(one, "@", fmt.Sprintf("_%d", v)))
		}
	}
}

// numbers returns the numbers from 0 on, those that leave the rest when divided by step.
func numbers(n, step, rest int) []int {
	var out []int
	for i := rest; i < n; i += step {
		out = append(out, i)
	}
	return out
}

// woven reports whether so many vectors are computed side by side.
func (g *generator) woven(vectors int) bool { return g.interleave && vectors > 1 }

// weaveExponentials writes e_0, e_1 and so on from x_0, x_1 and so on.
func (g *generator) weaveExponentials(vectors int) {
	piece := "exponential steps"
	if g.form == formTable {
		piece = "exponential table steps"
	}
	g.weave(g.lines(piece), numbers(vectors, 1, 0))
}

// weaveActivations writes y_0, y_1 and so on from v_0, v_1 and so on.
func (g *generator) weaveActivations(vectors int) {
	switch {
	case g.form == formTable:
		g.weave(g.lines("table steps"), numbers(vectors, 1, 0))
	case !g.alternate:
		g.weave(g.lines("sigmoid steps"), numbers(vectors, 1, 0))
	default:
		g.weave(g.lines("sigmoid head"), numbers(vectors, 1, 0))
		divided := g.knobs
		divided.Reciprocal = reciprocalDivide
		g.weave(divided.lines("quotient"), numbers(vectors, 2, 1))
		g.weave(g.lines("quotient"), numbers(vectors, 2, 0))
	}
}
