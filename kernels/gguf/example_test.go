package gguf_test

import (
	"fmt"

	"tune/kernels/gguf"
)

// The weights of a tensor of a model.
func Example() {
	file, err := gguf.Open("testdata/sample.gguf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	tensor, err := file.Tensor("q4_K")
	if err != nil {
		fmt.Println(err)
		return
	}
	format, err := tensor.Format()
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := tensor.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	row := make([]float32, tensor.Dims[0])
	if err := format.Dequantise(row, data); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %d of %s, %d bytes: %.4f …\n", tensor.Name, tensor.Dims, format.Name, tensor.Bytes, row[:3])

	_, err = file.Tensor("q4K.values")
	fmt.Println(err)
	// Output:
	// q4_K [256] of q4_k, 144 bytes: [-0.0201 0.0781 -0.0201] …
	// testdata/sample.gguf has no tensor "q4K.values": the closest names are "q4_K.values", "q4_0.values", "q4_1.values"
}
