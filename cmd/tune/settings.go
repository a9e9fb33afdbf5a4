package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"tune/configs"
	"tune/internal/files"
	"tune/internal/pattern"
	"tune/kernels/user"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// settings are the tool's settings for a run. In order of precedence they come from flags, the environment, a preset or file
// named by --config, the files that tune looks for, and the defaults.
type settings struct {
	kernel   string
	shape    string
	strategy string
	// objective is what the run looks for, as space.ParseGoals reads it in the unit of a kernel; "" for the least cost.
	objective string
	seed      uint64
	budget    search.Budget // without its target
	target    string        // as the user wrote it, in a unit that the kernel decides on; "" for none
	jobs      int
	final     time.Duration // 0: not set
	out       string
	dir       string
	db        string // the file of the index of runs, or dbOff; "" for the usual one
	data      string
	found     string      // which kernel a run is of and why, where no argument, flag or variable names it; otherwise ""
	preset    user.Preset // of the kernel's file that the run is of; the zero value for none
	// texts are the values that are set, as users write them, by key. from says where each comes from, for errors; a default has
	// no source.
	texts, from map[string]string
}

// blame says which setting an error is about.
func (s settings) blame(key string, err error) error {
	if err == nil || ofMachine(err) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), key+": ")
	from := s.from[key]
	switch {
	case inFile(err) && from == "":
		return ofFile(errors.New(text))
	case inFile(err):
		return ofFile(fmt.Errorf("%s: %s", from, text))
	case from == "":
		return usage(errors.New(text))
	case strings.HasPrefix(from, "--"):
		return usage(fmt.Errorf("%s: %s", from, text))
	}
	return usage(fileFault{fmt.Errorf("%s: %s", from, text)})
}

var startsNumber = pattern.Lazy(`^[-+]?[0-9]`)

// budgetIn returns the budget, with the target as a cost in the unit of a kernel.
func (s settings) budgetIn(unit space.Unit) (search.Budget, error) {
	if s.target == "" {
		return s.budget, nil
	}
	cost, err := unit.Parse(s.target)
	if err != nil {
		return search.Budget{}, s.blame("target", err)
	}
	b := s.budget
	b.Target = &cost
	return b, nil
}

// newBudget is budgetIn for a new run, which has a limit in any case.
func (s settings) newBudget(unit space.Unit) (search.Budget, error) {
	if s.budget.Wall == 0 && s.budget.Evaluations == 0 {
		s.budget.Wall = defaultBudget
	}
	return s.budgetIn(unit)
}

// setting is one key of the settings. Every value is parsed from its text, wherever it comes from: viper's own conversions would
// read a budget of 60 as 60 ns and a seed of -1 as 2^64-1.
type setting struct {
	key   string
	usage string
	value string // the default, as users write it; "" where unset means none
	parse func(*settings, string) error
	words bool // the value is text, so that YAML of another type is a mistake
	of    settingOf
}

// jobsUsage is what --jobs means to a command.
const jobsUsage = "`number` of candidates evaluated at once (default: one for each core)"

// settingOf says how long a setting of a run holds.
type settingOf int

const (
	ofRun     settingOf = iota + 1 // the run keeps it from its beginning
	ofSitting                      // whoever resumes the run may change it
	ofPlace                        // it says where the run is kept, and is no part of it
)

