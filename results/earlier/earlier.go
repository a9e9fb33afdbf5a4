// Package earlier reads what was measured before, and carries it over to the space of a new run.
package earlier

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results"
	"tune/results/exchange"
	"tune/search"
	"tune/space"
)

// Earlier is what was measured before, perhaps of another shape or on another machine: an earlier run, a schedule, or a
// file of measurements. A strategy may begin with it.
type Earlier struct {
	Source results.Source
	// Kernel is the kernel of tune that was measured; "" for a file of measurements, and for a run of one.
	Kernel string
	// function is what a file of measurements says that it is of, "" where it does not.
	function string
	// parameters are the names of all that varied.
	parameters map[string]bool
	// measurements in their order
	measurements []measurement
}

// measurement is a configuration of some space, and what became of it.
type measurement struct {
	texts   map[string]string      // the values as they stand in a key, by parameter
	values  map[string]space.Value // the values themselves, where they are known
	outcome space.Outcome
}

// Read reads a run directory, a schedule, or a file in a format of package exchange.
func Read(path string) (*Earlier, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return earlierRun(path)
	}
	data, err := files.Read(path, files.Data)
	if err != nil {
		return nil, err
	}
	e := &Earlier{Source: sourceOf(path, data), parameters: map[string]bool{}}
	var head struct {
		Key   string          `json:"key"`
		Point json.RawMessage `json:"point"`
	}
	if json.Unmarshal(data, &head) == nil && head.Key != "" && head.Point != nil {
		s, err := results.ReadSchedule(path)
		if err != nil {
			return nil, err
		}
		e.Kernel = kernelOf(s.Kernel)
		return e, e.add(path, s.Key, space.Outcome{Status: space.OK, Cost: s.Cost, Metrics: s.Metrics})
	}
	f, err := exchange.Read(path, data)
	if err != nil {
		return nil, err
	}
	e.function = f.Kernel
	for _, p := range f.Parameters {
		e.parameters[p.Name] = true
	}
	for i := range f.Rows {
		m := measurement{values: map[string]space.Value{}, outcome: f.Rows[i].Outcome}
		for j, v := range f.Values(&f.Rows[i]) {
			m.values[f.Parameters[j].Name] = v
		}
		e.measurements = append(e.measurements, m)
	}
	return e, nil
}

func sourceOf(path string, data []byte) results.Source {
	sum := sha256.Sum256(data)
	return results.Source{Path: path, SHA256: hex.EncodeToString(sum[:])}
}

// earlierRun reads the outcomes of a run. Its kernel need not be known here.
func earlierRun(dir string) (*Earlier, error) {
	if _, err := os.Stat(filepath.Join(dir, results.SettingsName)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run directory: it has no %s", dir, results.SettingsName)
	}
	run, err := results.Read(dir)
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(filepath.Join(dir, results.JournalName))
	if err != nil {
		return nil, err
	}
	e := &Earlier{Source: results.Source{Path: dir, SHA256: sum}, Kernel: kernelOf(run.Settings.Kernel), parameters: map[string]bool{}}
	for r, err := range run.LastEnd().Trim(run).Rounds() {
		if err != nil {
			return nil, err
		}
		for _, entry := range r.Entries {
			if entry.Outcome.Fidelity != 0 {
				continue
			}
			if err := e.add(dir, entry.Key, entry.Outcome); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// sumOf returns the SHA-256 sum of a file in hexadecimal.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (e *Earlier) add(path, key string, o space.Outcome) error {
	texts, err := space.KeyTexts(key)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name := range texts {
		e.parameters[name] = true
	}
	e.measurements = append(e.measurements, measurement{texts: texts, outcome: o})
	return nil
}

// kernelOf returns the kernel of a run or schedule, "" for measurements of something else.
func kernelOf(name string) string {
	if name == recorded.Name {
		return ""
	}
	return name
}

// OtherKernelError says that earlier measurements are of another kernel than the one of a run: what was good there says
// nothing here, and would lead the search astray.
type OtherKernelError struct {
	Path   string
	Reason string
}

func (e *OtherKernelError) Error() string { return e.Path + " " + e.Reason }

// Fits returns an *OtherKernelError where the measurements are not of the kernel of a problem. Shapes, devices and versions
// may differ, and so may a part of the parameters, of which some are inactive at many points. A run is of the same kernel by
// its name, and has any of the parameters that vary here. A file of measurements has at least half of them; where it names
// another function, which may be called differently on each device, it has all of them.
func (e *Earlier) Fits(kernel string, p kernels.Problem) error {
	fault := func(format string, args ...any) error {
		return &OtherKernelError{e.Source.Path, fmt.Sprintf(format, args...)}
	}
	if e.Kernel != "" && e.Kernel != kernel {
		return fault("is of kernel %s, and this run is of %s", e.Kernel, kernel)
	}
	function := kernel
	if o := p.Traits().Origin; o != nil {
		function = o.Kernel
	}
	var shared, missing []string
	for _, parameter := range p.Space().Parameters() {
		switch {
		case parameter.Len() < 2:
		case e.parameters[parameter.Name]:
			shared = append(shared, parameter.Name)
		default:
			missing = append(missing, parameter.Name)
		}
	}
	switch {
	case e.Kernel == "" && len(missing) > len(shared) || len(missing) > 0 && len(shared) == 0:
		return fault("varies %s, and this space also %s: it is of another kernel", listed(e.parameters), strings.Join(missing, ", "))
	case len(missing) > 0 && e.function != "" && function != "" && e.function != function:
		return fault("measures the kernel %s, and not %s, and does not vary %s", e.function, function, strings.Join(missing, ", "))
	}
	return nil
}

func listed(names map[string]bool) string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(names)), ", "), "nothing")
}

