package treehash

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tune/kernels"
	"tune/space"
)

var update = flag.Bool("update", false, "rewrite the spaces and the costs on record")

// TestSpaceGolden compares the spaces of two small shapes with those on record: where one has changed, Info.Version has
// to change too.
func TestSpaceGolden(t *testing.T) {
	for shapeText, file := range map[string]string{
		"height=4,rounds=6,batch=32": "testdata/space-height-4_rounds-6_batch-32.yaml.gz",
		"height=1,rounds=1,batch=1":  "testdata/space-height-1_rounds-1_batch-1.yaml.gz",
	} {
		shape, err := kernels.ParseShape(Kernel{}.Info().Shape, shapeText)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Kernel{}.Problem(shape)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Space()
		if *update {
			writeSpace(t, file, got)
		}
		want := readSpace(t, file)
		if got.Fingerprint() != want.Fingerprint() {
			t.Errorf("%s: fingerprint %s, on record is %s", shapeText, got.Fingerprint(), want.Fingerprint())
		}
		// Too many points to count: the same draws give the same ones.
		a, b := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 1))
		for range 4 {
			p, err := got.Sample(a)
			if err != nil {
				t.Fatal(err)
			}
			q, err := want.Sample(b)
			if err != nil {
				t.Fatal(err)
			}
			if p.Key() != q.Key() {
				t.Errorf("%s: draws %s, on record is %s", shapeText, p.Key(), q.Key())
			}
		}
		// Defaults are no part of a fingerprint, but of what a strategy asks.
		if a, b := got.Default().Key(), want.Default().Key(); a != b {
			t.Errorf("%s: the default is %s, on record is %s", shapeText, a, b)
		}
	}
}

// TestCostGolden compares the costs of some points at every fidelity with those on record: where one has changed, points
// build to other programs, or are scored otherwise, and Info.Version has to change too.
func TestCostGolden(t *testing.T) {
	shape, err := kernels.ParseShape(Kernel{}.Info().Shape, "height=4,rounds=6,batch=32")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Kernel{}.Problem(shape)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var got strings.Builder
	for range 10 {
		point, err := p.Space().Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		var costs []string
		for fidelity := p.Traits().Levels; fidelity >= 0; fidelity-- {
			cost := "–" // this point is not valid
			c, err := p.Traits().BuildAt(t.Context(), point, fidelity)
			if err == nil {
				err = c.Check(t.Context(), 1)
			}
			if err == nil {
				var score kernels.Score
				if score, err = c.Score(t.Context(), 0); err == nil {
					cost = fmt.Sprintf("%.3g", score.Cost)
				}
			}
			if err != nil && kernels.AsRejection(err) == nil {
				t.Fatal(err)
			}
			costs = append(costs, cost)
		}
		fmt.Fprintln(&got, strings.Join(costs, " "))
	}
	const file = "testdata/costs.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("version %s: the costs are\n%s, on record are\n%s", Kernel{}.Info().Version, &got, want)
	}
}

// writeSpace puts a space on record.
func writeSpace(t *testing.T, path string, s *space.Space) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write(z), z.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readSpace(t *testing.T, path string) *space.Space {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := space.Read(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}