var settingTable = []setting{
	{"kernel", "`kernel` to tune (see tune list)", defaultKernel, text(func(s *settings, v string) { s.kernel = v }), true, ofRun},
	{"shape", "`shape` of the problem, as name=value,…; fields left out take their defaults; may be given several times", "", func(s *settings, v string) error {
		s.shape = v // which may be empty: all defaults
		return nil
	}, true, ofRun},
	{"data", "`file` of measurements, for the kernel 'recorded'", "", text(func(s *settings, v string) { s.data = v }), true, ofRun},
	{"strategy", "search `strategy`: " + strings.Join(strategies.Names(), ", ") + " (default: the kernel's own, see tune list, else " + strategies.Default + "), or a strategy with constants, such as auto:lead=100,batch=16 (see tune list strategies)", "", func(s *settings, v string) error {
		if v == "" {
			return errors.New("is empty: write a value, or leave it out")
		}
		s.strategy = v
		_, err := strategies.Parse(v)
		return err
	}, true, ofRun},
	{"objective", "`numbers` to optimise together, the cost among them: time,error or cycles,load or time,size or cost,NAME:maximise, where NAME is a metric. With :5% or :0.1 after one, smaller differences in it do not count. The run keeps every point that no other point beats (default: the cost alone)", "", text(func(s *settings, v string) { s.objective = v }), true, ofRun},
	{"seed", "`seed` of the search: the same seed gives the same run", "1", func(s *settings, v string) (err error) {
		s.seed, err = parseSeed(v)
		return err
	}, false, ofRun},
	{"budget", "wall `time` to spend, with a unit: 90s, 10m, 1h30m (default 2m, if evals is not given). The final measurement is part of it, but takes some seconds at least, so that budgets below 30s may be exceeded", "", func(s *settings, v string) (err error) {
		s.budget.Wall, err = parseDuration(v)
		return err
	}, false, ofSitting},
	{"evals", "`number` of evaluations to spend", "", func(s *settings, v string) (err error) {
		s.budget.Evaluations, err = parseCount(v)
		return err
	}, false, ofSitting},
	{"target", "stop at the first candidate that is as good as this `cost`: a time with a unit, such as 100us; a number alone, such as 900, where costs are no times; or a rate, for a kernel that is tuned for one", "", func(s *settings, v string) error {
		if s.target = strings.TrimSpace(v); !startsNumber().MatchString(s.target) {
			return fmt.Errorf("%s: want a number, and where costs are times a unit, such as 100us", quoted(v))
		}
		return nil
	}, false, ofSitting},
	{"jobs", jobsUsage + "; with --evals and exact costs it changes nothing in the result, except in measured spaces, where it is the number of simulated workers", "", func(s *settings, v string) (err error) {
		s.jobs, err = parseCount(v)
		return err
	}, false, ofSitting},
	{"final", "roughly how long the final measurement against the baseline may take, a `time` with a unit (default 30s, within the budget)", "", func(s *settings, v string) (err error) {
		s.final, err = parseDuration(v)
		return err
	}, false, ofSitting},
	{"out", "`folder` that run directories are made in", "runs", text(func(s *settings, v string) { s.out = v }), true, ofPlace},
	{"dir", "run `directory` (default OUT/KERNEL-TIME-SEED)", "", text(func(s *settings, v string) { s.dir = v }), true, ofPlace},
	{"db", "`file` of the index of runs, or off (default: tune/tune.db in the user's data folder)", "", text(func(s *settings, v string) { s.db = v }), false, ofPlace},
}

const (
	defaultKernel = "treehash"
	defaultBudget = 2 * time.Minute
)

func text(set func(*settings, string)) func(*settings, string) error {
	return func(s *settings, v string) error {
		if v == "" {
			return errors.New("is empty: write a value, or leave it out")
		}
		if rest, home := strings.CutPrefix(v, "~/"); home {
			return fmt.Errorf("%s: only a shell takes ~ for the home folder, and only at the beginning of a word: write the whole path, or \"$HOME/%s\" in a shell", v, rest)
		}
		set(s, v)
		return nil
	}
}

// quoted shows a value in an error; an empty one would not be seen.
func quoted(v string) string {
	if v == "" {
		return `""`
	}
	return v
}

func parseSeed(v string) (uint64, error) {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: want a whole number from 0 to %d", quoted(v), uint64(math.MaxUint64))
	}
	return n, nil
}

func parseCount(v string) (int, error) {
	n, err := strconv.Atoi(v)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0:
		return 0, fmt.Errorf("%s: want a whole number of at most %d", quoted(v), math.MaxInt)
	case err != nil || n < 1:
		return 0, fmt.Errorf("%s: want a whole number, 1 or more", quoted(v))
	}
	return n, nil
}

// parseDuration reads a duration with a unit.
func parseDuration(v string) (time.Duration, error) {
	t := strings.TrimSpace(v)
	d, err := time.ParseDuration(t)
	switch n, nerr := strconv.ParseFloat(t, 64); {
	case nerr == nil && space.Finite(n):
		if n <= 0 {
			return 0, fmt.Errorf("%s: want more than 0, with a unit: write it as 90s, 10m or 1h30m", t)
		}
		return 0, fmt.Errorf("%s has no unit: write %ss, %sm or %sh", t, t, t, t)
	case err == nil && d <= 0:
		return 0, fmt.Errorf("%s: want more than 0", t)
	case err == nil:
		return d, nil
	}
	for _, word := range letters().FindAllString(t, -1) {
		switch near := nearestUnit(word); near {
		case "d":
			return 0, fmt.Errorf("%s: unknown unit %q: want h, m, s or ms (a day is 24h)", t, word)
		case "", word:
		default:
			return 0, fmt.Errorf("%s: unknown unit %q: want h, m, s or ms%s", t, word, meantDuration(t))
		}
	}
	if meant := meantDuration(t); meant != "" {
		return 0, fmt.Errorf("%s is not a duration%s", t, meant)
	}
	return 0, fmt.Errorf("%s is not a duration: write it as 90s, 10m or 1h30m", quoted(t))
}

