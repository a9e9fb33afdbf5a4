package user

import (
	"slices"
	"strings"

	"tune/internal/pattern"
	"tune/space"
)

// wordFlags are the flags of compilers that the next word belongs to.
var wordFlags = []string{"-o", "-I", "-L", "-l", "-D", "-U", "-x", "-u", "-z", "-e", "-T", "-A", "-B", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-isysroot",
	"-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm", "-arch", "-target", "-framework", "--param", "--sysroot"}

var (
	// bareFlag matches a word that most likely is a flag without its -. The name of an object or a library has a dot.
	bareFlag = pattern.Lazy(`^[A-Za-z][A-Za-z0-9_=,+-]*$`)
	// placeBegun matches a placeholder as far as its end.
	placeBegun = pattern.Lazy(`\{\{[^}]*`)
	// shellPlace matches a name that is written as shells and other programs write it. Its groups are the name with and without braces.
	shellPlace = pattern.Lazy(`\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|(?:^|[^{])\{([A-Za-z_]\w*)\}(?:$|[^}])`)
)

// noFlag reports words of a flag that are none: a parameter that is written as in a shell, or a word without the - of a flag. before is
// the word before them; the result is the last word. A compiler would take them for files, and only its linker would miss those.
func (r *reader) noFlag(n node, before string, ns *names) string {
	if m := shellPlace().FindStringSubmatch(n.Value); m != nil && !strings.Contains(n.Value, "-D") {
		if name := m[1] + m[2] + m[3]; slices.Contains(ns.all(), name) {
			r.fault(n, "no shell reads a flag: write the value of %[1]s as {{%[1]s}}, in quotes", name)
			return n.Value
		}
	}
	text := placeBegun().ReplaceAllStringFunc(n.Value, func(place string) string { return strings.Join(strings.Fields(place), "") })
	for word := range strings.FieldsSeq(text) {
		ahead := before
		before = word
		if slices.Contains(wordFlags, ahead) || strings.HasSuffix(ahead, "}}") {
			continue
		}
		if bareFlag().MatchString(word) {
			r.fault(n, "%s is no flag, and a compiler takes it for a file: write -%[1]s", word)
			continue
		}
		i := slices.IndexFunc(ns.parameters, func(p space.Parameter) bool { return word == "{{"+p.Name+"}}" })
		if i < 0 {
			continue
		}
		for _, v := range ns.parameters[i].Values {
			if text, ok := v.Any().(string); ok && bareFlag().MatchString(text) {
				r.fault(n, "%s puts %s here, which is no flag, and a compiler takes it for a file: write -%[1]s, or -%[2]s among the values", word, text)
				break
			}
		}
	}
	return before
}
