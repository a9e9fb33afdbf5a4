package space

import "testing"

func TestRepacking(t *testing.T) {
	for want, r := range map[string]Repacking{
		"w is repacked once, 17.8 MB to 18.9 MB, outside of the timing": {Argument: "w", Bytes: 17_825_792, PackedBytes: 18_874_368},
		"b is repacked once, 999 B to 1.02 kB, outside of the timing":   {Argument: "b", Bytes: 999, PackedBytes: 1024},
		"b is repacked once, 0 B to 512 GB, outside of the timing":      {Argument: "b", PackedBytes: 512e9},
	} {
		if got := r.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
