package space

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tune/internal/pattern"
	"tune/internal/plain"
)

// Unit is the unit of a cost, as a kernel states it: "ns", "cycles", "bytes". A cost is always better when it is less. Where a kernel
// is tuned for a rate, such as Melem/s, the cost is the inverse of the rate and its unit is "1/(Melem/s)"; people are shown the rate.
type Unit string

// Unnamed is the unit of costs of which nobody has said a unit. People are shown the number alone.
const Unnamed Unit = "cost"

// InverseOf returns the unit of a cost that is the inverse of a number in the given unit.
func InverseOf(unit string) Unit { return Unit("1/(" + unit + ")") }

// Rate returns the unit of the number whose inverse the cost is, and whether it is one.
func (u Unit) Rate() (unit string, ok bool) {
	inner, opens := strings.CutPrefix(string(u), "1/(")
	inner, closes := strings.CutSuffix(inner, ")")
	return inner, opens && closes
}

// scale is a unit of time.
type scale struct {
	name string
	ns   float64
}

// times are the units of time in which costs are shown, the shortest first.
var times = []scale{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// least is the least number that a larger unit is chosen for: just below 1, because 1000.0 µs would be odd.
const least = 0.99995

// timeUnits are the spellings in which a kernel or a user may state a time.
var timeUnits = map[string]float64{
	"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "seconds": 1e9, "min": 60e9, "m": 60e9, "h": 3600e9,
}

// isTime reports whether costs of the unit are times, and how many nanoseconds the unit has.
func (u Unit) isTime() (ns float64, ok bool) {
	ns, ok = timeUnits[string(u)]
	return ns, ok
}

// prefix is a prefix of SI for large numbers.
type prefix struct {
	letter string
	factor float64
}

// prefixes are those with which people write rates, the largest first.
var prefixes = []prefix{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}}

// leastPrefixed is the least factor that rates are shown with: fewer digits can be read as they are.
const leastPrefixed = 1e6

// perSecond reports whether a unit is a rate that people write with prefixes, such as elem/s or Melem/s.
func perSecond(unit string) bool {
	return strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec") || strings.HasSuffix(unit, "Hz")
}

// withoutPrefix returns a unit without the prefix that it begins with, and the factor of that. ok is false where it begins with none. A
// letter that begins a word, such as the k of kernels/s, cannot be told from a prefix.
func withoutPrefix(unit string) (rest string, factor float64, ok bool) {
	for _, p := range prefixes {
		if rest, ok = strings.CutPrefix(unit, p.letter); ok && perSecond(unit) {
			return rest, p.factor, true
		}
	}
	return unit, 1, false
}

// rescaled returns by what a number in the unit given is to be multiplied to be one in the unit of a kernel, where the two differ in a
// prefix of rates at most.
func rescaled(given, unit string) (factor float64, ok bool) {
	rest, more, _ := withoutPrefix(given)
	base, less, _ := withoutPrefix(unit)
	switch {
	case given == unit:
		return 1, true
	case !perSecond(unit):
		return 0, false
	case given == base:
		return 1 / less, true
	case rest == unit:
		return more, true
	}
	return more / less, rest == base
}

// Words writes a cost for people: a time in the unit that suits its size (684.7 µs, 1.30 ms), an inverse as its rate (112 Melem/s), with a
// prefix where a rate per second is a large number and has none, and all others as they are, with thousands apart (147,734 cycles; 34 where
// the unit is Unnamed).
func (u Unit) Words(cost float64) string {
	name, shown := u.Axis(cost)
	if _, ok := u.isTime(); ok && cost != 0 {
		return timeDigits(shown(cost)) + " " + name
	}
	if _, ok := u.Rate(); ok {
		return rateDigits(shown(cost)) + " " + name
	}
	if u == Unnamed {
		return plain.Number(shown(cost))
	}
	return plain.Number(shown(cost)) + " " + name
}

