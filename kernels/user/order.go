package user

import (
	"context"
	"debug/dwarf"
	"slices"
	"strings"

	"tune/kernels"
)

// Misplaced warns of arguments whose names the functions of the source have too, but at other places: they are most likely in a wrong
// order, which no type tells where several arguments have the same one. It also warns of what the tuned function returns. An error is one of
// ctx or of the machine.
func (p *SourceProblem) Misplaced(ctx context.Context) (Faults, error) {
	s := p.spec
	r := &reader{file: s.path}
	var told []string
	for i, e := range s.always() {
		sig, err := s.signature(ctx, e)
		if kernels.AsRejection(err) != nil {
			continue // what cannot be built, or has no type, is reported elsewhere
		}
		if err != nil {
			return nil, err
		}
		if i == 0 && returns(sig) {
			r.warn(e.node, "function %s (%s) returns %s, which nobody compares: write what it computes to a buffer", e.function, s.s.place(r, e, sig, -1), typeText(sig.result))
		}
		at, here, there := s.s.misplaced(sig)
		if names := strings.Join(slices.Concat(here, there), ","); len(here) > 0 && !slices.Contains(told, names) {
			told = append(told, names)
			r.warn(valueOf(at, "name"), "function %s (%s) has %s in the place of %s: list the arguments in the order of the function, or name them as it does",
				e.function, s.s.place(r, e, sig, -1), strings.Join(there, ", "), strings.Join(here, ", "))
		}
	}
	return r.warnings.sorted(s.path), nil
}

// returns reports whether a function returns something.
func returns(sig signature) bool {
	if sig.result == nil {
		return false
	}
	_, void := plainType(sig.result).(*dwarf.VoidType)
	return !void
}

// misplaced returns the arguments that a function has at other places: the first of them, their names, and the names that the function
// has in their places. An argument that no swap with another could be is none of them.
func (s *source) misplaced(sig signature) (at node, here, there []string) {
	if len(sig.names) != len(s.arguments) {
		return at, nil, nil
	}
	for i, a := range s.arguments {
		j := slices.Index(sig.names, a.name)
		if j < 0 || sig.names[i] == a.name || s.arguments[j].scalar != a.scalar || s.arguments[j].mode != a.mode {
			continue
		}
		if len(here) == 0 {
			at = a.node
		}
		here, there = append(here, a.name), append(there, sig.names[i])
	}
	return at, here, there
}
