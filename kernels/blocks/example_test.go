package blocks_test

import (
	"fmt"

	"tune/kernels/blocks"
)

// The product of a row of weights and activations as an engine forms it: in integers, and then times both scales.
func Example() {
	weights, err := blocks.ByName("q4_0")
	if err != nil {
		fmt.Println(err)
		return
	}
	activations, err := blocks.ByName("q8_0")
	if err != nil {
		fmt.Println(err)
		return
	}
	const k = 32
	var w, a [k]float32
	for i := range k {
		w[i], a[i] = float32(i%16-8)/4, float32(i)/31*127
	}
	wb, ab := make([]byte, weights.Bytes), make([]byte, activations.Bytes)
	if err := weights.Quantise(wb, w[:]); err != nil {
		fmt.Println(err)
		return
	}
	if err := activations.Quantise(ab, a[:]); err != nil {
		fmt.Println(err)
		return
	}
	wp, err := weights.Split(wb)
	if err != nil {
		fmt.Println(err)
		return
	}
	ap, err := activations.Split(ab)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, exact := 0, 0.0
	for i := range k {
		sum += int(wp.Quants[i]) * int(ap.Quants[i])
		exact += float64(w[i]) * float64(a[i])
	}
	fmt.Printf("%d · %v · %v = %v, of %.2f\n", sum, wp.D, ap.D, float32(sum)*wp.D*ap.D, exact)

	_, err = weights.RowBytes(100)
	fmt.Println(err)
	// Output:
	// 1764 · 0.25 · 1 = 441, of 442.45
	// k=100 is not a multiple of 32, the block of q4_0: want a multiple, such as 96 or 128
}
