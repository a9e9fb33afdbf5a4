package gemm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tune/kernels/native/nativetest"
)

// TestLinked: a program calls the kernel from two threads, with its packed operands on the stack and elsewhere, and with helpers of its own.
func TestLinked(t *testing.T) {
	m := host(t)
	for _, test := range []struct {
		d       Dims
		workers int
	}{{Dims{20, 30, 40}, 1}, {Dims{120, 130, 140}, 1}, {Dims{120, 130, 140}, 2}} {
		s := newTestSpec(t, m, LayoutNN, test.d, 2)
		values := map[string]any{"form": FormTiled, "mr": 2, "nv": 1, "pack_x": true, "pack_y": true, "workers": test.workers}
		p, err := s.Space().Make(values)
		if err != nil {
			t.Fatal(err)
		}
		nativetest.Linked(t, s, p, nativetest.AsLibrary)
	}
}

// TestLinkage: linked code of every form is right where rows are padded, also at exactly the shape that it has a copy of its own for.
func TestLinkage(t *testing.T) {
	m := host(t)
	linkedPoints := 1
	if nativetest.Stress {
		linkedPoints = 2
	}
	for i, test := range []struct {
		layout, form string
		d            Dims
	}{
		{LayoutNN, FormNaive, Dims{20, 30, 40}},
		{LayoutNT, FormBlocked, Dims{20, 30, 40}},
		{LayoutNN, FormTiled, Dims{40, 37, 50}},
		{LayoutNT, FormTiled, Dims{40, 37, 50}},
		{LayoutNN, FormSkinny, Dims{3, 70, 33}}, // sums of rows
		{LayoutNN, FormSkinny, Dims{70, 3, 33}},
		{LayoutNT, FormSkinny, Dims{3, 70, 33}},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			s := newTestSpec(t, m, test.layout, test.d, 2)
			r := rand.New(rand.NewPCG(5, uint64(i)))
			for range linkedPoints {
				if p, ok := sampleForm(t, s, test.form, r); ok {
					nativetest.Right(t, s.Linked(), p, 3, nativetest.Quick)
				}
			}
		})
	}
}

// TestLinkedConformance: linked specs keep the promises of every spec.
func TestLinkedConformance(t *testing.T) {
	nativetest.Run(t, newTestSpec(t, host(t), LayoutNT, Dims{37, 29, 23}, 2).Linked(), nativetest.Options{Points: 1, Quick: true})
}

// TestLinkageFaults: the cases of linked code notice stores between the rows of C, and rows that are taken to be dense.
func TestLinkageFaults(t *testing.T) {
	s := newTestSpec(t, host(t), LayoutNN, Dims{4, 5, 6}, 1)
	problem := nativetest.Problem(t, s.Linked())
	for _, test := range []struct{ name, old, new, want string }{
		{"right", "", "", ""},
		{"beyond the last column", "ldc + j] = 0;", "ldc + j] = c[ldc - 1] = 0;", "beyond the last column"},
		{"dense C", "c[i * ldc + j]", "c[i * n + j]", "C["},
		{"dense A", "a[i * lda + p]", "a[i * k + p]", "C["},
		{"B by the stride of C", "b[p * ldb + j]", "b[p * ldc + j]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			src := s.Linkage().Plain
			text := strings.ReplaceAll(src.Text, test.old, test.new)
			if test.old != "" && text == src.Text {
				t.Fatalf("no %q in %s", test.old, src.Text)
			}
			if test.old != "" {
				src.Text = text
			}
			err := problem.Wrap(src, s.Presets()[0].Point).Check(t.Context(), 1)
			if (err == nil) != (test.name == "right") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the check says %v, want %q", err, test.want)
			}
		})
	}
}

// TestFixedStrides: a copy for the asked dimensions is for dense rows, and the cases notice where it is called with others.
func TestFixedStrides(t *testing.T) {
	for layout, strides := range map[string]string{LayoutNN: " && j.lda == 6 && j.ldb == 5 && j.ldc == 5", LayoutNT: " && j.lda == 6 && j.ldb == 6 && j.ldc == 5"} {
		s := newTestSpec(t, host(t), layout, Dims{4, 5, 6}, 1)
		p, err := s.Space().Make(map[string]any{"form": FormTiled, "mr": 2, "nv": 1, "fixed": true})
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Linked().Generate(p)
		if err != nil || !strings.Contains(src.Text, "j.k == 6"+strides+")") {
			t.Fatalf("%s: no %q: %v\n%s", layout, strides, err, src.Text)
		}
		problem := nativetest.Problem(t, s.Linked())
		if err := problem.Wrap(src, p).Check(t.Context(), 1); err != nil {
			t.Errorf("%s: %v", layout, err)
		}
		src.Text = strings.Replace(src.Text, strides, "", 1)
		if err := problem.Wrap(src, p).Check(t.Context(), 1); err == nil {
			t.Errorf("%s: code that takes padded rows for dense ones passes", layout)
		}
	}
}
