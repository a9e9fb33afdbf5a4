package rowwise

import (
	"fmt"
	"testing"

	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

// TestLinkage: the code of a point is right at shapes that it was not generated for, its flags name what it needs, and the plain form
// runs everywhere.
func TestLinkage(t *testing.T) {
	for _, op := range operations {
		shapes := []string{"rows=7,cols=100", "rows=1,cols=33", "rows=40,cols=9000"}
		if op.q8 || op.rope {
			shapes = []string{"rows=8,cols=64,heads=4"}
			if op.q8 {
				shapes = []string{"rows=8,cols=64"}
			}
		}
		t.Run(op.name, func(t *testing.T) {
			k := here(t, "op="+op.name+","+shapes[0])
			l := k.Linkage()
			if op.q8 || op.rope {
				if l.About != "" {
					t.Errorf("it has a linkage, and not all shapes: %+v", l)
				}
				return
			}
			if len(native.NeedsOf(l.Plain.Flags)) > 0 || len(l.Buffers) != len(l.Extents) || len(l.Buffers) != len(l.Contents) {
				t.Errorf("%+v", l)
			}
			for _, shape := range shapes {
				other := here(t, "op="+op.name+","+shape)
				problem := nativetest.Problem(t, other.Linked())
				if err := problem.Wrap(l.Plain, other.loop).Check(t.Context(), 3); err != nil {
					t.Errorf("plain at %s: %v", shape, err)
				}
				for i, preset := range k.Presets() {
					source, err := k.Linked().Generate(preset.Point)
					if err != nil {
						t.Fatal(err)
					}
					if fmt.Sprint(source.Flags) == fmt.Sprint(l.Plain.Flags) && i == 0 {
						t.Errorf("the baseline has the flags of the plain form: %v", source.Flags)
					}
					for _, f := range source.Flags {
						if f == "-march=native" {
							t.Errorf("%s: the flags %v name no features", preset.Name, source.Flags)
						}
					}
					if err := problem.Adopt(source, other.Presets()[0].Point).Check(t.Context(), 3); err != nil {
						t.Errorf("%s at %s: %v", preset.Name, shape, err)
					}
				}
			}
		})
	}
}
