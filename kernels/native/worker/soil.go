//go:build linux && (amd64 || arm64)

package worker

import (
	"encoding/binary"
	"slices"

	"github.com/ebitengine/purego"
)

// A call of a check finds memory that nobody has set soiled, not zero as it often is in a new process: code that begins with what is there
// would be right in the check, and wrong in a program. In the stack that is done before each call, and on the heap the C library does it,
// where it is told to by a variable. Timed calls find what earlier calls have left.

// soiled is how much of the stack is soiled before a call.
const soiled = 64 << 10

// soilHeap has the GNU C library fill what it allocates with the byte 0x7f: numbers that are large, as floats and as integers.
const soilHeap = "MALLOC_PERTURB_=128"

//lint:ignore U1000 It is called as a function of C.
func soil()

func soilAddress() uintptr

// soilStack soils the stack of the calling thread on which functions of C run.
func soilStack() {
	purego.SyscallN(soilAddress(), soiled, uintptr(binary.NativeEndian.Uint64(slices.Concat(poison, poison))))
}
