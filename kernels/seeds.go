package kernels

import (
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// FreshSeed returns a seed that nobody can predict.
func FreshSeed() uint64 {
	var seed [8]byte
	crand.Read(seed[:]) // it never fails
	return binary.LittleEndian.Uint64(seed[:])
}

// Derive returns a seed for one purpose of a run, so that no two purposes share random numbers.
func Derive(seed uint64, purpose string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a, 64 bits
	for _, c := range []byte(purpose) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h)).Uint64()
}

// CheckSeed returns the seed of the inputs for checking candidates during the search.
func CheckSeed(seed uint64) uint64 { return Derive(seed, "check") }

// ExportChecks is how many inputs a candidate is checked on before it is exported.
const ExportChecks = 8

// ExportSeeds returns the seeds of the inputs for the checks before an export, which no candidate has met before.
func ExportSeeds(seed uint64) []uint64 {
	seeds := make([]uint64, ExportChecks)
	for i := range seeds {
		seeds[i] = Derive(seed, fmt.Sprintf("export %d", i))
	}
	return seeds
}
