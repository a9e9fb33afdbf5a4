package main

import (
	"strconv"
	"strings"
	"testing"

	"tune/internal/cpu"
	"tune/kernels/native"
	"tune/results"
	"tune/space"
)

func TestLimitWords(t *testing.T) {
	roofs := []native.Roof{
		{Kind: "f32", Rate: 100e9, Unit: "GFLOP/s"}, {Kind: "bf16", Rate: 900e9, Unit: "GFLOP/s"},
		{Kind: "read", Level: "L1", Rate: 400e9, Unit: "GB/s"}, {Kind: "copy", Level: "L1", Rate: 500e9, Unit: "GB/s"},
		{Kind: "read", Level: "L2", Rate: 200e9, Unit: "GB/s"}, {Kind: "copy", Level: "L2", Rate: 100e9, Unit: "GB/s"},
		{Kind: "read", Level: "memory", Rate: 10e9, Unit: "GB/s"},
	}
	caches := cpu.Caches{L1: 1000, L2: 10000, L3: 100000}
	const (
		ofOps  = " % of the 100.0 GFLOP/s that one core reaches with multiply-adds of 32-bit floats and nothing else\n"
		inL1   = " % of the 500.0 GB/s that one core reaches with reads or copies in L1 and nothing else\n"
		inL2   = " % of the 200.0 GB/s that one core reaches with reads or copies in L2 and nothing else\n"
		noOps  = "no version with as many operations can be more than 2.00× as fast; the rest goes to other instructions, and to waiting for data"
		noData = "no version that moves as many bytes there can be more than 1.33× as fast; the rest goes to instructions, and to waiting"
	)
	for _, c := range []struct {
		name    string
		metrics string
		rates   []float64
		cost    float64 // in ns
		threads int
		want    string
	}{
		{"nothing stated", "samples", []float64{11}, 10, 1, ""},
		{"operations", "gflops", []float64{50}, 10, 1, "50.0" + ofOps + noOps},
		{"the nearest first", "gflops gbs", []float64{50, 150}, 10, 1, "75.0" + inL2 + "50.0" + ofOps + noData},
		{"operations nearer, and a small buffer", "gbs gflops", []float64{100, 50}, 10, 0, "50.0" + ofOps + "20.0" + inL1 + noOps},
		{"a level without a roof", "gbs", []float64{100}, 500, 1, ""},
		{"memory", "gbs", []float64{7.5}, 1e6, 1, "75.0" + strings.NewReplacer("200.0", "10.0", "L2", "memory").Replace(inL2) + noData},
		{"threads", "gflops", []float64{100}, 10, 2, "50.0" + strings.NewReplacer("100.0", "200.0", "one core reaches", "2 cores reach").Replace(ofOps) + noOps},
		{"threads in a cache of their own", "gbs", []float64{300}, 10, 2, "75.0" + strings.NewReplacer("200.0", "400.0", "one core reaches", "2 cores reach").Replace(inL2) + noData},
		{"threads in memory that they share", "gbs", []float64{25}, 1e6, 4,
			"2.50× what one core reaches with reads or copies in memory, 10.0 GB/s; what 4 cores reach together is not known"},
		{"threads, shared memory and operations", "gbs gflops", []float64{25, 200}, 1e6, 4, "50.0" + strings.NewReplacer("100.0", "400.0", "one core reaches", "4 cores reach").Replace(ofOps) +
			"2.50× what one core reaches with reads or copies in memory, 10.0 GB/s; what 4 cores reach together is not known\n" + noOps},
		{"no instructions for bytes", "gops", []float64{50}, 10, 1, ""},
		{"within drift 0.25", "gflops", []float64{120}, 10, 1, "120.0" + ofOps + "as much as possible, within the noise of the measurement (25.0 %)"},
		{"within drift 0.19", "gflops", []float64{120}, 10, 1, "120.0" + ofOps + "more than all: it does fewer operations than it states, or operations on smaller numbers"},
		{"within the interval", "gbs", []float64{208}, 10, 1, "104.0" + inL2 + "as much as possible, within the noise of the measurement (5.0 %)"},
		{"too much work stated", "gflops", []float64{120}, 10, 1, "120.0" + ofOps + "more than all: it does fewer operations than it states, or operations on smaller numbers"},
		{"too many bytes stated", "gbs", []float64{400}, 10, 1, "200.0" + inL2 + "more than all: it moves fewer bytes than it states, or finds them in a nearer cache"},
	} {
		s := &results.Schedule{Cost: c.cost}
		for i, name := range strings.Fields(c.metrics) {
			s.Metrics = append(s.Metrics, space.Metric{Name: name, Value: c.rates[i]})
		}
		if drift, ok := strings.CutPrefix(c.name, "within drift "); ok {
			v, err := strconv.ParseFloat(drift, 64)
			if err != nil {
				t.Fatal(err)
			}
			s.MachineState = &results.MachineState{Drift: v}
		}
		if c.name == "within the interval" {
			s.Ratio, s.RatioInterval = 2, &[2]float64{1.9, 2.1}
		}
		if got := strings.Join(limitWords(s, c.threads, roofs, caches), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
