package results

import (
	"fmt"
	"path/filepath"

	"tune/internal/files"
	"tune/space"
)

// PriorName is the name of the file in a run directory with the measurements that the strategy started from. They are kept so
// that the run can be resumed and replayed when the sources have changed or are gone.
const PriorName = "from.json"

const priorFormat = 1

// Prior is what a strategy saw of one source.
type Prior struct {
	Name         string        `json:"name"` // of the source
	Observations []Observation `json:"observations"`
}

// Observation is a point of the run's own space with an earlier measurement, taken there or at the point that corresponds to it.
type Observation struct {
	Key     string        `json:"key"`
	Outcome space.Outcome `json:"outcome"`
}

// UnmarshalJSON rejects an observation without a point at once: a list of millions of empty ones would take a hundred times the
// memory of its text.
func (o *Observation) UnmarshalJSON(text []byte) error {
	type plain Observation
	if err := strictJSON(text, (*plain)(o)); err != nil {
		return err
	}
	return required(field{"key", o.Key})
}

type priorFile struct {
	Format  int     `json:"format"`
	Sources []Prior `json:"sources"`
}

// WritePrior writes the measurements that a run begins with into its directory.
func WritePrior(dir string, sources []Prior) error {
	return writeJSON(filepath.Join(dir, PriorName), priorFile{priorFormat, sources})
}

// ReadPrior reads what WritePrior wrote. Its errors name the file and the field.
func ReadPrior(dir string) ([]Prior, error) {
	path := filepath.Join(dir, PriorName)
	var f priorFile
	if err := readJSON(path, priorFormat, files.Earlier, &f); err != nil {
		return nil, err
	}
	for i, s := range f.Sources {
		for j, o := range s.Observations {
			if err := o.Outcome.Validate(); err != nil {
				return nil, fmt.Errorf("%s: field sources[%d].observations[%d].outcome: %w", path, i, j, err)
			}
		}
	}
	return f.Sources, nil
}
