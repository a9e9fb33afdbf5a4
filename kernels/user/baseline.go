package user

import (
	"context"
	"slices"

	"tune/kernels"
	"tune/space"
)

// mostBaselines limits how many points may be the baseline.
const mostBaselines = 32

// baselines returns the points that may be the baseline, in the order in which they are tried: the default, then those that
// differ from it in one enum or boolean for which the file states no default, then in two, and so on. The default may be wrong,
// for instance where the first value of a parameter is a flag that loosens floating point; that should not prevent a run.
func (p *SourceProblem) baselines() []space.Point {
	s := p.spec.space
	out := []space.Point{s.Default()}
	changed := []int{-1} // the last parameter in which each of them differs from the default
	for at := 0; at < len(out); at++ {
		ords := out[at].Ordinals()
		for i, parameter := range s.Parameters() {
			if i <= changed[at] || parameter.Default != nil || parameter.Grid != nil || ords[i] < 0 || parameter.Type != space.TypeEnum && parameter.Type != space.TypeBool {
				continue
			}
			for o := range parameter.Len() {
				if len(out) == mostBaselines {
					return out
				}
				other := slices.Clone(ords)
				other[i] = o
				if point, ok := s.Complete(other); ok && o != ords[i] {
					out, changed = append(out, point), append(changed, i)
				}
			}
		}
	}
	return out
}

// Settle makes the first of these points that is right on the inputs of a seed the first preset. The default stays where it fails
// in another way than by a wrong answer, and where none is right.
func (p *SourceProblem) Settle(ctx context.Context, seed uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	point, err := kernels.FirstRight(ctx, p, p.baselines(), seed)
	if err == nil && !point.IsZero() {
		p.baseline = point
	}
	return err
}

// Presets returns the baseline, and the start points of the file.
func (p *SourceProblem) Presets() []kernels.Preset {
	presets := p.Problem.Presets()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.baseline.IsZero() {
		presets[0].Point = p.baseline
	}
	return presets
}
