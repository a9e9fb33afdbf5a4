package strategies

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tune/search/constant"
)

// Parse reads a strategy as users write it: its name, or its name with some of its constants,
//
//	auto
//	auto:lead=100,batch=16
//
// Constants that are not named have their defaults. An error names the strategy, the constant and the values that it allows, and
// suggests the nearest name.
func Parse(text string) (Strategy, error) {
	name, constants, some := strings.Cut(text, ":")
	s, err := Lookup(name)
	if err != nil || !some {
		return s, err
	}
	return s.with(constants)
}

// with returns the strategy with its constants set from constant=value,…, and the defaults for the others.
func (s Strategy) with(text string) (Strategy, error) {
	named, err := s.parse(text)
	if err == nil {
		s.values, err = s.resolve(named)
	}
	if err != nil {
		return Strategy{}, err
	}
	return s, nil
}

// parse reads constant=value,…; the values that it does not name are NaN.
func (s Strategy) parse(text string) ([]float64, error) {
	values, err := constant.Parse(s.Constants, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return values, nil
}

// Split restores the texts of strategies from a list that was cut at each comma: a piece of the form constant=value, without the
// name of a strategy and a colon, belongs to the text before it. So auto,auto:lead=50,batch=16 are two strategies.
func Split(pieces []string) []string {
	var out []string
	for _, piece := range pieces {
		at, colon := strings.Index(piece, "="), strings.Index(piece, ":")
		if len(out) > 0 && at >= 0 && (colon < 0 || colon > at) {
			out[len(out)-1] += "," + piece
			continue
		}
		out = append(out, strings.TrimSpace(piece))
	}
	return out
}

// Text returns the text that Parse reads as this strategy: its name, with the constants that differ from their defaults.
func (s Strategy) Text() string {
	named := make([]float64, len(s.values))
	for i, v := range s.values {
		if named[i] = math.NaN(); v != s.Constants[i].Default {
			named[i] = v
		}
	}
	// A default may depend on constants that are given.
	if others, err := s.resolve(named); err == nil {
		for i, v := range s.values {
			if others[i] != v {
				named[i] = v
			}
		}
	}
	changed := constant.Format(s.Constants, s.values, func(i int) bool { return !math.IsNaN(named[i]) })
	if changed == "" {
		return s.Name
	}
	return s.Name + ":" + changed
}

// Config returns all constants, as constant=value,… in the order of Constants, for the record of a run.
func (s Strategy) Config() string {
	return constant.Format(s.Constants, s.values, func(int) bool { return true })
}

// Recorded returns the strategy of a run that was recorded with a name, the text of Config and a version. Runs that are older
// than these records have neither; that stands for version 1 with its defaults. Another version is an error. own are strategies
// that are in no table: see Own.
func Recorded(name, config string, version int, own ...Strategy) (Strategy, error) {
	s, err := Lookup(name)
	if i := slices.IndexFunc(own, func(o Strategy) bool { return o.Name == name }); i >= 0 {
		if err := own[i].Validate(); err != nil {
			return Strategy{}, err
		}
		s, err = own[i], nil
	}
	if err != nil {
		return Strategy{}, fmt.Errorf("%w; a strategy of a program's own is known to that program alone", err)
	}
	if version == 0 {
		version = 1
	}
	if version != s.Version {
		return Strategy{}, fmt.Errorf("the run was made with version %d of strategy %s; this is version %d, which asks for other points: start a new run", version, name, s.Version)
	}
	if config == "" {
		return s, nil
	}
	if s, err = s.with(config); err != nil {
		return Strategy{}, fmt.Errorf("the recorded constants of the strategy: %w", err)
	}
	return s, nil
}

// Label is the Text of a recorded strategy, or its name where this version of tune does not know its constants.
func Label(name, config string, version int) string {
	s, err := Recorded(name, config, version)
	if err != nil {
		return name
	}
	return s.Text()
}

// Agrees returns nil where a text names this strategy with the same values: every constant that the text gives must have that
// value here.
func (s Strategy) Agrees(text string) error {
	name, constants, some := strings.Cut(text, ":")
	other := name != s.Name
	if _, err := Lookup(name); other && err != nil {
		return err
	}
	if !other && some {
		named, err := s.parse(constants)
		if err != nil {
			return err
		}
		for i, v := range named {
			other = other || !math.IsNaN(v) && v != s.values[i]
		}
	}
	if other {
		return fmt.Errorf("the run has strategy %s, not %s: a run keeps its strategy and constants; name them as they are or not at all, or start a new run", s.Text(), text)
	}
	return nil
}
