package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tune/internal/files"
	"tune/space"
)

// FinalName is the file with the comparisons that a schedule sums up.
const FinalName = "final.json"

const finalFormat = 1

const (
	// mostCompared is how many comparisons a series keeps, and mostPaired how many pairs a comparison keeps.
	mostCompared, mostPaired = 24, 128
	// mostRatio bounds a ratio, and its inverse.
	mostRatio = 1e12
	// mostReason is how many bytes of a reason are kept.
	mostReason = 1000
)

// Final is what was measured at the end of a run, pair by pair.
type Final struct {
	Format int `json:"format"` // of this file; Write sets it
	// Key and Created are those of the schedule that this belongs to: see Of.
	Key     string    `json:"key"`
	Created time.Time `json:"created"`
	// First are the finalists that the contest chose from. Confirmed is the one that was measured again. Their ratios are the cost of
	// the baseline over that of the finalist.
	First     []Compared `json:"first,omitempty"`
	Confirmed []Compared `json:"confirmed,omitempty"`
	// Peers are libraries, and the baseline, that were measured beside the exported point. Their ratios are the cost of the peer over
	// that of the point.
	Peers []Compared `json:"peers,omitempty"`
}

// Compared is a point or a peer, measured side by side with another program.
type Compared struct {
	Key  string `json:"key,omitempty"`  // of a point
	Name string `json:"name,omitempty"` // of a peer
	// Failed says why there is no ratio; "" where there is one, or where no pair could be believed.
	Failed     string      `json:"failed,omitempty"`
	Ratio      float64     `json:"ratio,omitempty"` // estimated from the pairs; above 1 the first side is slower
	Interval   *[2]float64 `json:"ratio_interval,omitempty"`
	Pairs      int         `json:"pairs,omitempty"`
	Ratios     []float64   `json:"ratios,omitempty"` // of the single pairs
	Unverified bool        `json:"unverified,omitempty"`
	// Cost and Baseline are the costs that the ratio compares, of the point and of the baseline, where it was confirmed; 0 in files of
	// earlier versions.
	Cost     float64 `json:"cost,omitempty"`
	Baseline float64 `json:"baseline_cost,omitempty"`
}

// Inverse is the same comparison with its sides changed.
func (c Compared) Inverse() Compared {
	if c.Ratio > 0 {
		c.Ratio = 1 / c.Ratio
	}
	if c.Interval != nil {
		c.Interval = &[2]float64{1 / c.Interval[1], 1 / c.Interval[0]}
	}
	c.Ratios = slices.Clone(c.Ratios)
	for i, r := range c.Ratios {
		c.Ratios[i] = 1 / r
	}
	return c
}

// plausible reports a ratio that a file may have.
func plausible(ratio float64) bool { return ratio >= 1/mostRatio && ratio <= mostRatio }

// rounded rounds a ratio to five digits.
func rounded(ratio float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(ratio))-4)
	if unit < 1 {
		return math.Round(ratio/unit) / math.Round(1/unit) // the nearest number with these digits
	}
	return math.Round(ratio/unit) * unit
}

// kept is the comparison as a file keeps it: rounded, and without what no file may have.
func (c Compared) kept() Compared {
	c.Failed = strings.ToValidUTF8(c.Failed[:min(len(c.Failed), mostReason)], "")
	if !plausible(c.Ratio) {
		return Compared{Key: c.Key, Name: c.Name, Failed: c.Failed, Unverified: c.Unverified}
	}
	c.Ratio = rounded(c.Ratio)
	if c.Interval != nil {
		low, high := c.Interval[0], c.Interval[1]
		if c.Interval = nil; plausible(low) && plausible(high) {
			c.Interval = &[2]float64{rounded(low), rounded(high)}
		}
		if validInterval("", c.Ratio, c.Interval) != nil {
			c.Interval = nil
		}
	}
	if !space.Finite(c.Cost) || !space.Finite(c.Baseline) {
		c.Cost, c.Baseline = 0, 0
	}
	c.Pairs = max(c.Pairs, 0)
	var ratios []float64
	for _, r := range c.Ratios[:min(len(c.Ratios), mostPaired, c.Pairs)] {
		if plausible(r) {
			ratios = append(ratios, rounded(r))
		}
	}
	c.Ratios = ratios
	return c
}

// validate reports impossible values, by the name of the field in the file.
func (c Compared) validate(field string) error {
	switch {
	case c.Key == "" && c.Name == "":
		return fmt.Errorf("field %s has neither key nor name", field)
	case c.Ratio != 0 && !plausible(c.Ratio):
		return fmt.Errorf("field %s.ratio is %v: want a ratio of costs, above 0", field, c.Ratio)
	case c.Pairs < 0:
		return fmt.Errorf("field %s.pairs is %d: want 0 or more", field, c.Pairs)
	case len(c.Ratios) > mostPaired || len(c.Ratios) > c.Pairs:
		return fmt.Errorf("field %s.ratios has %d numbers: want at most %d, and no more than pairs, which is %d", field, len(c.Ratios), mostPaired, c.Pairs)
	case c.Interval != nil && !(plausible(c.Interval[0]) && plausible(c.Interval[1])):
		return fmt.Errorf("field %s.ratio_interval is %v: want two ratios of costs, above 0", field, *c.Interval)
	}
	for i, r := range c.Ratios {
		if !plausible(r) {
			return fmt.Errorf("field %s.ratios[%d] is %v: want a ratio of costs, above 0", field, i, r)
		}
	}
	return validInterval(field+".", c.Ratio, c.Interval)
}

// series is a part of the file: a field with comparisons.
type series struct {
	name string // of the field
	list *[]Compared
}

