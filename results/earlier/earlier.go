// Package earlier reads what was measured before, and carries it over to the space of a new run.
package earlier

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
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
	"tune/space"
)

// Earlier is what was measured before, perhaps of another shape or on another machine: an earlier run, a schedule, or a
// file of measurements. A strategy may begin with it.
type Earlier struct {
	File results.File
	// Kernel is the kernel of tune that was measured; "" for a file of measurements, and for a run of one.
	Kernel string
	// Program says that the kernel is a program's own, whatever its name is.
	Program bool
	// function is what a file of measurements says that it is of, "" where it does not.
	function string
	// parameters are the names of all that varied.
	parameters map[string]bool
	// measurements in their order
	measurements []measurement
}

// measurement is a configuration of some space, and what became of it.
type measurement struct {
	// value returns the value of a parameter, in the kind of that where it can be; false where the configuration has none.
	value   func(space.Parameter) (space.Value, bool)
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
	e := &Earlier{File: fileOf(path, data), parameters: map[string]bool{}}
	var head struct {
		Key   string          `json:"key"`
		Point json.RawMessage `json:"point"`
	}
	if json.Unmarshal(data, &head) == nil && head.Key != "" && head.Point != nil {
		s, err := results.ReadSchedule(path)
		if err != nil {
			return nil, err
		}
		e.Kernel, e.Program = kernelOf(s.Kernel), s.Program
		return e, e.add(path, s.Key, space.Outcome{Status: space.OK, Cost: s.Cost, Metrics: s.Metrics})
	}
	f, err := exchange.Read(path, data)
	if err != nil {
		return nil, err
	}
	e.function = f.Kernel
	f.Slim()
	column := map[string]int{}
	for i, p := range f.Parameters {
		e.parameters[p.Name], column[p.Name] = true, i
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		e.measurements = append(e.measurements, measurement{outcome: row.Outcome, value: func(p space.Parameter) (space.Value, bool) {
			at, ok := column[p.Name]
			if !ok {
				return space.Value{}, false
			}
			return f.Parameters[at].At(row.Ordinals[at]), true
		}})
	}
	return e, nil
}

func fileOf(path string, data []byte) results.File {
	sum := sha256.Sum256(data)
	return results.File{Path: path, SHA256: hex.EncodeToString(sum[:])}
}

// earlierRun reads the outcomes of a run. Its kernel need not be known here.
func earlierRun(dir string) (*Earlier, error) {
	run, err := results.Read(dir)
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(filepath.Join(dir, results.JournalName))
	if err != nil {
		return nil, err
	}
	e := &Earlier{File: results.File{Path: dir, SHA256: sum}, Kernel: kernelOf(run.Settings.Kernel), Program: run.Settings.Program, parameters: map[string]bool{}}
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
	e.measurements = append(e.measurements, measurement{outcome: o, value: func(p space.Parameter) (space.Value, bool) {
		text, ok := texts[p.Name]
		if !ok {
			return space.Value{}, false
		}
		if v, err := p.ParseValue(text); err == nil {
			return v, true
		}
		return space.GuessValue(text), true
	}})
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
// its name, and has any of the parameters that vary here; program says whether the kernel of the problem is a program's own, as which
// alone it starts from runs of such a kernel. A file of measurements has at least half of the parameters; where it names
// another function, which may be called differently on each device, it has all of them.
func (e *Earlier) Fits(kernel string, program bool, p kernels.Problem) error {
	fault := func(format string, args ...any) error {
		return &OtherKernelError{e.File.Path, fmt.Sprintf(format, args...)}
	}
	if e.Kernel != "" && e.Kernel != kernel {
		return fault("is of kernel %s, and this run is of %s", e.Kernel, kernel)
	}
	if e.Program && !program {
		return fault("is of the kernel %s of a Go program, and this run is not", e.Kernel)
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

// Carry carries earlier measurements over to a space, and counts what became of them. Of several that come to the same point
// the best stands, the first of equally good ones.
func (e *Earlier) Carry(s *space.Space) (space.Source, results.From) {
	source := space.Source{Name: e.File.Path}
	from := results.From{File: e.File}
	at := map[string]int{}
	for _, m := range e.measurements {
		point, ok := adapt(s, m.value)
		if !ok {
			from.Dropped++
			continue
		}
		same := true
		for _, p := range s.Parameters() {
			if has, active := point.Value(p.Name); active {
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
			at[key] = len(source.Observations)
			source.Observations = append(source.Observations, space.Observation{Point: point, Outcome: o})
		} else if (space.Objective{}).Less(o, source.Observations[i].Outcome) {
			source.Observations[i].Outcome = o
		}
	}
	return source, from
}
