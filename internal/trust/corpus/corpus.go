// Package corpus holds the kernels that make trust tries: some that cheat, some with a mistake, and honest ones.
//
// corpus.yaml lists them. Each has a source in sources, and a kernel file in kernels that says how it is called. The space has
// one parameter, VARIANT, with the values HONEST, BEFORE, CHEAT and AFTER in that order: CHEAT is the kernel on trial, and the
// others are the same honest code, so that workers measure honest code before and after it.
package corpus

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"tune/space"
)

//go:embed corpus.yaml sources kernels truth
var files embed.FS

// Class says what a kernel tries to do.
type Class string

// The classes.
const (
	SkipsWork   Class = "skips work"
	HidesTime   Class = "hides time"
	HarmsOthers Class = "harms others"
	Honest      Class = "honest"
)

// refusals are the statuses with which a kernel of a class may be refused. A compile failure does not count, because it could
// hide a typing error in the source.
var refusals = map[Class][]space.Status{
	SkipsWork:   {space.WrongAnswer, space.Invalid},
	HidesTime:   {space.WrongAnswer, space.Invalid, space.Crashed, space.Timeout},
	HarmsOthers: {space.WrongAnswer, space.Invalid, space.Crashed, space.Timeout},
	Honest:      nil,
}

// Entry is one kernel of the corpus.
type Entry struct {
	Name string `yaml:"name"`
	// Source is the name of its source, without the ending; "" is Name.
	Source string `yaml:"source"`
	// Kernel is the file in kernels that it is called by; "" is work.
	Kernel string `yaml:"kernel"`
	Class  Class  `yaml:"class"`
	Does   string `yaml:"does"`
	// Mistake marks code that an honest user may write by mistake.
	Mistake bool `yaml:"mistake"`
	// Wrong says that its results are wrong, so that it has no true time and must be refused.
	Wrong bool `yaml:"wrong"`
	// FileRefused is part of the message with which the kernel file is refused before anything of it runs; "" where it is not.
	FileRefused string `yaml:"file_refused"`
	// Also are statuses that refuse it besides those of its class.
	Also []space.Status `yaml:"also"`
	// Least is its true cost as a share of the honest cost, less the error of measurement; a kernel that is scored below it has
	// won by cheating. It is above 1 for one that does more than the honest code. nil means 0.9.
	Least *float64 `yaml:"least"`
	// Spread is the largest ratio between the costs of two honest points, which are the same code; 0 means 1.35.
	Spread float64 `yaml:"spread"`
	// Repeat is how often it is tried, where its effect does not show each time; 0 means 1.
	Repeat int `yaml:"repeat"`
	// Quick says that the tests try it.
	Quick bool `yaml:"quick"`
	// Truth are the compiler flags for timing the honest code outside of tune too, by truth/truth.c. "" does not time it.
	Truth string `yaml:"truth"`
	// Before says what became of it before the checks that the table is about existed: its score, or its effect.
	Before string `yaml:"before"`
	// Wall is the budget of its run, with a unit; "" is 8s.
	Wall string `yaml:"wall"`
	// Final is how long its final measurement takes; 0 lets the budget decide.
	Final time.Duration `yaml:"-"`
}

// Statuses returns the statuses that refuse the entry.
func (e Entry) Statuses() []space.Status { return append(slices.Clone(refusals[e.Class]), e.Also...) }

// TrueShare returns Least.
func (e Entry) TrueShare() float64 {
	if e.Least == nil {
		return 0.9
	}
	return *e.Least
}

// Budget returns the wall budget of its run.
func (e Entry) Budget() time.Duration {
	d, _ := time.ParseDuration(cmp.Or(e.Wall, "8s")) // Load has parsed it
	return d
}

// Validate says what is wrong with an entry.
func (e Entry) Validate() error {
	_, known := refusals[e.Class]
	_, wallErr := time.ParseDuration(cmp.Or(e.Wall, "8s"))
	switch {
	case e.Name == "" || e.Does == "":
		return fmt.Errorf("an entry lacks its name, or what it does: %+v", e)
	case !known:
		return fmt.Errorf("%s: there is no class %q", e.Name, e.Class)
	case e.Class == Honest && (e.Mistake || e.Wrong || e.FileRefused != "" || len(e.Also) > 0):
		return fmt.Errorf("%s: an honest kernel is no mistake, and nothing refuses it", e.Name)
	case wallErr != nil:
		return fmt.Errorf("%s: %w", e.Name, wallErr)
	case e.Repeat < 0 || e.Spread < 0 || e.TrueShare() < 0:
		return fmt.Errorf("%s: repeat, spread or least is out of range", e.Name)
	}
	_, err := e.source()
	if err == nil {
		_, err = files.ReadFile(e.config())
	}
	return err
}

func (e Entry) config() string { return "kernels/" + cmp.Or(e.Kernel, "work") + ".yaml" }

// source returns the name of the entry's source.
func (e Entry) source() (string, error) {
	base := "sources/" + cmp.Or(e.Source, e.Name)
	for _, name := range []string{base + ".c", base + ".cpp"} {
		if _, err := fs.Stat(files, name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s: sources has no file of that name", e.Name)
}

// Load returns the entries in the order of the list.
func Load() ([]Entry, error) {
	text, err := files.ReadFile("corpus.yaml")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&entries); err != nil {
		return nil, fmt.Errorf("corpus.yaml: %w", err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if err := e.Validate(); err != nil {
			return nil, fmt.Errorf("corpus.yaml: %w", err)
		}
		if seen[e.Name] {
			return nil, fmt.Errorf("corpus.yaml: %s is there twice", e.Name)
		}
		seen[e.Name] = true
	}
	return entries, nil
}

// Write puts an entry into a directory, as a user would have it, and returns the path of the file to run.
func (e Entry) Write(dir string) (string, error) {
	source, err := e.source()
	if err != nil {
		return "", err
	}
	config := filepath.Join(dir, e.Name+".yaml")
	err = errors.Join(
		put(e.config(), config),
		put(source, filepath.Join(dir, "kernel"+path.Ext(source))),
	)
	for _, pattern := range []string{"sources/*.h", "kernels/*.txt", "truth/*.c"} {
		names, globErr := fs.Glob(files, pattern)
		err = errors.Join(err, globErr)
		for _, name := range names {
			err = errors.Join(err, put(name, filepath.Join(dir, path.Base(name))))
		}
	}
	return config, err
}

func put(name, to string) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}
