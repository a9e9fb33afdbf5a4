package remote

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"tune/space"
)

// Wants says which workers a run wants; nil wants all.
type Wants []want

type want struct {
	name, pattern string
}

// wantNames are the properties of a worker that a run can ask for.
var wantNames = []string{"arch", "cores", "cpu", "fingerprint", "isa", "name", "os"}

// ParseWants reads conditions such as "isa=avx512vnni, cpu=*EPYC*, cores=8": patterns in which * stands for any text and ? for one
// character. All must hold. cores is the least number of cores, and isa one of the instruction sets.
func ParseWants(text string) (Wants, error) {
	var wants Wants
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, pattern, ok := strings.Cut(part, "=")
		name, pattern = strings.TrimSpace(name), strings.TrimSpace(pattern)
		if !ok || pattern == "" {
			return nil, fmt.Errorf("%q: want name=pattern, such as cpu=*EPYC*", part)
		}
		if !slices.Contains(wantNames, name) {
			return nil, fmt.Errorf("unknown property %q: want %s%s", name, strings.Join(wantNames, ", "), space.DidYouMean(name, wantNames))
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%s: %q is no pattern: %w", name, pattern, err)
		}
		if _, err := strconv.Atoi(pattern); name == "cores" && err != nil {
			return nil, fmt.Errorf("cores: %q is no number", pattern)
		}
		wants = append(wants, want{name, pattern})
	}
	return wants, nil
}

// Unmet returns the first condition that a worker does not fulfil; "" where it fulfils all.
func (w Wants) Unmet(i Info) string {
	for _, c := range w {
		values := map[string][]string{
			"arch": {i.Arch}, "cpu": {i.CPU}, "fingerprint": {i.Fingerprint}, "isa": i.ISAs, "name": {i.Name}, "os": {i.OS},
		}[c.name]
		met := slices.ContainsFunc(values, func(v string) bool {
			// A / of a processor's name is a letter like any other.
			ok, err := path.Match(strings.ReplaceAll(c.pattern, "/", "\x00"), strings.ReplaceAll(v, "/", "\x00"))
			return ok && err == nil
		})
		if least, err := strconv.Atoi(c.pattern); c.name == "cores" && err == nil {
			met = i.Cores >= least
		}
		if !met {
			return c.name + "=" + c.pattern
		}
	}
	return ""
}
