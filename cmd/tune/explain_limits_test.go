package main

import (
	"strings"
	"testing"

	"tune/kernels/native"
	"tune/space"
)

func TestLimitWords(t *testing.T) {
	peaks := native.Peaks{F32: 100e9, L1: 200e9}
	rates := func(names string, values ...float64) (metrics []space.Metric) {
		for i, name := range strings.Fields(names) {
			metrics = append(metrics, space.Metric{Name: name, Value: values[i]})
		}
		return metrics
	}
	const (
		ofOps   = "of the 100.0 GFLOP/s that one core of this processor can reach in multiply-adds of 32-bit floats and nothing else"
		ofBytes = "of the 400.0 GB/s that one core of this processor can reach when it reads and writes in its nearest cache at once"
		noOps   = "no version with as many operations can be more than 2.00× as fast; the rest goes to other instructions, and to waiting for data"
		noBytes = "no version that moves as many bytes can be more than 1.33× as fast, and from larger caches or memory bytes come slower"
	)
	for _, c := range []struct {
		name    string
		metrics []space.Metric
		threads int
		want    string
	}{
		{"nothing stated", rates("samples", 11), 1, ""},
		{"operations", rates("gflops", 50), 1, "50.0 % " + ofOps + "\n" + noOps},
		{"the nearest first", rates("gbs gflops", 300, 50), 1, "75.0 % " + ofBytes + "\n50.0 % " + ofOps + "\n" + noBytes},
		{"operations nearer", rates("gbs gflops", 100, 50), 0, "50.0 % " + ofOps + "\n25.0 % " + ofBytes + "\n" + noOps},
		{"threads", rates("gflops", 100), 2, "50.0 % " + strings.NewReplacer("100.0", "200.0", "one core", "2 cores").Replace(ofOps) + "\n" + noOps},
		{"no instructions for bytes", rates("gops", 50), 1, ""},
		{"too much work stated", rates("gflops", 120), 1, "120.0 % " + ofOps + "\nmore than all: it does fewer operations than it states, or operations on smaller numbers"},
		{"too many bytes stated", rates("gbs", 800), 1, "200.0 % " + ofBytes + "\nmore than all: it moves fewer bytes than it states"},
	} {
		if got := strings.Join(limitWords(c.metrics, c.threads, peaks), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
