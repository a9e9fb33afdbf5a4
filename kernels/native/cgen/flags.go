package cgen

import "tune/kernels/threads"

// The values of Flags.Contract.
const (
	ContractOff  = "off"  // every product is rounded before it is used
	ContractFast = "fast" // a·b + c may be one instruction, which rounds once
)

// Flags say how generated C is compiled. None of them lets the compiler change the order of IEEE arithmetic. Families differ
// in what they ask for, and keep to it: flags are part of what a point is.
type Flags struct {
	Arch string // of the machine, as in native.Machine
	// Std is the language standard. "" leaves it to the compiler, as gemm-f32 does, whose C means the same in all.
	Std string
	Opt string // "O2" or "O3"
	// Contract says whether products and sums become one instruction. gemm-i8 must not, because its reference rounds each
	// product of floats; gemm-f32 must, on instruction sets that have it, to be fast. "" leaves it to the compiler.
	Contract string
	// NoMathErrno frees mathematical functions from setting errno, so that a root is one instruction.
	NoMathErrno bool
	// ISA is a name of the table, or Native.
	ISA string
	// MarchNative spells Native as -march=native on every architecture, as gemm-f32 does. Otherwise it is -mcpu=native
	// where that is not amd64, which more compilers know there.
	MarchNative bool
	// Wide makes compilers use vectors of 64 bytes in loops that they vectorise themselves; by default they prefer 32.
	// gemm-f32 does not ask for it, because its fast forms have written vectors.
	Wide        bool
	TuneNative  bool // the timings of instructions are taken to be those of this CPU
	UnrollLoops bool
	Threads     bool // the text has that of package threads
}

// List returns the flags for a command line.
func (f Flags) List() []string {
	var out []string
	if f.Std != "" {
		out = append(out, "-std="+f.Std)
	}
	out = append(out, "-"+f.Opt)
	if f.Contract != "" {
		out = append(out, "-ffp-contract="+f.Contract)
	}
	if f.NoMathErrno {
		out = append(out, "-fno-math-errno")
	}
	out = append(out, f.machine()...)
	if f.TuneNative {
		out = append(out, "-mtune=native")
	}
	if f.UnrollLoops {
		out = append(out, "-funroll-loops")
	}
	if f.Threads {
		out = append(out, threads.Flags()...)
	}
	return out
}

// machine returns the flags of the instruction set.
func (f Flags) machine() []string {
	if f.ISA == Native {
		if f.Arch == "amd64" || f.MarchNative {
			return []string{"-march=native"}
		}
		return []string{"-mcpu=native"}
	}
	return f.features(Lookup(f.ISA))
}

func (f Flags) features(isa ISA) []string {
	var out []string
	if isa.on != "" {
		out = f.features(Lookup(isa.on))
	}
	out = append(out, isa.flags...)
	if isa.Name == AVX512 && f.Wide {
		out = append(out, "-mprefer-vector-width=512")
	}
	return out
}
