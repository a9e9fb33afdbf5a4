package user

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tune/internal/pattern"
)

// What stands around a number where a pattern has found only a part of it, as in 1,234 and 0:01.5 and 9.5e-05 and -3 and 1'000. Marks between
// groups of three digits are also spaces that do not break a line.
var (
	partBefore  = pattern.Lazy(`(?:[0-9]|[0-9][.,:]|[0-9.][eE][+-]?|(?:^|[^0-9A-Za-z])0[xX][0-9a-fA-F]*|(?:^|[\s=:;(\["',])(?:[-−]|[-−]?\.))$`)
	partAfter   = pattern.Lazy(`^(?:[0-9]|[.,:][0-9]|[eE][+-]?[0-9]|[_'’\x{00A0}\x{2009}\x{202F}][0-9]{3})`)
	allOfBefore = pattern.Lazy(`(?:[-−0-9.,:]|0[xX][0-9a-fA-F]*|[0-9.][eE][+-]?|[0-9][_'’\x{00A0}\x{2009}\x{202F}])*$`)
	allOfAfter  = pattern.Lazy(`^(?:[0-9]|[.,:][0-9]|[eE][+-]?[0-9]|[_'’\x{00A0}\x{2009}\x{202F}][0-9]{3})*`)

	// groupBefore and groupOf are what stands before a group of three digits, and such a group.
	groupBefore = pattern.Lazy(`[0-9][_'’\x{00A0}\x{2009}\x{202F}]$`)
	groupOf     = pattern.Lazy(`^[0-9]{3}(?:[^0-9]|$)`)
	// hexadecimal is what a number like 0x1f begins with.
	hexadecimal = pattern.Lazy(`^0[xX][0-9a-fA-F]+`)
	// largerBefore and smallerUnit are around the last part of a time such as 1m2.5s.
	largerBefore = pattern.Lazy(`(?:^|[^0-9.])[0-9.]*[1-9][0-9.]*(?:[dhm] ?|[\t ]*(?:min|mins|minutes?|hours?)[\t ]+)$`)
	smallerUnit  = pattern.Lazy(`^[\t ]*(?:s|sec|secs|seconds?|m|min|mins|minutes?|ms)(?:[^A-Za-z]|$)`)
)

// partOf returns the number in a text of which a pattern has found only a part, or "". The pattern has matched from match[0] to match[1],
// and the number is from number[0] to number[1]. What the pattern itself matches beside the number is meant to be there.
func partOf(text string, match, number [2]int) string {
	before, found, after := text[:number[0]], text[number[0]:number[1]], text[number[1]:]
	if (match[0] < number[0] || !begunBefore(before, found, after)) && (match[1] > number[1] || !partAfter().MatchString(after) && !hexadecimal().MatchString(found+after)) {
		return ""
	}
	if hex := hexadecimal().FindString(found + after); hex != "" {
		return hex
	}
	return allOfBefore().FindString(before) + found + allOfAfter().FindString(after)
}

// begunBefore reports whether a number begins before what a pattern has found of it.
func begunBefore(before, found, after string) bool {
	return partBefore().MatchString(before) || groupBefore().MatchString(before) && groupOf().MatchString(found+after)
}

// largerPart returns what stands before the last part of a time, as the 1m of 1m2.5s, of which a pattern has found that last part alone; else "".
// match and number are as in partOf.
func largerPart(text string, match, number [2]int) string {
	if match[0] < number[0] || !smallerUnit().MatchString(text[number[1]:]) {
		return ""
	}
	return strings.TrimLeft(strings.TrimSpace(largerBefore().FindString(text[:number[0]])), "([{,;:=\"'")
}

// unit is the word after a number, "" for none.
type unit struct {
	word     string
	attached bool // nothing is between the two, as in 1.2k
}

var unitPattern = pattern.Lazy(`^([ \t]*)([A-Za-zµμ]+(?:/[A-Za-z]+)?)`)

// unitAfter returns the unit at the beginning of the text that follows a number.
func unitAfter(text string) unit {
	m := unitPattern().FindStringSubmatch(text)
	if m == nil {
		return unit{}
	}
	return unit{m[2], m[1] == ""}
}

// String names a unit in a message.
func (u unit) String() string {
	if u.word == "" {
		return "nothing"
	}
	return u.word
}

// factor returns a prefix that stands for the whole unit, as the k of 1.2k, or "".
func (u unit) factor() string {
	if p, ok := prefixes[u.word]; ok && u.attached {
		return p
	}
	return ""
}

