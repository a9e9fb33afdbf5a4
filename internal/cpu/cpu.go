// Package cpu describes the machine that candidates are generated for: the instruction sets, the sizes of the caches,
// and the cores that this process may use.
package cpu

import (
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/cpuid/v2"

	"tune/internal/cpu/tiles"
)

// The instruction sets that generators know, in the order in which Features lists them.
const (
	Generic    = "generic"    // whatever the compiler takes as the base of the architecture
	AVX2       = "avx2"       // with FMA
	F16C       = "f16c"       // AVX2, and conversions between half and single precision
	AVXVNNI    = "avxvnni"    // F16C, and dot products of bytes in 256-bit registers, without AVX-512
	AVX512     = "avx512"     // F, DQ, BW and VL
	AVX512VNNI = "avx512vnni" // dot products of bytes in 512-bit registers
	AVX512BF16 = "avx512bf16" // the same, and dot products of bfloat16
	AVX512FP16 = "avx512fp16" // arithmetic in half precision in 512-bit registers
	AMXInt8    = "amxint8"    // products of tiles of bytes, beside AVX512VNNI
	AMXBF16    = "amxbf16"    // products of tiles of bfloat16, beside AVX512BF16
)

var (
	avx2       = []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3}
	avx512     = append(slices.Clone(avx2), cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL)
	avx512VNNI = append(slices.Clone(avx512), cpuid.AVX512VNNI)
	avx512BF16 = append(slices.Clone(avx512VNNI), cpuid.AVX512BF16)
)

// table says what each instruction set needs. On amd64 only; elsewhere there is Generic alone.
var table = []struct {
	name  string
	needs []cpuid.FeatureID
}{
	{Generic, nil},
	{AVX2, avx2},
	{F16C, append(slices.Clone(avx2), cpuid.F16C)},
	{AVXVNNI, append(slices.Clone(avx2), cpuid.F16C, cpuid.AVXVNNI)},
	{AVX512, avx512},
	{AVX512VNNI, avx512VNNI},
	{AVX512BF16, avx512BF16},
	{AVX512FP16, append(slices.Clone(avx512), cpuid.AVX512FP16)},
	{AMXInt8, append(slices.Clone(avx512VNNI), cpuid.AMXTILE, cpuid.AMXINT8)},
	{AMXBF16, append(slices.Clone(avx512BF16), cpuid.AMXTILE, cpuid.AMXBF16)},
}

// Features returns the instruction sets that this CPU and the system support, Generic first.
func Features() []string {
	return FeaturesOf(supports)
}

// supports reports whether this CPU and the system support a feature of amd64.
func supports(f cpuid.FeatureID) bool {
	return runtime.GOARCH == "amd64" && cpuid.CPU.Supports(f) && (f != cpuid.AMXTILE || tiles.Offered())
}

// FeaturesOf returns the instruction sets of a CPU and a system that support those features of amd64 for which has returns true, in the order of
// Features.
func FeaturesOf(has func(cpuid.FeatureID) bool) []string {
	var names []string
	for _, set := range table {
		all := true
		for _, f := range set.needs {
			all = all && has(f)
		}
		if all {
			names = append(names, set.name)
		}
	}
	return names
}

// Caches are the sizes in bytes of the caches that one core sees.
type Caches struct {
	L1 int `json:"l1"` // data
	L2 int `json:"l2"`
	L3 int `json:"l3"` // 0 where there is none
}

// CacheSizes returns the sizes of the caches as the system reports them, or else the CPU, or else typical sizes of a small
// machine, because generators need a number. It asks the system once: some ask for them before every sample of a kernel.
func CacheSizes() Caches { return cacheSizes() }

var cacheSizes = sync.OnceValue(func() Caches {
	c := systemCaches("/sys/devices/system/cpu")
	told := cpuid.CPU.Cache
	c.L1 = firstPositive(c.L1, told.L1D, 32<<10)
	c.L2 = firstPositive(c.L2, told.L2, 512<<10)
	c.L3 = firstPositive(c.L3, told.L3, 0)
	return c
})

// L2 returns the bytes of the second-level cache.
func L2() int { return CacheSizes().L2 }

// L3 returns the bytes of the last-level cache, shared by several cores, or 0 where there is none.
func L3() int { return CacheSizes().L3 }

func firstPositive(sizes ...int) int {
	for _, s := range sizes {
		if s > 0 {
			return s
		}
	}
	return 0
}

// Cores returns how many cores this process may use.
func Cores() int { return len(Allowed()) }

// Allowed returns the numbers of the cores that this process may use, in order; there is at least one.
func Allowed() []int {
	if cores := allowed(); len(cores) > 0 {
		return cores
	}
	cores := make([]int, runtime.NumCPU())
	for i := range cores {
		cores[i] = i
	}
	return cores
}
