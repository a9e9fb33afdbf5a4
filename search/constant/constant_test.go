package constant

import (
	"math"
	"strings"
	"testing"
)

type config struct {
	Herd, Kept int
	Share      float64
	Wild       bool
	Tame       bool // false where the constant is true
}

func table() Table[config] {
	return Table[config]{
		NewInt("herd", "animals", 12, 4, 1000000, func(c *config) *int { return &c.Herd }),
		NewInt("kept", "of them kept", 2, 1, 999999, func(c *config) *int { return &c.Kept }).
			Within("herd", 1).Or(func(c config) float64 { return float64(c.Herd / 6) }),
		NewFloat("share", "share of something", 0.25, 0.01, 1, func(c *config) *float64 { return &c.Share }),
		NewBool("wild", "whether they are wild", false, func(c *config) *bool { return &c.Wild }),
		NewBool("fed", "whether they are fed", true, func(c *config) *bool { return &c.Tame }),
	}
}

// set returns the configuration that a text stands for.
func set(t *testing.T, text string) config {
	t.Helper()
	values, err := Parse(table().Constants(), text)
	if err != nil {
		t.Fatal(err)
	}
	var c config
	table().Set(&c, values)
	return c
}

func TestParse(t *testing.T) {
	for text, want := range map[string]config{
		"herd=5":                            {Herd: 5},
		"share=1":                           {Share: 1},
		"share=1e-2, wild=true":             {Share: 0.01, Wild: true},
		"fed=false,wild=false":              {Tame: true},
		"fed=true":                          {},
		"kept=999999,herd=1000000,share=.5": {Herd: 1000000, Kept: 999999, Share: 0.5},
		"herd=4,kept=1,share=0.25,wild=false,fed=false": {Herd: 4, Kept: 1, Share: 0.25, Tame: true},
	} {
		if got := set(t, text); got != want {
			t.Errorf("%s is %+v, not %+v", text, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `"" is not of the form constant=value: want herd, kept, share, wild, fed`,
		"herd":                             `herd has no value: want a whole number from 4 to 1000000`,
		"=4":                               `=4 is not of the form constant=value: want herd,`,
		"herd=5,":                          `"" is not of the form constant=value: want herd,`,
		"hedr=5":                           `unknown constant hedr: want herd, kept, share, wild, fed (did you mean "herd"?)`,
		"hedr":                             `unknown constant hedr: want herd, kept, share, wild, fed (did you mean "herd"?)`,
		"HERD=5":                           `unknown constant HERD: want`,
		"\x1b[31m=5":                       `unknown constant "\x1b[31m": want`,
		"herd=5,share=.5,herd=5":           `herd is there twice`,
		"herd=3":                           `herd is 3: want a whole number from 4 to 1000000`,
		"herd=1000001":                     `herd is 1000001: want a whole number from 4 to 1000000`,
		"herd=99999999999999999999":        `herd is 99999999999999999999: want a whole number`,
		"herd=5.5":                         `herd is 5.5: want a whole number`,
		"herd=":                            `herd is "": want a whole number`,
		"herd= 5":                          `herd is " 5": want a whole number`,
		"share=0":                          `share is 0: want a number from 0.01 to 1`,
		"share=NaN":                        `share is NaN: want a number`,
		"share=inf":                        `share is inf: want a number`,
		"share=a lot":                      `share is "a lot": want a number`,
		"wild=1":                           `wild is 1: want true or false`,
		"wild=" + strings.Repeat("x", 100): `wild is "` + strings.Repeat("x", 40) + `"…: want true or false`,
	} {
		if _, err := Parse(table().Constants(), text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, not %s", text, err, want)
		}
	}
}

// TestFill: what is not set has its default, which another constant may bound or decide.
func TestFill(t *testing.T) {
	for text, want := range map[string]config{
		"wild=true":      {Herd: 12, Kept: 2, Share: 0.25, Wild: true},
		"herd=60":        {Herd: 60, Kept: 10, Share: 0.25},
		"herd=60,kept=2": {Herd: 60, Kept: 2, Share: 0.25},
	} {
		c := set(t, text)
		table().Fill(&c)
		if c != want {
			t.Errorf("%s is completed to %+v, not %+v", text, c, want)
		}
	}
	bounded := Table[config]{table()[0], NewInt("kept", "of them kept", 8, 1, 99, func(c *config) *int { return &c.Kept }).Within("herd", 1)}
	c := config{Herd: 5}
	if bounded.Fill(&c); c.Kept != 4 {
		t.Errorf("of 5, %d are kept, not 4", c.Kept)
	}
}

func TestCheck(t *testing.T) {
	good := config{Herd: 12, Kept: 2, Share: 0.25}
	if err := table().Check(good); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*config){
		"herd is 3: want a whole number from 4 to 1000000": func(c *config) { c.Herd = 3 },
		"kept is -1: want a whole number from 1 to 999999": func(c *config) { c.Kept = -1 },
		"kept is 12: want 1 to 11, as herd is 12":          func(c *config) { c.Kept = 12 },
		"share is NaN: want a number from 0.01 to 1":       func(c *config) { c.Share = math.NaN() },
	} {
		c := good
		spoil(&c)
		if err := table().Check(c); err == nil || err.Error() != want {
			t.Errorf("%+v: the error is %v, not %s", c, err, want)
		}
	}
}

// TestFormat: what is written is read as the same values.
func TestFormat(t *testing.T) {
	c := set(t, "herd=1000000,kept=3,share=0.125,fed=false")
	values := table().Values(c)
	text := Format(table().Constants(), values, func(int) bool { return true })
	if want := "herd=1000000,kept=3,share=0.125,wild=false,fed=false"; text != want {
		t.Errorf("it is written as %s, not %s", text, want)
	}
	if again := set(t, text); again != c {
		t.Errorf("%s is read as %+v, not %+v", text, again, c)
	}
	if got := Format(table().Constants(), values, func(i int) bool { return i == 2 }); got != "share=0.125" {
		t.Errorf("one of them is written as %s", got)
	}
	if a := table()[0].Any(5); a != 5 {
		t.Errorf("a whole number is %v", a)
	}
	if a := table()[4].Any(1); a != true {
		t.Errorf("1 of a bool is %v", a)
	}
}
