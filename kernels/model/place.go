package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"tune/internal/plain"
	"tune/space"
)

// Fault says what is wrong with the file of a model, and where.
type Fault struct {
	Path         string
	Line, Column int // from 1; 0 where it is not at one place, or the file is no text
	Err          error
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %v", f.Path, f.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", f.Path, f.Line, f.Column, f.Err)
}

// Unwrap returns what is wrong.
func (f *Fault) Unwrap() error { return f.Err }

// origin is the file of a model, with where its entries stand.
type origin struct {
	path string
	text []byte         // of a config.json
	keys map[string]int // where the keys of a config.json begin in the text, by their path: text_config.hidden_size
	in   string         // the path of the object that describes what writes text: "" or "text_config."
	arch string         // the architecture that the keys of a GGUF file begin with; "" for a config.json
}

// metaKeys are the keys of GGUF files, by those of a config.json.
var metaKeys = map[string]string{
	"hidden_size": "embedding_length", "num_attention_heads": "attention.head_count", "num_key_value_heads": "attention.head_count_kv",
	"head_dim": "attention.key_length", "intermediate_size": "feed_forward_length", "vocab_size": "vocab_size", "num_hidden_layers": "block_count",
	"partial_rotary_factor": "rope.dimension_count",
}

// otherNames are keys that configs of other programs have for some that are read.
var otherNames = map[string]string{
	"d_model": "hidden_size", "n_embd": "hidden_size", "n_head": "num_attention_heads", "n_heads": "num_attention_heads", "num_heads": "num_attention_heads",
	"n_kv_heads": "num_key_value_heads", "num_kv_heads": "num_key_value_heads", "n_inner": "intermediate_size", "ffn_dim": "intermediate_size",
	"n_layer": "num_hidden_layers", "n_layers": "num_hidden_layers", "num_layers": "num_hidden_layers", "n_vocab": "vocab_size",
}

// name is what the file calls an entry of a config.json.
func (o *origin) name(key string) string {
	if o == nil || o.arch == "" {
		return key
	}
	return o.arch + "." + metaKeys[key]
}

// has reports whether the file has an entry that is not null.
func (o *origin) has(key string) bool {
	_, ok := o.keys[o.in+key]
	return ok
}

// at makes an error about an entry: the first that the file has of some keys of a config.json with spaces between them, or about the whole
// file where it has none.
func (o *origin) at(keys, format string, args ...any) error {
	return o.wrap(keys, fmt.Errorf(format, args...))
}

// wrap is at for an error.
func (o *origin) wrap(keys string, err error) error {
	if o == nil { // it was not read from a file
		return err
	}
	for key := range strings.FieldsSeq(keys) {
		if off, ok := o.keys[o.in+key]; ok {
			return o.offset(off, err)
		}
	}
	return &Fault{Path: o.path, Err: err}
}

// offset says at which place in the text an error is.
func (o *origin) offset(off int, err error) error {
	before := o.text[:min(max(off, 0), len(o.text))]
	last := before[bytes.LastIndexByte(before, '\n')+1:]
	return &Fault{o.path, 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(last), err}
}

// missing says that a number is not there, and which key may stand for it by mistake.
func (o *origin) missing(key string) error {
	unread := o.unread()
	near := space.Nearest(key, unread)
	if i := slices.IndexFunc(unread, func(name string) bool { return otherNames[name] == key }); i >= 0 {
		near = unread[i]
	}
	if near != "" {
		return o.at(near, "unknown key %s, and %s is missing (did you mean that?)", plain.Line(near), key)
	}
	return o.at(key, "%s is missing: add it, a whole number from 1 to %d", key, mostOfAny)
}

// unread lists the keys that no entry of a config has.
func (o *origin) unread() (out []string) {
	known := entryNames()
	for key := range o.keys {
		if name, ok := strings.CutPrefix(key, o.in); ok && !strings.Contains(name, ".") && !known[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// doubtful lists keys that are not read, and resemble one that is and is not there.
func (o *origin) doubtful() (out []string) {
	var absent []string
	for name := range entryNames() {
		if !o.has(name) {
			absent = append(absent, name)
		}
	}
	slices.Sort(absent)
	for _, name := range o.unread() {
		near := space.Nearest(name, absent)
		if other := otherNames[name]; slices.Contains(absent, other) {
			near = other
		}
		if near != "" {
			out = append(out, o.at(name, "the key %s is not read (did you mean %q?)", plain.Line(name), near).Error())
		}
	}
	return out
}

// entryNames are the keys of a config.json that are read.
func entryNames() map[string]bool {
	names := map[string]bool{}
	of := reflect.TypeFor[fields]()
	for i := range of.NumField() {
		if name := of.Field(i).Tag.Get("json"); name != "" {
			names[name] = true
		}
	}
	return names
}

// keysDeep is how deep the objects are whose keys are looked for: that of rope_parameters in text_config.
const keysDeep = 2

// keysOf returns where the keys of a JSON object begin, and those of the objects in it down to a depth, by their path. A key whose value is
// null is left out.
func keysOf(text []byte, depth int) map[string]int {
	keys := map[string]int{}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return keys
	}
	for d.More() {
		start := int(d.InputOffset())
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return keys
		}
		name := fmt.Sprint(key)
		if keys[name] = start + bytes.IndexByte(text[start:], '"'); string(value) == "null" {
			delete(keys, name)
		}
		if depth == 0 || value[0] != '{' {
			continue
		}
		for inner, off := range keysOf(value, depth-1) {
			keys[name+"."+inner] = int(d.InputOffset()) - len(value) + off
		}
	}
	return keys
}
