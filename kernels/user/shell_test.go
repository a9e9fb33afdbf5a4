package user

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tune/space"
)

// shellTexts have the place {{V}} where it can be quoted. Each prints exactly what it says.
var shellTexts = []struct{ text, want string }{
	{`printf %s {{V}}`, `V`},
	{`printf %s "{{V}}"`, `V`},
	{`printf %s '{{V}}'`, `V`},
	{`printf %s a{{V}}b`, `aVb`},
	{`printf %s "a{{V}}b{{V}}"`, `aVbV`},
	{`printf %s 'it'"'"'s {{V}}'`, `it's V`},
	{`printf %s --x={{V}}`, `--x=V`},
	{`X={{V}}; printf %s "$X"`, `V`},
	{`X="{{V}}"; printf %s "$X"`, `V`},
	{`printf %s "$(printf %s. {{V}})"`, `V.`},
	{`printf %s "$(printf %s. "{{V}}")"`, `V.`},
	{`printf %s "$(printf %s. '{{V}}')$(printf %s "$(printf %s. {{V}})")"`, `V.V.`},
	{`(printf %s {{V}}); printf .`, `V.`},
	{`(true)# it's {
printf %s {{V}}`, `V`},
	{"# it's a \" comment `\nprintf %s {{V}}", `V`},
	{`printf %s a#b'{{V}}'`, `a#bV`},
	{`printf %s \'{{V}}\'`, `'V'`},
	{`printf %s "\"{{V}}\""`, `"V"`},
	{`printf %s $((1 + (2 * 3))){{V}}`, `7V`},
	{`Y=y; printf %s ${Y:-n}{{V}}`, `yV`},
	{`case x in x) printf %s {{V}};; esac`, `V`},
	{`case {{V}} in {{V}}) printf 'yes %s' "{{V}}";; *) printf no;; esac`, `yes V`},
	{`f() { printf %s "$1"; }; f {{V}}`, `V`},
	{`for x in {{V}}; do printf %s "$x"; done`, `V`},
	{`test -e /none < /dev/null || printf %s {{V}} > /dev/stdout`, `V`},
	{"printf %s `printf x`{{V}}", `xV`},
	{`printf %s a\
{{V}}`, `aV`},
	{`{ printf %s {{V}}; }`, `V`},
	{`printf %s "a'b{{V}}c'd"`, `a'bVc'd`},
	{`printf %s 'a"b{{V}}c"d'`, `a"bVc"d`},
}

// values are what nobody wants to see run.
var nasty = []string{
	"plain", "a b", "a; touch hacked", "$(touch hacked)", "`touch hacked`", "'", `"`, `\`, `\\`, `'; touch hacked; '`, `"; touch hacked; "`,
	"$HOME", "${HOME}", "a\nb", "a\ntouch hacked\n", "*", "~", "#x", "&& touch hacked", "| touch hacked", "> hacked", "<(touch hacked)", "!!", "-n", "a\\\nb",
	"')", "\")", "x' \"$(touch hacked)\" '", "größe 🙂", "\x1b[31m", "\xff",
}

func runShell(t testing.TB, text, value string) string {
	t.Helper()
	tmpl := parseTemplate(text)
	places, _ := shellPlaces(tmpl)
	for i, p := range tmpl.parts {
		if p.name != "" && places[i] == nowhere {
			t.Fatalf("%s: the place stands nowhere", text)
		}
	}
	c := exec.Command("/bin/sh", "-c", expandShell(tmpl, places, values{"V": space.StringValue(value)}))
	c.Dir = os.TempDir()
	if d, ok := t.(*testing.T); ok {
		c.Dir = d.TempDir()
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s with %q: %v: %s", text, value, err, out)
	}
	if _, err := os.Stat(c.Dir + "/hacked"); err == nil {
		t.Fatalf("%s with %q ran the value", text, value)
	}
	return string(out)
}

func TestShellKeepsValues(t *testing.T) {
	for _, c := range shellTexts {
		for _, v := range nasty {
			if got, want := runShell(t, c.text, v), strings.ReplaceAll(c.want, "V", v); got != want {
				t.Errorf("%s with %q prints %q, want %q", c.text, v, got, want)
			}
		}
	}
}

func TestShellKeepsAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := shellTexts[rapid.IntRange(0, len(shellTexts)-1).Draw(t, "text")]
		v := rapid.StringOfN(rapid.SampledFrom([]rune("ab '\"\\$`(){}#;&|<>\n\t*?~!-=%")), 0, 12, -1).Draw(t, "value")
		if v == "" {
			return // an empty value leaves no word
		}
		tmpl := parseTemplate(c.text)
		places, _ := shellPlaces(tmpl)
		out, err := exec.Command("/bin/sh", "-c", expandShell(tmpl, places, values{"V": space.StringValue(v)})).Output()
		if want := strings.ReplaceAll(c.want, "V", v); err != nil || string(out) != want {
			t.Fatalf("%s with %q prints %q (%v), want %q", c.text, v, out, err, want)
		}
	})
}

// Where no quoting is right, the place is known to be such.
func TestShellPlacesNowhere(t *testing.T) {
	for _, text := range []string{
		"echo `echo {{V}}`", "echo \"`echo {{V}}`\"", "echo $(({{V}} + 1))", "echo ${X:-{{V}}}", "echo \"${X:-{{V}}}\"",
		"cat <<EOF\n{{V}}\nEOF", "cat <<'EOF'\n{{V}}\nEOF\n", "cat <<-EOF {{V}}", "echo # {{V}}", "# {{V}}\necho", `echo \{{V}}`, `echo "\{{V}}"`, "echo ${{V}}",
		"echo \"${X:-it's} {{V}}\"", "echo $'a\\'b' {{V}}", "echo \"$(case x in x) echo 'y;; esac) {{V}}", "echo `echo 'a`b'` {{V}}",
	} {
		tmpl := parseTemplate(text)
		places, reasons := shellPlaces(tmpl)
		for i, p := range tmpl.parts {
			if p.name != "" && (places[i] != nowhere || reasons[i] == "") {
				t.Errorf("%s: %v %q", text, places[i], reasons[i])
			}
		}
	}
}
