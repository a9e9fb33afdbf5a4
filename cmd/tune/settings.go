package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"tune/configs"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// settings are the tool's settings for a run, from flags, the environment, a preset and the defaults, in this
// order of precedence.
type settings struct {
	kernel   string
	shape    string
	strategy string
	seed     uint64
	budget   search.Budget
	jobs     int
	out      string
	dir      string
}

// setting is one key of the settings. Every value arrives as text or as YAML typed it, and parse is as strict with
// both: viper's own conversions would read a budget of 60 as 60 ns and a seed of -1 as 2^64-1.
type setting struct {
	key   string
	usage string
	value string // the default, as users write it; "" where unset means none
	parse func(*settings, any) error
}

var settingTable = []setting{
	{"kernel", "`kernel` to tune (see tune list)", "treehash", text(func(s *settings, v string) { s.kernel = v })},
	{"shape", "`shape` of the problem, as name=value,…; fields left out take their defaults", "", text(func(s *settings, v string) { s.shape = v })},
	{"strategy", "search `strategy`: " + strings.Join(strategies.Names(), ", "), strategies.Default, text(func(s *settings, v string) { s.strategy = v })},
	{"seed", "`seed` of the search: one seed gives one run", "1", func(s *settings, v any) (err error) {
		s.seed, err = strconv.ParseUint(fmt.Sprint(v), 10, 64)
		return asWant(err, v, "a whole number from 0 to 18446744073709551615")
	}},
	{"budget", "wall `time` to spend, export included, with a unit: 90s, 10m, 1h30m (default 2m, where evals is not given)", "", func(s *settings, v any) (err error) {
		s.budget.Wall, err = parseDuration(v)
		return err
	}},
	{"evals", "`number` of evaluations to spend", "", func(s *settings, v any) (err error) {
		s.budget.Evaluations, err = strconv.Atoi(fmt.Sprint(v))
		if err == nil && s.budget.Evaluations < 1 {
			err = strconv.ErrRange
		}
		return asWant(err, v, "a whole number, 1 or more")
	}},
	{"target", "stop at the first candidate that costs `cost` or less", "", func(s *settings, v any) error {
		t, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err == nil && (t != t || t-t != 0) {
			err = strconv.ErrRange
		}
		s.budget.Target = &t
		return asWant(err, v, "a number")
	}},
	{"jobs", "candidates evaluated at once, a `number` (default: one for each core); it changes no result", "", func(s *settings, v any) (err error) {
		s.jobs, err = strconv.Atoi(fmt.Sprint(v))
		if err == nil && s.jobs < 1 {
			err = strconv.ErrRange
		}
		return asWant(err, v, "a whole number, 1 or more")
	}},
	{"out", "`folder` that run directories are made in", "runs", text(func(s *settings, v string) { s.out = v })},
	{"dir", "run `directory` (default OUT/KERNEL-TIME-SEED)", "", text(func(s *settings, v string) { s.dir = v })},
}

const defaultBudget = 2 * time.Minute

func text(set func(*settings, string)) func(*settings, any) error {
	return func(s *settings, v any) error {
		t, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not text", v)
		}
		set(s, t)
		return nil
	}
}

// asWant replaces the error of a conversion by one that says what is wanted.
func asWant(err error, got any, want string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: want %s", got, want)
}

// parseDuration reads a duration with a unit.
func parseDuration(v any) (time.Duration, error) {
	t := strings.TrimSpace(fmt.Sprint(v))
	if n, err := strconv.ParseFloat(t, 64); err == nil {
		return 0, fmt.Errorf("%v has no unit: write %vs, %vm or %vh", t, n, n, n)
	}
	d, err := time.ParseDuration(t)
	if err != nil {
		return 0, fmt.Errorf("%s is not a duration: write it as 90s, 10m or 1h30m", t)
	}
	if d <= 0 {
		return 0, fmt.Errorf("%s: want more than no time", t)
	}
	return d, nil
}

// addSettings defines the flags of the given keys.
func addSettings(flags *pflag.FlagSet, keys ...string) {
	for _, s := range settingTable {
		if slices.Contains(keys, s.key) {
			short := map[string]string{"jobs": "j", "budget": "b"}[s.key]
			flags.StringP(s.key, short, s.value, s.usage)
		}
	}
}

// readSettings gathers the settings. config is a preset's name or a file; "" for none. Only keys whose flags are
// defined, or that come from the environment or the config, are read.
func readSettings(flags *pflag.FlagSet, config string, environ []string) (settings, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	from := map[string]string{} // where a key's value comes from, for errors
	for _, s := range settingTable {
		v.SetDefault(s.key, s.value)
	}
	if config != "" {
		name, data, err := readConfig(config)
		if err != nil {
			return settings{}, err
		}
		if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
			return settings{}, fmt.Errorf("%s: %w", name, err)
		}
		for _, key := range v.AllKeys() {
			if !slices.Contains(settingKeys(), key) {
				return settings{}, fmt.Errorf("%s: unknown key %q: want %s%s", name, key, strings.Join(settingKeys(), ", "), space.DidYouMean(key, settingKeys()))
			}
			if v.InConfig(key) {
				from[key] = name + ": " + key
			}
		}
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		rest, ok := strings.CutPrefix(name, "TUNE_")
		if !ok {
			continue
		}
		key := strings.ToLower(rest)
		if !slices.Contains(settingKeys(), key) {
			return settings{}, fmt.Errorf("environment: unknown variable %s%s", name, didYouMeanVariable(key))
		}
		v.Set(key, value)
		from[key] = "environment: " + name
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && slices.Contains(settingKeys(), f.Name) {
			v.Set(f.Name, f.Value.String())
			from[f.Name] = "--" + f.Name
		}
	})
	var out settings
	for _, s := range settingTable {
		value := v.Get(s.key)
		if value == "" && from[s.key] == "" {
			continue
		}
		if err := s.parse(&out, value); err != nil {
			return settings{}, fmt.Errorf("%s: %w", from[s.key], err)
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

func didYouMeanVariable(key string) string {
	if n := space.Nearest(key, settingKeys()); n != "" {
		return fmt.Sprintf(" (did you mean TUNE_%s?)", strings.ToUpper(n))
	}
	return ""
}

// readConfig reads a file, or a preset that is built in.
func readConfig(config string) (name string, data []byte, err error) {
	if strings.ContainsAny(config, "./\\") {
		data, err = os.ReadFile(config)
		return config, data, err
	}
	data, err = configs.Read(config)
	return "preset " + config, data, err
}
