package cgen

import (
	"slices"

	"tune/kernels/native"
	"tune/kernels/threads"
	"tune/space"
)

// The values of Flags.Contract.
const (
	ContractOff  = "off"  // every product is rounded before it is used
	ContractFast = "fast" // a·b + c may be one instruction, which rounds once
)

// Flags are the compiler flags for generated C. None of them lets the compiler reorder IEEE arithmetic. Each family sets
// its own. They must not change within a version of a family, because they are part of what a point means.
type Flags struct {
	Arch string // of the machine, as in native.Machine
	// Std is the language standard; "" is the compiler's default. gemm-f32 uses that, because its C means the same in every standard.
	Std string
	Opt string // "O2" or "O3"
	// Contract says whether a product and a sum may become one instruction; "" is the compiler's default. gemm-i8 forbids it,
	// because its reference rounds each product of floats. gemm-f32 allows it, because it is faster.
	Contract string
	// NoMathErrno lets mathematical functions leave errno alone, so that a square root is one instruction.
	NoMathErrno bool
	// ISA is a name of the table, or Native.
	ISA string
	// MarchNative writes Native as -march=native on every architecture, as gemm-f32 does. Otherwise it is -mcpu=native on
	// architectures other than amd64, where more compilers accept that.
	MarchNative bool
	// Wide makes compilers vectorise loops with 64-byte vectors where AVX-512 is available; by default they prefer 32 bytes.
	// gemm-f32 does not set it, because its fast forms use explicit vectors.
	Wide        bool
	TuneNative  bool // instructions are scheduled for this CPU
	UnrollLoops bool
	Threads     bool // the text includes that of package threads
}

// List returns the flags as they are given to the compiler.
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

// Named returns flags that name the features of a machine where others stand for all that it has.
func Named(flags []string, m native.Machine) []string {
	at := slices.Index(flags, "-march=native")
	if at < 0 {
		return flags
	}
	return slices.Replace(slices.Clone(flags), at, at+1, FeatureFlags(m)...)
}

// Linked returns a spec whose code is that of another, with flags that name what it needs: see Named.
func Linked(spec native.Spec, m native.Machine) native.Spec {
	return native.Linked(spec, func(p space.Point) (native.Source, error) {
		src, err := spec.Generate(p)
		src.Flags = Named(src.Flags, m)
		return src, err
	})
}

// FeatureFlags returns flags that name the features of a machine, which stand for -march=native in code that has to say what it needs.
// Tiles are left out, because a process has to ask the system for them.
func FeatureFlags(m native.Machine) []string {
	var out []string
	for _, isa := range Select(m, AVX2, F16C, AVXVNNI, AVX512, AVX512VNNI, AVX512BF16, AVX512FP16) {
		out = append(out, isa.flags...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
