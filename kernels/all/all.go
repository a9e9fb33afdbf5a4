// Package all lists the built-in kernels. It is separate from package kernels because each kernel imports that package.
package all

import (
	"tune/kernels"
	"tune/kernels/attention"
	"tune/kernels/elementwise"
	"tune/kernels/gemm"
	"tune/kernels/gemm16"
	"tune/kernels/gemmi8"
	"tune/kernels/native"
	"tune/kernels/qgemm"
	"tune/kernels/rowwise"
	"tune/kernels/treehash"
)

// Table returns the built-in kernels. Those that are compiled need a host; the others work without one.
func Table(host *native.Host) kernels.Table {
	return kernels.Table{
		treehash.Kernel{},
		gemm.Kernel{Host: host},
		gemmi8.Kernel{Host: host},
		gemm16.Kernel{Type: gemm16.BFloat16, Host: host},
		gemm16.Kernel{Type: gemm16.Half, Host: host},
		qgemm.Kernel{Host: host},
		elementwise.Kernel{Host: host},
		rowwise.Kernel{Host: host},
		attention.Kernel{Host: host},
	}
}
