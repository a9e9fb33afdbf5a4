package model

import (
	"cmp"
	"slices"
	"strings"
)

// Task is an operation at a shape, with where a model calls it.
type Task struct {
	Kernel string `json:"kernel"`
	Shape  string `json:"shape"`
	Name   string `json:"name"` // of the function: qgemm_m1_n896_k896_q4_0
	// Roles are what it is in the model.
	Roles []string `json:"roles"`
	// Calls is the number of calls in a step, by scenario.
	Calls []int     `json:"calls"`
	One   Operation `json:"-"`
}

// Tasks returns each kernel and shape of the scenarios once, in the order in which they come.
func Tasks(scenarios []Scenario) (out []Task) {
	for i, s := range scenarios {
		for _, o := range s.Operations {
			at := slices.IndexFunc(out, func(t Task) bool { return t.Kernel == o.Kernel && t.Shape == o.Shape })
			if at < 0 {
				at = len(out)
				name := o.Name()
				if slices.ContainsFunc(out, func(t Task) bool { return t.Name == name }) {
					name += "_" + cmp.Or(o.Field("cache"), "auto") // the same of a batch and of a prompt
				}
				out = append(out, Task{Kernel: o.Kernel, Shape: o.Shape, Name: name, Calls: make([]int, len(scenarios)), One: o})
			}
			out[at].Calls[i] += o.Calls
			if !slices.Contains(out[at].Roles, o.Role) {
				out[at].Roles = append(out[at].Roles, o.Role)
			}
		}
	}
	return out
}

// Name makes a name for the function of an operation from its kernel and the fields of its shape that tell it from others.
func (o Operation) Name() string {
	words := []string{o.Kernel}
	for field := range strings.SplitSeq(o.Shape, ",") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "layout", "inputs", "weights", "cache", "threads", "eps", "kv":
		case "op":
			words[0] = value
		case "format":
			words = append(words, value)
		default:
			words = append(words, short[name]+value)
		}
	}
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' {
			return '_'
		}
		return r
	}, strings.Join(words, "_"))
}

// short are the letters of fields in names.
var short = map[string]string{
	"m": "m", "n": "n", "k": "k", "rows": "r", "cols": "c", "heads": "h", "queries": "q", "context": "x", "kv_heads": "kv", "head": "d",
}

// Brief is the shape without the words that follow from the kernel, as tables show it.
func (o Operation) Brief() string {
	var out []string
	for field := range strings.SplitSeq(o.Shape, ",") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "layout", "inputs", "weights", "cache", "eps":
		case "op", "format", "kv":
			out = append(out, value)
		default:
			out = append(out, field)
		}
	}
	return strings.Join(out, " ")
}
