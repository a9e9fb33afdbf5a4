package earlier

import "tune/space"

// adapt returns the point of a space that is like some values, of which there is at most one for each parameter. A value
// that the space lacks becomes the nearest number of the domain; one without any likeness, or none, the default. It is false
// where the result breaks a constraint, or no parameter has a value.
func adapt(s *space.Space, value func(space.Parameter) (space.Value, bool)) (space.Point, bool) {
	params := s.Parameters()
	ordinals, shared := make([]int, len(params)), false
	for i, parameter := range params {
		ordinals[i] = -1
		v, ok := value(parameter)
		if !ok {
			continue
		}
		if o, ok := nearest(parameter, v); ok {
			ordinals[i], shared = o, true
		}
	}
	if !shared {
		return space.Point{}, false
	}
	return s.Complete(ordinals)
}

// widestScan is the largest domain that nearest goes through value by value.
const widestScan = 1 << 16

// nearest returns the ordinal of v in the domain of p, or that of the nearest number, the first of equally near ones.
func nearest(p space.Parameter, v space.Value) (int, bool) {
	if o, ok := p.Ordinal(v); ok {
		return o, true
	}
	want, ok := v.Number()
	if !ok {
		return 0, false
	}
	if p.Type == space.TypeInt && p.Len() > widestScan {
		from := float64(p.From)
		return int(min(max((want-from)/float64(p.Step)+0.5, 0), float64(p.Len()-1))), true
	}
	best, least := -1, 0.0
	for i := range p.Len() {
		x, ok := p.At(i).Number()
		if !ok {
			return 0, false
		}
		if d := max(x-want, want-x); best < 0 || d < least {
			best, least = i, d
		}
	}
	return best, best >= 0
}
