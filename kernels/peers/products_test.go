package peers_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
	"tune/space"
)

// product is a family of products of weights of ggml: the least that peers need of one.
type product struct {
	space   *space.Space
	typ     peers.Type
	m, n, k int
}

func (p product) Space() *space.Space { return p.space }

func (p product) Presets() []kernels.Preset {
	point, _ := p.space.Parse("a=1")
	return []kernels.Preset{{Name: "baseline", Point: point}}
}

func (p product) Generate(space.Point) (native.Source, error) {
	return native.Source{}, kernels.Reject(space.Invalid, "only peers compute this")
}

func (p product) Work() native.Work { return native.Work{} }

func (p product) Sizes() ([]native.Buffer, int64) {
	return []native.Buffer{
		{Name: "a", Elem: native.F32, Len: p.m * p.k, Mode: native.In},
		{Name: "w", Elem: native.U8, Len: p.n * p.k / p.typ.Block * p.typ.Bytes, Mode: native.In},
		{Name: "c", Elem: native.F32, Len: p.m * p.n, Mode: native.Out},
	}, 0
}

func (p product) Variant(_ context.Context, _ space.Point, seed uint64) (native.Case, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	a := floats(rng, p.m*p.k)
	w, values := weights(rng, p.typ, p.n*p.k)
	buffers, _ := p.Sizes()
	return native.Case{
		Name: "product", Dims: []int64{int64(p.m), int64(p.n), int64(p.k)}, Buffers: buffers, Inputs: [][]byte{native.AsBytes(a), w, nil},
		Verify: func(buffers [][]byte) (d kernels.Deviation, err error) {
			worst := worstProduct(native.AsFloats(buffers[2]), a, values, p.m, p.n, p.k)
			if d.Add(worst, 2e-3); !(worst < 2e-3) {
				err = kernels.Reject(space.WrongAnswer, "the error is %.2g", worst)
			}
			return d, err
		},
	}, nil
}

func (p product) VariantClass(space.Point) string { return "" }

func (p product) Cases(ctx context.Context, point space.Point, seed uint64) ([]native.Case, error) {
	odd := p
	odd.m, odd.n = 1, p.n+8
	var out []native.Case
	for _, one := range []product{p, odd} {
		c, err := one.Variant(ctx, point, seed)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Products has the plain form, and those in which ggml keeps weights that it has laid out, which are right in timed calls too, where
// the weights vary at the same addresses. A form that there is not for a type says so.
func TestGGMLProductsOfAFamily(t *testing.T) {
	g := ggml(t)
	one, err := space.New("product", []space.Parameter{space.Ints("a", 1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []peers.Type{peers.Q4_0, peers.Q5_0} {
		family := product{one, typ, 4, 64, 512}
		problem := nativetest.Problem(t, family)
		point := family.Presets()[0].Point
		wrap := func(s native.Source) kernels.Candidate { return problem.Wrap(s, point) }
		list, err := g.Products(nativetest.Host(), family, point, wrap, peers.MulMat(typ), 1)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range list {
			names = append(names, p.Name)
			err := kernels.Verify(t.Context(), p.Candidate, []uint64{1})
			if r := kernels.AsRejection(err); p.Optional && r != nil && r.Status == space.Invalid {
				t.Logf("%s, %s: %s", typ.Name, p.Name, r.Reason)
				continue
			}
			if err == nil {
				_, err = p.Candidate.Score(t.Context(), 0)
			}
			if err != nil {
				t.Errorf("%s, %s: %v", typ.Name, p.Name, err)
			}
			if d := p.Candidate.Abilities().Deviation(); !(d.MaxError > 0) {
				t.Errorf("%s, %s: no errors were measured", typ.Name, p.Name)
			}
		}
		if len(names) != 3 || names[0] != "ggml" || names[1] != "ggml-repack" || names[2] != "ggml-tiles" {
			t.Errorf("got %v", names)
		}
	}
}

// Names choose among offers; what is not there, or cannot compute the problem, is an error if it is named.
func TestSelect(t *testing.T) {
	some := func(names ...string) func() ([]kernels.Peer, error) {
		return func() (list []kernels.Peer, err error) {
			for _, name := range names {
				list = append(list, kernels.Peer{Name: name})
			}
			return list, nil
		}
	}
	offers := []peers.Offer{
		{Name: "blas", Peers: some("blas")},
		{Name: "ggml", Peers: some("ggml", "ggml-repack")},
		{Name: "other", Install: "apt-get install other"},
		{Name: "unfit", Unfit: "adds only", Peers: some("unfit")},
	}
	for _, c := range []struct {
		names []string
		want  string // peers, or the error
	}{
		{nil, "blas ggml ggml-repack other"}, // the last one without a candidate
		{[]string{"ggml"}, "ggml ggml-repack"},
		{[]string{"ggml", "blas"}, "blas ggml ggml-repack"},
		{[]string{"other"}, "peer other is not installed: install it (apt-get install other), or leave it out of --peers"},
		{[]string{"unfit"}, "peer unfit adds only, or leave it out of --peers"},
		{[]string{"ggmll"}, `unknown peer "ggmll": want blas, ggml, other, unfit (did you mean "ggml"?)`},
	} {
		list, err := peers.Select(c.names, offers)
		got := ""
		for i, p := range list {
			if got += p.Name; i < len(list)-1 {
				got += " "
			}
			if (p.Install != "") != (p.Name == "other") {
				t.Errorf("%v: %+v", c.names, p)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: got %q, want %q", c.names, got, c.want)
		}
	}
}
