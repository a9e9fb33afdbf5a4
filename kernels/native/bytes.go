package native

import (
	"encoding/binary"
	"math"
	"slices"
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

// totalBytes returns the bytes of a list of buffers.
func totalBytes(list [][]byte) (size int) {
	for _, b := range list {
		size += len(b)
	}
	return size
}

// cloneAll copies a list of buffers.
func cloneAll(list [][]byte) [][]byte { return cloneAllTo(nil, list) }

// cloneAllTo copies a list of buffers to the memory of others of the same sizes, or to new memory.
func cloneAllTo(old, list [][]byte) [][]byte {
	out := make([][]byte, len(list))
	for i, b := range list {
		if i < len(old) && len(old[i]) == len(b) && b != nil {
			out[i] = old[i]
			copy(out[i], b)
		} else {
			out[i] = slices.Clone(b)
		}
	}
	return out
}

// Replace returns a copy of a buffer in which the marked elements, of size bytes each, are those of other. Without marks it returns the
// buffer itself.
func Replace(buffer, other []byte, marked []bool, size int) []byte {
	if marked == nil {
		return buffer
	}
	out := slices.Clone(buffer)
	for i, is := range marked {
		if is {
			copy(out[i*size:(i+1)*size], other[i*size:])
		}
	}
	return out
}