// Compared says what it means that a cost is some times less than another one: "as fast" for times, cycles and rates, "as good" for
// all others.
func (u Unit) Compared() string {
	_, isTime := u.isTime()
	if _, isRate := u.Rate(); isTime || isRate || u == "cycles" {
		return "as fast"
	}
	return "as good"
}

// Axis returns the name of the unit that suits costs of about the size of the given one, and the function that converts a cost
// into it.
func (u Unit) Axis(about float64) (name string, shown func(cost float64) float64) {
	if rate, ok := u.Rate(); ok {
		p := prefix{"", 1}
		if _, _, has := withoutPrefix(rate); !has && perSecond(rate) {
			p = prefixOf(1 / about)
		}
		return p.letter + rate, func(cost float64) float64 { return 1 / cost / p.factor }
	}
	ns, ok := u.isTime()
	if !ok || about == 0 || !Finite(about*ns) {
		return string(u), func(cost float64) float64 { return cost }
	}
	at := len(times) - 1
	for at > 0 && math.Abs(about)*ns/times[at].ns < least {
		at--
	}
	factor := ns / times[at].ns
	return times[at].name, func(cost float64) float64 { return cost * factor }
}

// prefixOf returns the prefix that suits a rate of the given size; one without a letter for none.
func prefixOf(rate float64) prefix {
	for _, p := range prefixes {
		if p.factor >= leastPrefixed && math.Abs(rate)/p.factor >= least && Finite(rate) {
			return p
		}
	}
	return prefix{"", 1}
}

// timeDigits writes a number with three or four digits.
func timeDigits(v float64) string {
	switch m := math.Abs(v); {
	case m < 0.995:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case m < 99.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case m < 999.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return plain.Number(math.Round(v))
}

// rateDigits writes a number with four digits, or all those before the point.
func rateDigits(v float64) string {
	if math.Abs(v) >= 1000 {
		return plain.Number(math.Round(v))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

var leadingNumber = pattern.Lazy(`^[-+]?[0-9][0-9,]*(\.[0-9]*)?([eE][-+]?[0-9]+)?`)

// Parse reads a cost in the form in which people write it: 100us, 1.5 ms, 112 Melem/s, or a number alone, which is in the unit
// that Rate or the kernel states. A time needs its unit, because people who leave it out seldom mean the kernel's. A rate becomes its
// inverse; one per second may have another prefix than the kernel's, as 20Melem/s where that is elem/s.
func (u Unit) Parse(text string) (float64, error) {
	text = strings.TrimSpace(text)
	number := leadingNumber().FindString(text)
	unit := strings.TrimSpace(text[len(number):])
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil || !Finite(v) {
		return 0, fmt.Errorf("%q is no cost: want a number%s", text, u.example())
	}
	rate, isRate := u.Rate()
	own, isTime := u.isTime()
	factor, ofRate := rescaled(unit, rate)
	switch given, ok := timeUnits[unit]; {
	case unit == "" && isTime && !isRate:
		return 0, fmt.Errorf("%s has no unit, and costs are times: write %[1]sns, %[1]sus or %[1]sms", text)
	case unit == "":
	case isRate && ofRate:
		v *= factor
	case !isRate && unit == string(u):
	case isTime && ok:
		v *= given / own
	default:
		return 0, fmt.Errorf("%q: costs are in %s, so want a number%s", text, u.name(), u.example())
	}
	if !isRate {
		return v, nil
	}
	if v <= 0 || math.IsInf(1/v, 0) {
		return 0, fmt.Errorf("%q: a rate has to be above 0", text)
	}
	return 1 / v, nil
}

// name is the unit in which costs are shown.
func (u Unit) name() string {
	if rate, ok := u.Rate(); ok {
		return rate
	}
	return string(u)
}

// example says in what form a cost can be given.
func (u Unit) example() string {
	if _, ok := u.isTime(); ok {
		return " with a unit, such as 100us or 1.5ms"
	}
	return ", such as 100 or " + strconv.Quote("100 "+u.name())
}
