package insight

// believable computes the shares of a list of points, which may be a sample of a grid. Its parameters vary together by chance, and each pair has few points
// for each of its combinations. So what chance alone would give is taken away, and a share that chance might give is 0. A pair counts for what is
// left when the parameters alone are removed: otherwise it would have a part of each parameter that varies with it.
func believable(columns []column, y []float64) Shares {
	out := Shares{Points: len(y)}
	s, total := centred(y, false)
	if !(total > 0) {
		return out
	}
	r := s.ranked()
	var standing []column
	for _, c := range columns {
		one := Share{Parameters: []string{c.name}}
		if r.stands(c, len(columns), unlikely) {
			one.Share = min(s.alone(c)/total, 1)
			standing = append(standing, c)
		}
		out.Single = append(out.Single, one)
	}
	for range removals {
		for _, c := range standing {
			s.remove(c)
		}
	}
	r = s.ranked()
	for k, a := range columns {
		for _, b := range columns[:k] {
			one := Share{Parameters: []string{b.name, a.name}}
			if share := min(s.together(b, a)/total, 1); share > 0 && r.standTogether(b, a, len(columns)*(len(columns)-1)/2, unlikely) {
				one.Share = share
			}
			out.Pairs = append(out.Pairs, one)
		}
	}
	out.finish()
	return out
}

const (
	// unlikely is how often a list of costs that depend on nothing may have a parameter with a share, and how often a pair.
	unlikely = 0.05
	// removals is how often the parameters are removed one after the other. To remove one may bring back some of another that varies with it.
	removals = 8
)
