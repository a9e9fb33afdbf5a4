package exchange

import (
	"os"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	data, err := os.ReadFile(sharedFiles(b)[0])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read("x.json.gz", data); err != nil {
			b.Fatal(err)
		}
	}
}