// scaled reports whether two units measure the same in different steps, as ms and s do, or k and nothing.
func (u unit) scaled(other unit) bool {
	return u.factor() != other.factor() || multiples(u.word, other.word)
}

// multiples reports whether two words are names of one unit with different prefixes.
func multiples(a, b string) bool {
	alike := false
	for _, x := range readings(a) {
		for _, y := range readings(b) {
			if x == y {
				return false
			}
			alike = alike || x.base == y.base
		}
	}
	return alike
}

// scale is a unit as a prefix and what it stands before.
type scale struct{ prefix, base string }

// prefixes are those of units. Of bytes, those for powers of 1024 are not told apart from the others.
var prefixes = map[string]string{
	"n": "n", "u": "u", "µ": "u", "μ": "u", "m": "m", "k": "k", "K": "k", "M": "M", "G": "G", "T": "T", "Ki": "k", "Mi": "M", "Gi": "G", "Ti": "T",
	"nano": "n", "micro": "u", "milli": "m", "kilo": "k", "mega": "M", "giga": "G", "tera": "T",
}

// bases are units that have prefixes, in lower case. Those of time that have none count as steps of the second.
var bases = map[string]scale{
	"s": {"", "s"}, "sec": {"", "s"}, "secs": {"", "s"}, "second": {"", "s"}, "seconds": {"", "s"},
	"min": {"min", "s"}, "mins": {"min", "s"}, "minute": {"min", "s"}, "minutes": {"min", "s"}, "h": {"h", "s"}, "hour": {"h", "s"}, "hours": {"h", "s"},
	"b": {"", "b"}, "byte": {"", "b"}, "bytes": {"", "b"}, "bit": {"", "bit"}, "bits": {"", "bit"}, "bps": {"", "bps"}, "hz": {"", "hz"},
	"op": {"", "op"}, "ops": {"", "op"}, "flop": {"", "flop"}, "flops": {"", "flop"},
}

// readings returns what a word may mean as a unit: nothing where it is none, and more than one for a rate such as nodes/s, whose first
// letter may be a prefix.
func readings(word string) (list []scale) {
	add := func(prefix, rest string) {
		rest = strings.ToLower(rest)
		if known, ok := bases[rest]; ok && (prefix == "" || known.prefix == "") {
			list = append(list, scale{prefix + known.prefix, known.base})
		} else if what, per, rate := strings.Cut(rest, "/"); rate && what != "" && bases[per].base == "s" {
			list = append(list, scale{prefix, strings.TrimSuffix(what, "s") + "/" + bases[per].prefix})
		}
	}
	add("", word)
	for _, text := range slices.Sorted(maps.Keys(prefixes)) {
		if rest, has := strings.CutPrefix(word, text); has {
			add(prefixes[text], rest)
		}
	}
	return list
}

// sameUnit returns an error where the unit of a number is not that of the file, or not that of the first such number. A program that prints
// 950 ms at one point and 1.1 s at another one would look a thousand times as fast there. i is the number of the metric.
func (p *commandProblem) sameUnit(i int, m metric, found unit) error {
	if m.unit != "" && multiples(m.unit, found.word) {
		return fmt.Errorf("the number is in %s, and the field unit says %s: have the command print one unit, and name that", found, m.unit)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.units == nil {
		p.units = map[int]unit{}
	}
	first, seen := p.units[i]
	if !seen {
		p.units[i] = found
	} else if first.scaled(found) {
		return fmt.Errorf("%s follows the number that the field pattern finds, and %s the first one of the run: have the command print one unit, because the numbers alone are compared", found, first)
	}
	return nil
}

// alike returns an error where candidates of other versions of the kernel, which have problems of their own, take the time by another clock, or
// print the metric in another unit.
func (p *commandProblem) alike(all []*commandCandidate) error {
	mine, known := p.firstUnit()
	for _, c := range all {
		if c.p == p {
			continue
		}
		if m, other := p.c.metric, c.p.c.metric; m.from != other.from && !(m.printed() && other.printed()) {
			return fmt.Errorf("the field metric.from is %s in one version of the kernel, and %s in the other: have both take one number", m.from, other.from)
		}
		if theirs, also := c.p.firstUnit(); known && also && mine.scaled(theirs) {
			return fmt.Errorf("%s follows the number that the field pattern finds in one version of the kernel, and %s in the other: have both commands print one unit, because the numbers alone are compared", mine, theirs)
		}
	}
	return nil
}

// firstUnit returns what followed the first number of the metric, if there has been one.
func (p *commandProblem) firstUnit() (unit, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, known := p.units[0]
	return u, known
}
