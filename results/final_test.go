package results

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestFinal: the pairs of a comparison are kept, with five digits, and belong to one schedule.
func TestFinal(t *testing.T) {
	dir := t.TempDir()
	s := Schedule{Key: "n=2", Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
	f := &Final{
		First: []Compared{
			{Key: "n=1", Failed: "it died"},
			{Key: "n=2", Ratio: 1.23456789, Interval: &[2]float64{1.2345678, 1.2345701}, Pairs: 3, Ratios: []float64{1.1111111, 123456.78, 0.00012345678}},
			{Key: "n=3", Ratio: math.Inf(1), Pairs: 1, Ratios: []float64{math.NaN()}},
			{Key: "n=4", Ratio: 2, Interval: &[2]float64{3, 4}, Pairs: 2, Ratios: []float64{2, math.Inf(1)}},
		},
		Peers: []Compared{Compared{Name: "blas", Ratio: 2, Interval: &[2]float64{1, 4}, Pairs: 1, Ratios: []float64{4}}.Inverse()},
	}
	must(t, f.Keep(dir, s))
	got, err := ReadFinal(dir)
	must(t, err)
	want := Final{
		Format: 1, Key: s.Key, Created: s.Created,
		First: []Compared{
			{Key: "n=1", Failed: "it died"},
			{Key: "n=2", Ratio: 1.2346, Interval: &[2]float64{1.2346, 1.2346}, Pairs: 3, Ratios: []float64{1.1111, 123460, 0.00012346}},
			{Key: "n=3"},
			{Key: "n=4", Ratio: 2, Pairs: 2, Ratios: []float64{2}},
		},
		Peers: []Compared{{Name: "blas", Ratio: 0.5, Interval: &[2]float64{0.25, 1}, Pairs: 1, Ratios: []float64{0.25}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nwant %+v", got, want)
	}
	other := s
	other.Created = s.Created.Add(time.Second)
	if !got.Of(s) || got.Of(other) {
		t.Error("it belongs to another schedule")
	}
	to := t.TempDir()
	must(t, MoveFinal(dir, to))
	if _, err := ReadFinal(to); err != nil {
		t.Error(err)
	}
	must(t, MoveFinal(dir, to))
	if _, err := ReadFinal(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of an earlier schedule stays: %v", err)
	}
}

// TestKeepPeers: peers join the pairs of their schedule, and not those of another one.
func TestKeepPeers(t *testing.T) {
	dir := t.TempDir()
	s := testSchedule()
	peers := []Compared{{Name: "blas", Ratio: 2, Pairs: 1, Ratios: []float64{2}}}
	keep := func(key string) Final {
		t.Helper()
		must(t, KeepPeers(dir, key, peers))
		f, err := ReadFinal(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return f
	}
	if f := keep(s.Key); f.Key != "" {
		t.Errorf("without a schedule there is %+v", f)
	}
	must(t, s.Write(filepath.Join(dir, "best.json")))
	must(t, (&Final{Confirmed: []Compared{{Key: s.Key, Ratio: 3}}}).Keep(dir, s))
	if f := keep("other"); f.Peers != nil {
		t.Errorf("another point has %+v", f)
	}
	if f := keep(s.Key); !f.Of(s) || !reflect.DeepEqual(f.Peers, peers) || len(f.Confirmed) != 1 {
		t.Errorf("there is %+v", f)
	}
	s.Created = s.Created.Add(time.Second)
	must(t, s.Write(filepath.Join(dir, "best.json")))
	if f := keep(s.Key); !f.Of(s) || len(f.Peers) != 1 || f.Confirmed != nil {
		t.Errorf("of the schedule before there is %+v", f)
	}
}

// TestFinalHostile: a file with impossible values is refused by the name of the field.
func TestFinalHostile(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		``:                                      "not valid JSON",
		`{"format": 2, "key": "a"}`:             "format 2 is not known",
		`{"format": 1}`:                         "field key",
		`{"format": 1, "key": "a", "other": 1}`: "unknown field",
		`{"first": [{}]}`:                       "first[0] has neither key nor name",
		`{"first": [{"key": "a", "ratio": 1e999}]}`:                                                "ratio",
		`{"first": [{"key": "a", "ratio": 1e300}]}`:                                                "field first[0].ratio is 1e+300: want a ratio of costs, above 0",
		`{"first": [{"key": "a", "ratio": -1}]}`:                                                   "first[0].ratio is -1",
		`{"confirmed": [{"key": "a", "pairs": -1}]}`:                                               "confirmed[0].pairs is -1",
		`{"confirmed": [{"key": "a", "ratio": 1, "pairs": 1, "ratios": [0]}]}`:                     "confirmed[0].ratios[0] is 0",
		`{"confirmed": [{"key": "a", "ratio": 1, "pairs": 1, "ratios": [1, 1]}]}`:                  "confirmed[0].ratios has 2 numbers: want at most 128, and no more than pairs, which is 1",
		`{"peers": [{"name": "a", "ratio": 1, "pairs": 1, "ratio_interval": [2, 3]}]}`:             "peers[0].ratio is 1, which is not in",
		`{"peers": [{"name": "a", "ratio": 1, "pairs": 1, "ratio_interval": [0, 1e99]}]}`:          "peers[0].ratio_interval is",
		`{"peers": [` + strings.Repeat(`{"name": "a"},`, 24) + `{"name": "a"}]}`:                   "field peers has 25 comparisons: want at most 24",
		`{"peers": [{"name": "a", "pairs": 200, "ratios": [1` + strings.Repeat(`,1`, 128) + `]}]}`: "peers[0].ratios has 129 numbers",
	} {
		if text != "" && !strings.HasPrefix(text, `{"format"`) {
			text = `{"format": 1, "key": "k", "created": "2026-01-02T03:04:05Z", ` + text[1:]
		}
		must(t, os.WriteFile(filepath.Join(dir, FinalName), []byte(text), 0o666))
		_, err := ReadFinal(dir)
		checkError(t, err, want)
	}
}
