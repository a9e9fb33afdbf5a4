package user

import (
	"fmt"
	"strings"

	"tune/space"
)

// fieldWords are the words that people, and other tools, have for fields of a kernel file; the first field that a mapping has is meant.
var fieldWords = map[string][]string{
	"args": {"arguments"}, "arg": {"arguments"}, "argument": {"arguments"}, "signature": {"arguments"},
	"func": {"function"}, "fn": {"function"}, "fun": {"function"}, "entry": {"function"}, "symbol": {"function"}, "kernel_name": {"function"}, "function_name": {"function"},
	"path": {"file"}, "src": {"file"}, "source": {"file"}, "filename": {"file"}, "source_file": {"file"}, "code": {"text"}, "lang": {"language"},
	"ref": {"reference"}, "expected": {"reference", "outputs"}, "oracle": {"reference"}, "golden": {"reference", "outputs"}, "output": {"outputs"},
	"size": {"length"}, "len": {"length"}, "count": {"length"}, "elements": {"length"}, "shape": {"length"},
	"mode": {"access"}, "intent": {"access"}, "direction": {"access", "goal"}, "io": {"access"}, "init": {"fill"}, "data": {"fill"}, "dtype": {"type"}, "ctype": {"type"},
	"cc": {"compilers"}, "cxx": {"compilers"}, "compiler": {"compilers"}, "cflags": {"flags"}, "cxxflags": {"flags"}, "options": {"flags"}, "compiler_flags": {"flags"}, "compile_flags": {"flags"}, "compiler_options": {"flags"},
	"env": {"environment"}, "vars": {"environment"}, "cwd": {"directory"}, "dir": {"directory"}, "workdir": {"directory"}, "working_directory": {"directory"},
	"cmd": {"run"}, "command": {"run"}, "exec": {"run"}, "execute": {"run"}, "script": {"run"}, "compile": {"build"}, "make": {"build"}, "validate": {"check"}, "verify": {"check"}, "test": {"check"},
	"regex": {"pattern"}, "regexp": {"pattern"}, "objective": {"goal"}, "runs": {"repeats"}, "repetitions": {"repeats"}, "iterations": {"repeats"},
	"rtol": {"relative"}, "rel": {"relative"}, "atol": {"absolute"}, "abs": {"absolute"}, "min": {"from"}, "low": {"from"}, "max": {"to"}, "high": {"to"},
	"params": {"parameters"}, "tunables": {"parameters"}, "variables": {"parameters"}, "knobs": {"parameters"}, "restrictions": {"constraints"}, "conditions": {"constraints"}, "initial": {"start"},
	"description": {"doc"}, "desc": {"doc"}, "title": {"name"}, "constants": {"shape"}, "sizes": {"shape"}, "problem": {"shape"},
}

// hint says what to write instead of a field that the mapping does not have, as the end of a message, and which of its fields is meant;
// both are "" where nobody can tell.
func (o *object) hint(name string) (hint, meant string) {
	lower := strings.ToLower(name)
	for _, word := range fieldWords[lower] {
		if o.lookup(word) != nil {
			return fmt.Sprintf(" (did you mean %q?)", word), word
		}
	}
	if meant = space.Nearest(name, o.names()); meant != "" {
		return space.DidYouMean(name, o.names()), meant
	}
	switch lower {
	case "scale", "log":
		return ": it is a field of a parameter of type int or float, as in {name: x, type: int, from: 1, to: 64, scale: log}", ""
	case "timeout", "time_limit", "timelimit":
		switch o {
		case sourceObject:
			return ": write limits: {call: 10s}, and compile for its compilation", ""
		case commandObject:
			return ": write limits: {run: 10s}, and build, check and others for those commands", ""
		case fileObject:
			return ": write it under source or command, as in limits: {run: 10s} for a command", ""
		}
	case "shell", "use_shell", "interpreter":
		if o == commandObject {
			return ": a text such as run: \"a | b\" is run by /bin/sh, and a list such as run: [bash, -c, \"a | b\"] without it", ""
		}
	case "env", "environment":
		if o == sourceObject {
			return ": a function is called in a process of tune's own; give it values by flags, as in -DNAME=value", ""
		}
	}
	if (o == metricObject || o == otherMetric || o == commandLimits) && commandObject.lookup(lower) != nil {
		return fmt.Sprintf(": write %s under command itself", lower), ""
	}
	if o == fileObject {
		for _, word := range append([]string{name}, fieldWords[lower]...) {
			if under := holderOf(word); under != "" {
				as := "it"
				if word != name {
					as = word
				}
				return fmt.Sprintf(": write %s under %s", as, under), under
			}
		}
	}
	return "", ""
}
