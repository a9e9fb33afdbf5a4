package worker

import "bytes"

// What Out buffers hold before Call and before CallAgain: patterns that differ in each byte. They are NaNs as floats of 4 bytes,
// so that using them as input is likely to be noticed.
var (
	poison      = []byte{0xa7, 0xff, 0xa7, 0xff}
	otherPoison = []byte{0xf3, 0x7f, 0xf3, 0x7f}
)

// MayBeUnwritten reports whether an element of an Out buffer, of size bytes, holds after Call what it held before.
func MayBeUnwritten(after []byte, size int) bool {
	if size%len(poison) == 0 && !bytes.Contains(after, poison) {
		return false // as of nearly all buffers, and found out faster
	}
	for at := 0; at < len(after); at += size {
		if untouched(after, at, size, poison) {
			return true
		}
	}
	return false
}

// Unwritten returns which elements of an Out buffer, of size bytes, nobody writes, given what it holds after Call and after
// CallAgain: those that hold after both what they held before. It returns nil where there are none.
func Unwritten(after, afterAgain []byte, size int) (elements []bool) {
	for at := 0; at < len(after); at += size {
		if !untouched(after, at, size, poison) || !untouched(afterAgain, at, size, otherPoison) {
			continue
		}
		if elements == nil {
			elements = make([]bool, len(after)/size)
		}
		elements[at/size] = true
	}
	return elements
}

// untouched reports whether the element at a position of a buffer holds the pattern that the buffer was filled with.
func untouched(b []byte, at, size int, pattern []byte) bool {
	for i := at; i < at+size; i++ {
		if b[i] != pattern[i%len(pattern)] {
			return false
		}
	}
	return true
}