// meantDuration proposes the duration that a text with other units or blanks most likely stands for; "" where there is none.
func meantDuration(t string) string {
	meant := letters().ReplaceAllStringFunc(strings.Join(strings.Fields(t), ""), func(word string) string { return cmp.Or(nearestUnit(word), word) })
	if d, err := time.ParseDuration(meant); err != nil || d <= 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", meant)
}

var letters = pattern.Lazy(`[A-Za-z]+`)

// nearestUnit returns the unit of time that a word most likely stands for.
func nearestUnit(word string) string {
	word = strings.ToLower(word)
	for _, u := range []struct {
		unit  string
		words []string
	}{
		{"s", []string{"s", "sec", "secs", "second", "seconds"}},
		{"m", []string{"m", "min", "mins", "minute", "minutes"}},
		{"h", []string{"h", "hr", "hrs", "hour", "hours"}},
		{"ms", []string{"ms", "msec", "msecs", "millisecond", "milliseconds"}},
		{"d", []string{"d", "day", "days"}},
	} {
		if slices.Contains(u.words, word) {
			return u.unit
		}
	}
	return ""
}

// addSettings defines the flags of the given keys.
func addSettings(flags *pflag.FlagSet, keys ...string) {
	for _, s := range settingTable {
		if slices.Contains(keys, s.key) {
			short := map[string]string{"jobs": "j", "budget": "b"}[s.key]
			if s.key == "shape" {
				flags.Var(new(shapeFlag), s.key, s.usage)
				continue
			}
			flags.StringP(s.key, short, s.value, s.usage)
		}
	}
}

// shapeFlag is the text of a shape. Where the flag is given several times, each adds fields.
type shapeFlag string

// String implements pflag.Value.
func (f *shapeFlag) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *shapeFlag) Set(v string) error {
	if *f != "" && v != "" {
		v = string(*f) + "," + v
	}
	*f = shapeFlag(v)
	return nil
}

// Type implements pflag.Value.
func (f *shapeFlag) Type() string { return "string" }

// keptFlag annotates a flag of run that is no setting, and that the run keeps from its beginning, with what it is called.
const keptFlag = "kept by the run"

// keep says that a run keeps a flag from its beginning, and what it is called in "the run keeps its".
func keep(flags *pflag.FlagSet, name, called string) {
	if err := flags.SetAnnotation(name, keptFlag, []string{called}); err != nil {
		panic(err) // there is no such flag
	}
}

// kept returns what a setting or a flag of run is called that a run keeps from its beginning; "" where it is none. flags are those of run.
func kept(flags *pflag.FlagSet, name string) string {
	for _, s := range settingTable {
		if s.key == name && s.of == ofRun {
			return name
		}
	}
	if f := flags.Lookup(name); f != nil && f.Annotations[keptFlag] != nil {
		return f.Annotations[keptFlag][0]
	}
	return ""
}

// takesSettings reports whether a command has the flag --config for settings, and not only for the file of a kernel.
func takesSettings(flags *pflag.FlagSet) bool {
	f := flags.Lookup("config")
	return f != nil && strings.Contains(f.Usage, "PRESET")
}

