package native

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// AsBytes returns numbers as bytes in the machine's order. They share memory.
func AsBytes[T ~float32 | ~int8 | ~uint16](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// AsFloats returns bytes in the machine's order as floats. They share memory where it is aligned.
func AsFloats(b []byte) []float32 {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%4 == 0 {
		return unsafe.Slice((*float32)(p), len(b)/4)
	}
	f := make([]float32, len(b)/4)
	for i := range f {
		f[i] = math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return f
}
