package space

import (
	"math"
	"strings"
	"testing"
)

func TestUnitWords(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		cost float64
		want string
	}{
		{"ns", 684747, "684.7 µs"}, {"ns", 1.3e6, "1.30 ms"}, {"ns", 12.3456e6, "12.35 ms"}, {"ns", 5.25, "5.25 ns"}, {"ns", 0.30249, "0.302 ns"},
		{"ns", 999.949, "999.9 ns"}, {"ns", 999.951, "1.00 µs"}, {"ns", 1000, "1.00 µs"}, {"ns", 99.96e9, "99.96 s"}, {"ns", 999.96e9, "1,000 s"}, {"ns", 8.1e13, "81,000 s"},
		{"ns", 0, "0 ns"}, {"ns", -2500, "-2.50 µs"}, {"ns", math.MaxFloat64, "179,769"},
		{"ms", 0.25, "250.0 µs"}, {"s", 0.002, "2.00 ms"}, {"us", 15, "15.00 µs"},
		{"cycles", 147734, "147,734 cycles"}, {"bytes", 1234567, "1,234,567 bytes"}, {"units", 0.125, "0.125 units"}, {Unnamed, 34, "34"}, {Unnamed, 147734.5, "147734"},
		{InverseOf("Melem/s"), 1. / 112, "112 Melem/s"}, {InverseOf("img/s"), 1. / 23456.7, "23,457 img/s"}, {InverseOf("x"), 3, "0.3333 x"},
		{InverseOf("elem/s"), 1 / 104430953., "104.4 Melem/s"}, {InverseOf("B/s"), 1 / 2.5e10, "25 GB/s"}, {InverseOf("B/s"), 1 / 999949., "999,949 B/s"},
		{InverseOf("op/sec"), 1 / 999999.9, "1 Mop/sec"}, {InverseOf("Hz"), 1 / 3.2e12, "3.2 THz"},
		{InverseOf("Melem/s"), 1 / 2e6, "2,000,000 Melem/s"}, {InverseOf("kernels/s"), 1 / 3e6, "3,000,000 kernels/s"}, {InverseOf("score"), 1 / 3e6, "3,000,000 score"},
	} {
		if got := c.unit.Words(c.cost); got != c.want && !(c.cost == math.MaxFloat64 && strings.HasSuffix(got, " s")) {
			t.Errorf("%v %s is written %q, want %q", c.cost, c.unit, got, c.want)
		}
	}
}

func TestUnitParse(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		text string
		want float64
	}{
		{"ns", "100us", 1e5}, {"ns", "100 µs", 1e5}, {"ns", "1.5ms", 1.5e6}, {"ns", "250ns", 250}, {"ns", "1e3ns", 1000}, {"ms", "100us", 0.1}, {"s", "2min", 120},
		{"cycles", "900", 900}, {"cycles", "1,900 cycles", 1900}, {"cycles", "-3", -3}, {"bytes", "5e2", 500},
		{InverseOf("Melem/s"), "125 Melem/s", 0.008}, {InverseOf("Melem/s"), "125", 0.008},
		{InverseOf("elem/s"), "20Melem/s", 5e-8}, {InverseOf("elem/s"), "20 kelem/s", 5e-5}, {InverseOf("elem/s"), "20elem/s", 0.05},
		{InverseOf("Melem/s"), "4 Gelem/s", 0.00025}, {InverseOf("Melem/s"), "500000 elem/s", 2}, {InverseOf("kernels/s"), "4kernels/s", 0.25},
		{InverseOf("kernels/s"), "4Mkernels/s", 2.5e-7},
	} {
		if got, err := c.unit.Parse(c.text); err != nil || math.Abs(got-c.want) > 1e-12*math.Abs(c.want) {
			t.Errorf("%q in %s is %v, %v, want %v", c.text, c.unit, got, err, c.want)
		}
	}
	const none, other, low = "is no cost: want a number", ", so want a number", ": a rate has to be above 0"
	for _, c := range []struct {
		unit Unit
		text string
		want string
	}{
		{"ns", "5", "5 has no unit, and costs are times: write 5ns, 5us or 5ms"}, {"ms", "1.5", "write 1.5ns, 1.5us or 1.5ms"},
		{"ns", "", none}, {"ns", "us", none}, {"ns", "1e999", none}, {"ns", "NaN", none},
		{"ns", "100 lightyears", other}, {"cycles", "900ms", `"900ms": costs are in cycles, so want a number`}, {InverseOf("x"), "5 y", other}, {InverseOf("score"), "5 Mscore", other}, {InverseOf("elem/s"), "5 melem/s", other}, {InverseOf("elem/s"), "5 MB/s", other},
		{InverseOf("x"), "0", low}, {InverseOf("x"), "-1", low},
	} {
		if got, err := c.unit.Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %s is %v, %v, want %s", c.text, c.unit, got, err, c.want)
		}
	}
}

// What is shown can be given as a target, and then means nearly the same.
func TestUnitRoundTrip(t *testing.T) {
	for _, unit := range []Unit{"ns", "ms", "s", "cycles", "bytes", InverseOf("Melem/s"), InverseOf("GB/s"), InverseOf("elem/s")} {
		for cost := 1e-3; cost < 1e14; cost *= 1.37 {
			text := unit.Words(cost)
			if got, err := unit.Parse(text); err != nil || math.Abs(got-cost) > 0.006*cost && cost > 1 {
				t.Errorf("%v %s is written %q, which is read as %v, %v", cost, unit, text, got, err)
			}
		}
	}
}
