// Package all lists the built-in kernels. It is apart from package kernels because each kernel imports
// that.
package all

import (
	"tune/kernels"
	"tune/kernels/elementwise"
	"tune/kernels/gemm"
	"tune/kernels/gemmi8"
	"tune/kernels/treehash"
)

// Table returns the built-in kernels.
func Table() kernels.Table {
	return kernels.Table{
		treehash.Kernel{},
		gemm.Kernel{},
		gemmi8.Kernel{},
		elementwise.Kernel{},
	}
}
