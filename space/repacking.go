package space

import "fmt"

// Repacking says that a candidate takes an argument in a layout of its own. Programs make it once, outside of what is timed, as when
// they load weights.
type Repacking struct {
	Argument string `json:"argument"` // its name
	// Bytes is the size of the argument as programs have it, PackedBytes that of the layout, at the shape that was asked for.
	Bytes       int64  `json:"bytes"`
	PackedBytes int64  `json:"packed_bytes"`
	Alignment   int    `json:"alignment"` // of the layout in memory, in bytes
	Layout      string `json:"layout"`    // in words
}

// String describes it in a line, without the layout.
func (r Repacking) String() string {
	return fmt.Sprintf("%s is repacked once, %s to %s, outside of the timing", r.Argument, byteCount(r.Bytes), byteCount(r.PackedBytes))
}

// byteCount writes a size with three digits.
func byteCount(n int64) string {
	const step = 1000
	v, units := float64(n), []string{"B", "kB", "MB", "GB", "TB"}
	for v >= step && len(units) > 1 {
		v /= step
		units = units[1:]
	}
	switch {
	case units[0] == "B" || v >= 100:
		return fmt.Sprintf("%.0f %s", v, units[0])
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, units[0])
	}
	return fmt.Sprintf("%.2f %s", v, units[0])
}
