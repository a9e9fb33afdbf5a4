package results

import (
	"fmt"
	"path/filepath"

	"tune/internal/files"
	"tune/space"
)

// sourcesName is the name of the file in a run directory with the measurements that the strategy started from. They are kept so
// that the run can be resumed and replayed when the sources have changed or are gone.
const sourcesName = "from.json"

const sourcesFormat = 1

// sourcesFile is the form of sources on disk, with keys in place of points.
type sourcesFile struct {
	Format  int          `json:"format"`
	Sources []sourceFile `json:"sources"`
}

type sourceFile struct {
	Name         string        `json:"name"`
	Observations []observation `json:"observations"`
}

type observation struct {
	Key     string        `json:"key"`
	Outcome space.Outcome `json:"outcome"`
}

// UnmarshalJSON rejects an observation without a point at once: a list of millions of empty ones would take a hundred times the
// memory of its text. Its names are looked at with those of the whole file.
func (o *observation) UnmarshalJSON(text []byte) error {
	type plain observation
	if err := knownJSON(text, (*plain)(o)); err != nil {
		return err
	}
	return required(field{"key", o.Key})
}

// WriteSources writes the measurements that a run begins with into its directory.
func WriteSources(dir string, sources []space.Source) error {
	f := sourcesFile{Format: sourcesFormat}
	for _, s := range sources {
		out := sourceFile{Name: s.Name}
		for _, o := range s.Observations {
			out.Observations = append(out.Observations, observation{o.Point.Key(), o.Outcome})
		}
		f.Sources = append(f.Sources, out)
	}
	return writeJSON(filepath.Join(dir, sourcesName), f)
}

// ReadSources reads what WriteSources wrote, as points of the space of the run. Its errors name the file and the field.
func ReadSources(dir string, s *space.Space) ([]space.Source, error) {
	path := filepath.Join(dir, sourcesName)
	var f sourcesFile
	if err := readJSON(path, sourcesFormat, files.Earlier, &f); err != nil {
		return nil, err
	}
	var out []space.Source
	for i, in := range f.Sources {
		source := space.Source{Name: in.Name}
		for j, o := range in.Observations {
			bad := func(name string, err error) error {
				return fmt.Errorf("%s: field sources[%d].observations[%d].%s: %w", path, i, j, name, err)
			}
			if err := o.Outcome.Validate(); err != nil {
				return nil, bad("outcome", err)
			}
			point, err := s.Parse(o.Key)
			if err != nil {
				return nil, bad("key", err)
			}
			source.Observations = append(source.Observations, space.Observation{Point: point, Outcome: o.Outcome})
		}
		out = append(out, source)
	}
	return out, nil
}
