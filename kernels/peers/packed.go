package peers

import (
	"context"
	"encoding/binary"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// Family is a Spec whose inputs a peer may lay out ahead.
type Family interface {
	native.Spec
	native.Sizer
	native.Varier
}

// Packer lays out an argument as a library wants it, for a call with some dimensions. An argument that the library has no such form for
// is a *kernels.Rejection with status Invalid.
type Packer func(ctx context.Context, dims []int64, content []byte) ([]byte, error)

// Packed makes a candidate of a library's code whose argument number arg is laid out by pack, ahead of the calls, as programs do with
// weights when they load them. The inputs are those of a point, whatever they are, in checks and in timed calls alike, so that the
// candidate has nothing to keep between calls. Timed calls are on the contents that have references.
func Packed(host *native.Host, family Family, point space.Point, arg int, pack Packer, call native.Source) (kernels.Candidate, error) {
	wrap, err := WrapAs(host, &packed{family, arg, pack}, point)
	if err != nil {
		return nil, err
	}
	return wrap(call), nil
}

// packed is a family with an argument that is laid out.
type packed struct {
	Family
	arg  int
	pack Packer
}

// Cases returns those of the family.
func (p *packed) Cases(ctx context.Context, point space.Point, seed uint64) ([]native.Case, error) {
	cases, err := p.Family.Cases(ctx, point, seed)
	for i := 0; i < len(cases) && err == nil; i++ {
		cases[i], err = p.lay(ctx, cases[i])
	}
	return cases, err
}

// Variant returns that of the family.
func (p *packed) Variant(ctx context.Context, point space.Point, seed uint64) (native.Case, error) {
	one, err := p.Family.Variant(ctx, point, seed)
	if err != nil {
		return one, err
	}
	return p.lay(ctx, one)
}

// lay lays out the argument of a case. Its reference is given the argument as it was.
func (p *packed) lay(ctx context.Context, one native.Case) (native.Case, error) {
	given := one.Inputs[p.arg]
	content, err := p.pack(ctx, one.Dims, given)
	if err != nil {
		return native.Case{}, err
	}
	as := func(b [][]byte, content []byte) [][]byte {
		b = slices.Clone(b)
		b[p.arg] = content
		return b
	}
	one.Inputs = as(one.Inputs, content)
	one.Buffers = slices.Clone(one.Buffers)
	one.Buffers[p.arg] = native.Buffer{Name: one.Buffers[p.arg].Name, Elem: native.U8, Len: len(content), Mode: native.In}
	verify := one.Verify
	one.Verify = func(buffers [][]byte) (kernels.Deviation, error) { return verify(as(buffers, given)) }
	return one, nil
}

// Turned returns a Packer of the values of a naive Attention, of so many bytes an element. byHead says how they come, and sizes how many
// heads, tokens and elements of a head they have, by the dimensions of a call.
func Turned(bytes int, byHead bool, sizes func(dims []int64) (heads, tokens, width int64)) Packer {
	return func(_ context.Context, dims []int64, content []byte) ([]byte, error) {
		heads, tokens, width := sizes(dims)
		out := make([]byte, len(content))
		for head := range heads {
			for token := range tokens {
				from := (token*heads + head) * width
				if byHead {
					from = (head*tokens + token) * width
				}
				for i := range width {
					to := int((head*width+i)*tokens+token) * bytes
					copy(out[to:to+bytes], content[int(from+i)*bytes:])
				}
			}
		}
		return out, nil
	}
}

// packRoom is what is laid out may be larger by, beside twice its size, before the program is called again.
const packRoom = 1 << 20

// packBy returns a Packer that calls a program. The arguments of the program are the content, room for what is laid out, and an integer
// for how many bytes that has, 0 where there is no such form; the size of the room follows the dimensions. refusal says that there is none.
func packBy(host *native.Host, program native.Source, refusal string) Packer {
	return func(ctx context.Context, dims []int64, content []byte) ([]byte, error) {
		room := 2*len(content) + packRoom
		for {
			out, err := host.Call(ctx, program, native.Case{
				Dims: append(slices.Clone(dims), int64(room)),
				Buffers: []native.Buffer{
					{Name: "given", Elem: native.U8, Len: len(content), Mode: native.In},
					{Name: "laid", Elem: native.U8, Len: room, Mode: native.Out},
					{Name: "size", Elem: native.I64, Len: 1, Mode: native.Out},
				},
				Inputs: [][]byte{content, nil, nil},
			})
			if err != nil {
				return nil, err
			}
			switch size := int(binary.NativeEndian.Uint64(out[2])); {
			case size <= 0:
				return nil, kernels.Reject(space.Invalid, "%s", refusal)
			case size <= room:
				return out[1][:size], nil
			default:
				room = size
			}
		}
	}
}

// Packer returns what lays out the weights of a graph in a way of ggml.
func (g GGML) Packer(host *native.Host, graph Graph, way Way) Packer {
	return packBy(host, g.packer(graph, way), "ggml has no "+string(way)+" for these weights on this processor")
}
