package insight

// believable computes the shares of a list of points, which may be a sample of a grid. Its parameters vary together by chance, and each pair has few points
// for each of its combinations. So what chance alone would give is taken away, and a share that chance might give is 0. A pair counts for what is
// left when the parameters alone are removed: otherwise it would have a part of each parameter that varies with it. Values next to each other share a
// group where the points are few for so many.
func believable(columns []column, y []float64) Shares {
	out := Shares{Points: len(y)}
	s, total := centred(y, false)
	if !(total > 0) {
		return out
	}
	whole := columns
	columns = nil
	for _, c := range whole {
		columns = append(columns, c.coarse(max(len(y)/leastInGroup, 2)))
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

// coarse puts neighbouring groups together so that there are no more than so many.
func (c column) coarse(most int) column {
	if c.bins <= most {
		return c
	}
	out := column{name: c.name, at: make([]int32, len(c.at)), bins: most}
	for i, group := range c.at {
		if out.at[i] = -1; group >= 0 {
			out.at[i] = int32(int(group) * most / c.bins)
		}
	}
	return out
}

const (
	// mostTested is how many points a list has at most where each share is tested. With more of them, what analyse takes away for chance is near enough,
	// and the tests would take as long as the rest of a report.
	mostTested = 1 << 14
	// leastInGroup is how many points a group has on average at least. Groups of a point each explain everything, by chance too.
	leastInGroup = 4
	// unlikely is how often a list of costs that depend on nothing may have a parameter with a share, and how often a pair.
	unlikely = 0.05
	// removals is how often the parameters are removed one after the other. To remove one may bring back some of another that varies with it.
	removals = 8
)