// readSettings gathers the settings. config is a preset's name or a file; "" for none. found are files that tune has looked
// for, the strongest first. A command that takes a config takes every key from there and from the environment, any other only
// those that it has a flag for.
func readSettings(flags *pflag.FlagSet, config string, environ []string, found ...layer) (settings, error) {
	v := viper.New()
	out := settings{texts: map[string]string{}, from: map[string]string{}}
	for _, s := range settingTable {
		v.SetDefault(s.key, s.value)
	}
	layers := found
	if config != "" {
		l, err := readConfig(config)
		if err != nil {
			return settings{}, err
		}
		layers = append([]layer{l}, found...)
	}
	for _, l := range slices.Backward(layers) {
		if err := v.MergeConfigMap(l.values); err != nil {
			return settings{}, fmt.Errorf("%s: %w", l.name, err)
		}
		maps.Copy(out.from, l.places)
	}
	if err := checkEnvironment(environ); err != nil {
		return settings{}, err
	}
	for key, value := range variables(environ) {
		if flags.Lookup(key) != nil || takesSettings(flags) {
			v.Set(key, value)
			out.from[key] = "environment: " + variable(key)
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && slices.Contains(settingKeys(), f.Name) {
			v.Set(f.Name, f.Value.String())
			out.from[f.Name] = "--" + f.Name
		}
	})
	for _, s := range settingTable {
		value := v.GetString(s.key)
		if value == "" && out.from[s.key] == "" {
			continue
		}
		out.texts[s.key] = value
		if err := s.parse(&out, value); err != nil {
			return settings{}, out.blame(s.key, err)
		}
	}
	return out, nil
}

func settingKeys() []string {
	keys := make([]string, len(settingTable))
	for i, s := range settingTable {
		keys[i] = s.key
	}
	return keys
}

// settingDefault returns the default of a key.
func settingDefault(key string) string {
	return settingTable[slices.IndexFunc(settingTable, func(s setting) bool { return s.key == key })].value
}

const prefix = "TUNE_"

// variable returns the name of the environment variable of a key.
func variable(key string) string { return prefix + strings.ToUpper(key) }

// shellVariables are variables with the prefix that are no settings: cobra, which writes and answers the scripts of 'tune completion', reads
// them. TUNE_COMPLETION_DESCRIPTIONS=false leaves the descriptions of words out.
var shellVariables = []string{prefix + "COMPLETION_DESCRIPTIONS", prefix + "ACTIVE_HELP"}

// variables returns the settings in an environment, by key.
func variables(environ []string) map[string]string {
	out := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if rest, ok := strings.CutPrefix(name, prefix); ok && !slices.Contains(shellVariables, name) {
			out[strings.ToLower(rest)] = value
		}
	}
	return out
}

// checkEnvironment refuses variables that look like settings of tune and are none.
func checkEnvironment(environ []string) error {
	var names []string
	for _, key := range settingKeys() {
		names = append(names, variable(key))
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || slices.Contains(names, name) || slices.Contains(shellVariables, name) {
			continue
		}
		if n := space.Nearest(rest, settingKeys()); n != "" {
			return fileFault{fmt.Errorf("environment: unknown variable %s (did you mean %s?)", name, variable(n))}
		}
		return fileFault{fmt.Errorf("environment: unknown variable %s: want %s", name, strings.Join(names, ", "))}
	}
	return nil
}

// layer is the settings of one preset or file.
type layer struct {
	name   string
	values map[string]any    // as text, by key
	places map[string]string // where each of them stands
}

// readConfig reads the settings of a preset or a file.
func readConfig(config string) (layer, error) {
	name, data, err := openConfig(config)
	if err != nil {
		return layer{}, err
	}
	return newLayer(name, data)
}

func newLayer(name string, data []byte) (layer, error) {
	parse := parseConfig
	if user.IsKernel(data) {
		parse = parseEmbedded
	}
	values, lines, err := parse(data)
	if err != nil {
		return layer{}, fileFault{fmt.Errorf("%s: %w", name, err)}
	}
	l := layer{name, values, map[string]string{}}
	for key, line := range lines {
		l.places[key] = fmt.Sprintf("%s: line %d: %s", name, line, key)
	}
	return l, nil
}

// openConfig reads a file, or a preset that is built in.
func openConfig(config string) (name string, data []byte, err error) {
	if strings.ContainsAny(config, "./\\") {
		if err = present(config); err == nil {
			if data, err = files.Read(config, files.YAML); err != nil {
				err = fileFault{err}
			}
		}
		if err != nil {
			return "", nil, fmt.Errorf("--config: %w", err)
		}
		return config, data, nil
	}
	if data, err = configs.Read(config); err != nil {
		for _, ending := range []string{"", ".yaml", ".yml"} {
			if _, serr := os.Stat(config + ending); serr == nil {
				return "", nil, fmt.Errorf("--config: %w; for the file write ./%s", err, config+ending)
			}
		}
		return "", nil, fmt.Errorf("--config: %w", err)
	}
	return "preset " + config, data, nil
}