// value returns the value of a parameter, in the kind of that where it can be.
func (m measurement) value(p space.Parameter) (space.Value, bool) {
	text, ok := m.texts[p.Name]
	if !ok {
		v, ok := m.values[p.Name]
		return v, ok
	}
	if v, err := p.ParseValue(text); err == nil {
		return v, true
	}
	return space.GuessValue(text), true
}

// Prior carries earlier measurements over to a space. Of several that come to the same point the best stands, the first
// of equally good ones.
func (e *Earlier) Prior(s *space.Space) (results.Prior, results.From) {
	prior := results.Prior{Name: e.Source.Path}
	from := results.From{Source: e.Source}
	params := map[string]space.Parameter{}
	for _, p := range s.Parameters() {
		params[p.Name] = p
	}
	at := map[string]int{}
	for _, m := range e.measurements {
		point, ok := search.AdaptValues(s, func(name string) (space.Value, bool) { return m.value(params[name]) })
		if !ok {
			from.Dropped++
			continue
		}
		same := true
		for name, p := range params {
			if has, active := point.Value(name); active {
				v, ok := m.value(p)
				o, found := p.Ordinal(v)
				same = same && ok && found && p.At(o) == has
			}
		}
		if same {
			from.Same++
		} else {
			from.Adapted++
		}
		o := m.outcome
		o.Seconds, o.Metrics = 0, nil // of another machine, and of no use here
		key := point.Key()
		if i, known := at[key]; !known {
			at[key] = len(prior.Observations)
			prior.Observations = append(prior.Observations, results.Observation{Key: key, Outcome: o})
		} else if (space.Objective{}).Less(o, prior.Observations[i].Outcome) {
			prior.Observations[i].Outcome = o
		}
	}
	return prior, from
}

// Sources makes of what a run began with what its strategy is told.
func Sources(s *space.Space, prior []results.Prior) ([]search.Source, error) {
	var out []search.Source
	var objective space.Objective
	for _, p := range prior {
		source := search.Source{Name: p.Name}
		for _, o := range p.Observations {
			point, err := s.Parse(o.Key)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", results.PriorName, err)
			}
			source.Observations = append(source.Observations, search.Observation{Point: point, Outcome: o.Outcome})
		}
		// The best first, so that no strategy has to look for them.
		slices.SortStableFunc(source.Observations, func(a, b search.Observation) int {
			switch {
			case objective.Less(a.Outcome, b.Outcome):
				return -1
			case objective.Less(b.Outcome, a.Outcome):
				return 1
			}
			return cmp.Compare(a.Point.Key(), b.Point.Key())
		})
		out = append(out, source)
	}
	return out, nil
}
