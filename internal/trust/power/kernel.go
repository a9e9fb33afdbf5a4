package power

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// The kernel computes y[i] = 3x[i]² + x[i] so often that a call takes about half a millisecond.
const (
	elements = 256
	repeats  = 1000 // of one element by the baseline: an extra per mille is one more
)

// names are those that one program goes by. They stand in a comment, so that each is compiled by itself to the same code.
var names = []string{"baseline", "a", "b", "c", "d", "e"}

// spec is a kernel whose points do as much more work than the baseline as they say.
type spec struct{ space *space.Space }

func newSpec() (*spec, error) {
	s, err := space.New("power", []space.Parameter{
		space.Enum("name", names...),
		space.Range("extra", -500, 500).Describe("work beyond the baseline's, in per mille").WithDefault(0),
	})
	if err != nil {
		return nil, err
	}
	return &spec{s}, nil
}

func (s *spec) point(name string, extra int) (space.Point, error) {
	return s.space.Parse(fmt.Sprintf("name=%s extra=%d", name, extra))
}

// Space returns the points.
func (s *spec) Space() *space.Space { return s.space }

// Presets returns the baseline.
func (s *spec) Presets() []kernels.Preset {
	p, err := s.point(names[0], 0)
	if err != nil {
		return nil
	}
	return []kernels.Preset{{Name: "baseline", Doc: "no extra work", Point: p}}
}

// Generate writes the code of a point.
func (s *spec) Generate(p space.Point) (native.Source, error) {
	// The number of repeats is volatile, so that it is data: the instructions of all points, and where they stand, are
	// the same.
	return native.Source{Lang: "c", Flags: []string{"-O2"}, Text: fmt.Sprintf(`/* %s */
#include <stdint.h>
static const volatile int64_t repeats = %d;

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *x = args[0];
	float *y = args[1];
	int64_t times = repeats;
	for (int64_t i = 0; i < dims[0]; i++) {
		float v = 0;
		for (int64_t r = 0; r < times; r++) {
			float z = x[i];
			__asm__ volatile("" : "+x"(z), "+x"(v));
			v = z * z * 3 + z;
		}
		y[i] = v;
	}
}
`, p.Str("name"), repeats+p.Int("extra"))}, nil
}

// Work says nothing of one call, so that there is no roof.
func (s *spec) Work() native.Work { return native.Work{} }

// CaseClass is the same for all points.
func (s *spec) CaseClass(space.Point) string { return "" }

// Cases draws inputs.
func (s *spec) Cases(_ context.Context, _ space.Point, seed uint64) ([]native.Case, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	x, want := make([]byte, 4*elements), make([]float32, elements)
	for i := range want {
		v := 2*r.Float32() - 1
		binary.NativeEndian.PutUint32(x[4*i:], math.Float32bits(v))
		want[i] = v*v*3 + v
	}
	return []native.Case{{
		Name: "asked", Dims: []int64{elements},
		Buffers: []native.Buffer{{Name: "x", Elem: native.F32, Len: elements, Mode: native.In}, {Name: "y", Elem: native.F32, Len: elements, Mode: native.Out}},
		Inputs:  [][]byte{x, nil},
		Verify: func(buffers [][]byte) (d kernels.Deviation, err error) {
			for i := range want {
				got := math.Float32frombits(binary.NativeEndian.Uint32(buffers[1][4*i:]))
				off := math.Abs(float64(got - want[i]))
				if !(off <= 1e-5) {
					return d, kernels.Reject(space.WrongAnswer, "y[%d] is %v, want %v", i, got, want[i])
				}
				d.Add(off, 1e-5)
			}
			return d, nil
		},
	}}, nil
}