// parseConfig reads the settings of a file.
func parseConfig(data []byte) (values map[string]any, lines map[string]int, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	if err := decoder.Decode(&doc); err == io.EOF {
		return nil, nil, errEmpty
	} else if err != nil {
		return nil, nil, yamlError(data, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil, errEmpty
	}
	if err := decoder.Decode(new(yaml.Node)); err != io.EOF {
		return nil, nil, errors.New("it has more than one YAML document: want one")
	}
	return parseSettings(doc.Content[0], settingKeys())
}

// standsElsewhere says what to do with a key that is no setting, as the end of a message. known are those that may stand here.
func standsElsewhere(key string, known []string) string {
	switch {
	case key == "start":
		return "; points to begin with stand in space.start of a kernel file"
	case key == "kernel" && !slices.Contains(known, key):
		return "; the file of a kernel is the kernel: leave it out"
	case slices.Contains(known, "start") && space.Nearest(key, known) == "":
		return fmt.Sprintf("; the value of a parameter stands under start, as in start: [{%s: 1}]", key)
	}
	return space.DidYouMean(key, known)
}

// listSetting is the setting whose value may be a list of words, which stand for the same words with commas between them.
const listSetting = "objective"

// settingValue returns the text of the value of a setting in YAML.
func settingValue(n *yaml.Node) string {
	if n.Kind != yaml.SequenceNode {
		return n.Value
	}
	var words []string
	for _, one := range n.Content {
		words = append(words, one.Value)
	}
	return strings.Join(words, ",")
}

// checkListed refuses what is neither a single value nor a list of words, where a list may stand.
func checkListed(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode || n.Kind == yaml.AliasNode {
		return fmt.Errorf("line %d: %s: want a single value, or a list of words", n.Line, listSetting)
	}
	for _, one := range n.Content {
		if one.Kind != yaml.ScalarNode || one.Tag != "!!str" || one.Value == "" || strings.Contains(one.Value, ",") {
			return fmt.Errorf("line %d: %s: want a list of words such as [time, quality:maximise], with no blank behind a colon", one.Line, listSetting)
		}
	}
	return nil
}

// parseSettings reads one YAML mapping from known keys to single values, or for one of them a list. It returns the values as their text, which
// is parsed as that of a flag is, and the line of each. also are keys that the caller has read, for messages.
func parseSettings(root *yaml.Node, keys []string, also ...string) (values map[string]any, lines map[string]int, err error) {
	if root.Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("line %d: want settings such as budget: 90s, one a line", root.Line)
	}
	values, lines = map[string]any{}, map[string]int{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := slices.IndexFunc(settingTable, func(s setting) bool { return s.key == key.Value })
		switch {
		case at < 0 || key.Kind != yaml.ScalarNode || !slices.Contains(keys, key.Value):
			all := slices.Concat(also, keys)
			return nil, nil, fmt.Errorf("line %d: unknown key %q: want %s%s", key.Line, key.Value, strings.Join(all, ", "), standsElsewhere(key.Value, all))
		case lines[key.Value] != 0:
			return nil, nil, fmt.Errorf("line %d: %s is already set on line %d", key.Line, key.Value, lines[key.Value])
		case key.Value == listSetting && value.Kind != yaml.ScalarNode:
			if err := checkListed(value); err != nil {
				return nil, nil, err
			}
		case value.Kind != yaml.ScalarNode:
			return nil, nil, fmt.Errorf("line %d: %s: want a single value", key.Line, key.Value)
		case value.Tag == "!!null":
			return nil, nil, fmt.Errorf("line %d: %s has no value: remove the line, or write one", key.Line, key.Value)
		case settingTable[at].words && value.Tag != "!!str":
			return nil, nil, fmt.Errorf("line %d: %s: %s is not text: write it in quotes", value.Line, key.Value, value.Value)
		}
		values[key.Value], lines[key.Value] = settingValue(value), key.Line
	}
	return values, lines, nil
}

var errEmpty = errors.New("it is empty: want settings such as budget: 90s, one a line")

// yamlError says what is wrong with a text that is not YAML, without what the YAML package says of itself.
func yamlError(data []byte, err error) error {
	return errors.New(strings.TrimPrefix(strings.ReplaceAll(space.SyntaxError(data, err).Error(), "\n", " "), "yaml: "))
}
