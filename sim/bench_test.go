package sim

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// fullProgram returns a straight-line program of the given number of bundles that fills most slots, with
// the mix of a well-packed hash kernel. It does not fault on fullMem words of memory.
func fullProgram(bundles int) *Program {
	const (
		vectors, nVectors = 0, 128 * VLen
		scalars, nScalars = 1024, 400
		addrs, nAddrs     = 1424, 64
	)
	rng := rand.New(rand.NewPCG(1, 2))
	p := &Program{}
	for i := range uint32(nAddrs / 2) {
		p.Bundles = append(p.Bundles, Bundle{Slots: []Slot{
			{Op: OpConst, Args: [4]uint32{addrs + 2*i, rng.Uint32N(fullMem - VLen)}},
			{Op: OpConst, Args: [4]uint32{addrs + 2*i + 1, rng.Uint32N(fullMem - VLen)}},
		}})
	}
	alu := []Op{OpXor, OpXor, OpXor, OpXor, OpAdd, OpShr, OpAnd}
	valu := []Op{OpMultiplyAdd, OpMultiplyAdd, OpMultiplyAdd, OpVXor, OpVXor, OpVXor, OpVShr, OpVShl, OpVAdd, OpVAnd}
	for len(p.Bundles) < bundles {
		// Destinations differ within a bundle, as a generator sees to.
		sd, vd := rng.Perm(nScalars), rng.Perm(nVectors/VLen)
		scalar := func() uint32 { return scalars + rng.Uint32N(nScalars) }
		vector := func() uint32 { return vectors + VLen*rng.Uint32N(nVectors/VLen) }
		addr := func() uint32 { return addrs + rng.Uint32N(nAddrs) }
		take := func(perm *[]int, base, width uint32) uint32 {
			d := base + width*uint32((*perm)[0])
			*perm = (*perm)[1:]
			return d
		}
		var b Bundle
		for range 12 {
			b.Slots = append(b.Slots, Slot{alu[rng.IntN(len(alu))], [4]uint32{take(&sd, scalars, 1), scalar(), scalar()}})
		}
		for range 6 {
			s := Slot{valu[rng.IntN(len(valu))], [4]uint32{take(&vd, vectors, VLen), vector(), vector()}}
			if s.Op == OpMultiplyAdd {
				s.Args[3] = vector()
			}
			b.Slots = append(b.Slots, s)
		}
		b.Slots = append(b.Slots,
			Slot{OpLoad, [4]uint32{take(&sd, scalars, 1), addr()}},
			Slot{OpLoad, [4]uint32{take(&sd, scalars, 1), addr()}},
			Slot{OpVStore, [4]uint32{addr(), vector()}},
			Slot{OpVSelect, [4]uint32{take(&vd, vectors, VLen), vector(), vector(), vector()}})
		p.Bundles = append(p.Bundles, b)
	}
	return p
}

const fullMem = 2566

func BenchmarkRun(b *testing.B) {
	for _, bundles := range []int{1300} {
		b.Run(fmt.Sprintf("bundles=%d", bundles), func(b *testing.B) {
			code, err := Decode(fullProgram(bundles))
			if err != nil {
				b.Fatal(err)
			}
			m := NewMachine()
			mem := make([]uint32, fullMem)
			for b.Loop() {
				if _, err := m.Run(code, mem, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, code.Slots())
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	p := fullProgram(1300)
	b.Run("bundles=1300", func(b *testing.B) {
		var slots int
		for b.Loop() {
			code, err := Decode(p)
			if err != nil {
				b.Fatal(err)
			}
			slots = code.Slots()
		}
		perSecond(b, slots)
	})
}

func BenchmarkRead(b *testing.B) {
	p := fullProgram(1300)
	code, err := Decode(p)
	if err != nil {
		b.Fatal(err)
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		b.Fatal(err)
	}
	b.Run("bundles=1300", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := Read(bytes.NewReader(text.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b, code.Slots())
	})
}

func BenchmarkWrite(b *testing.B) {
	p := fullProgram(1300)
	b.Run("bundles=1300", func(b *testing.B) {
		for b.Loop() {
			if err := p.Write(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b, 22*1300)
	})
}

// perSecond reports how many slots went through in a second, where each iteration handles n.
func perSecond(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "slots/s")
}