// series returns the parts of the file.
func (f *Final) series() []series {
	return []series{{"first", &f.First}, {"confirmed", &f.Confirmed}, {"peers", &f.Peers}}
}

func (f Final) validate() error {
	if err := required(field{"key", f.Key}); err != nil {
		return err
	}
	for _, s := range f.series() {
		if len(*s.list) > mostCompared {
			return fmt.Errorf("field %s has %d comparisons: want at most %d", s.name, len(*s.list), mostCompared)
		}
		for i, c := range *s.list {
			if err := c.validate(fmt.Sprintf("%s[%d]", s.name, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Of reports whether this belongs to a schedule, and not to one that was there before.
func (f Final) Of(s Schedule) bool { return f.Key == s.Key && f.Created.Equal(s.Created) }

// Agree compares what was measured of a schedule's point, or of the one beside the baseline, with the schedule that sums it up. The
// error names the field of the schedule. Files of earlier versions do not have all of it.
func (f Final) Agree(s Schedule) error {
	if !f.Of(s) {
		return fmt.Errorf("fields key and created are %q and %v, and %s is of the schedule of %q, made at %v", s.Key, s.Created, FinalName, f.Key, f.Created)
	}
	if len(f.Confirmed) == 0 {
		return nil
	}
	has, prefix := f.Confirmed[0], ""
	claims := Compared{Key: s.Key, Ratio: s.Ratio, Interval: s.RatioInterval, Pairs: s.Pairs, Cost: s.Cost, Baseline: s.Baseline.Cost}
	if c := s.Closest; c != nil {
		prefix = "closest."
		claims = Compared{Key: c.Key, Ratio: c.Ratio, Interval: c.RatioInterval, Pairs: c.Pairs, Cost: c.Cost, Baseline: s.Baseline.Cost}
	}
	interval := claims.Interval
	claims = claims.kept()
	switch {
	case has.Ratio == 0 && claims.Ratio != 0 && s.Pairs != 0:
		return fmt.Errorf("field pairs is %d, and %s has no pair", s.Pairs, FinalName)
	case has.Ratio == 0:
		return nil // the costs are those of the search
	}
	for _, f := range []struct {
		name            string
		claimed, listed any
	}{
		{prefix + "key", claims.Key, has.Key},
		{prefix + "pairs", claims.Pairs, has.Pairs},
		{prefix + "ratio", claims.Ratio, has.Ratio},
		{prefix + "ratio_interval", bounds(claims.Interval), bounds(has.Interval)},
		{prefix + "cost", claims.Cost, cmp.Or(has.Cost, claims.Cost)},
		{"baseline.cost", claims.Baseline, cmp.Or(has.Baseline, claims.Baseline)},
	} {
		if f.claimed != f.listed {
			return fmt.Errorf("field %s is %v, and %s says %v", f.name, f.claimed, FinalName, f.listed)
		}
	}
	isBaseline := s.Key == s.Baseline.Key
	sure := !has.Unverified && interval != nil
	want := space.Unverified
	switch {
	case sure && interval[0] > 1 && !isBaseline:
		want = space.Faster
	case sure && isBaseline:
		want = space.NoGain
	}
	if s.Verdict != "" && s.Verdict != want {
		return fmt.Errorf("field verdict is %q, and the pairs in %s say %q", s.Verdict, FinalName, want)
	}
	return nil
}

// bounds are those of an interval; 0 where there is none.
func bounds(interval *[2]float64) [2]float64 {
	if interval == nil {
		return [2]float64{}
	}
	return *interval
}

// ReadFinal reads the file in the directory of a run. Its errors name the file and the field.
func ReadFinal(dir string) (Final, error) {
	var f Final
	path := filepath.Join(dir, FinalName)
	if err := readJSON(path, finalFormat, files.Settings, &f); err != nil {
		return Final{}, err
	}
	if err := f.validate(); err != nil {
		return Final{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Keep writes the file beside the schedule that is in a directory, atomically. nil removes the file of an earlier schedule.
func (f *Final) Keep(dir string, s Schedule) error {
	path := filepath.Join(dir, FinalName)
	if f == nil {
		return remove(path)
	}
	out := Final{Format: finalFormat, Key: s.Key, Created: s.Created, First: f.First, Confirmed: f.Confirmed, Peers: f.Peers}
	for _, s := range out.series() {
		list := slices.Clone((*s.list)[:min(len(*s.list), mostCompared)])
		for i := range list {
			list[i] = list[i].kept()
		}
		*s.list = list
	}
	if err := out.validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeJSON(path, out)
}

// KeepPeers adds what was measured beside the exported point, whose key is given, to the run in a directory. Where the run has no schedule,
// or one of another point, nothing changes.
func KeepPeers(dir, key string, peers []Compared) error {
	s, err := ReadSchedule(filepath.Join(dir, ScheduleName))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && s.Key != key:
		return nil
	case err != nil:
		return err
	}
	f, err := ReadFinal(dir)
	if err != nil || !f.Of(s) {
		f = Final{} // what is there is of no use
	}
	f.Peers = peers
	return f.Keep(dir, s)
}

// MoveFinal moves the file from one directory to another, after its schedule. Where there is none, it removes the other one.
func MoveFinal(from, to string) error {
	err := os.Rename(filepath.Join(from, FinalName), filepath.Join(to, FinalName))
	if errors.Is(err, fs.ErrNotExist) {
		return remove(filepath.Join(to, FinalName))
	}
	if err != nil {
		return err
	}
	return files.SyncDir(to)
}

// remove removes a file that may be missing.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
