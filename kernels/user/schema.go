package user

import (
	"bytes"
	"encoding/json"
	"strings"

	"tune/internal/orderedjson"
)

// form is the kind of a field's value.
type form uint8

const (
	formText     form = iota + 1
	formWhole         // a whole number
	formNumber        // a finite number
	formTruth         // true or false
	formDuration      // with a unit: 30s
	formSize          // bytes, with a unit: 64MiB
	formExpr          // see expr.go
	formObject        // a mapping with the fields of field.object
	formList          // of field.element
	formOther         // read by special code; field.schema describes it
)

// field is one field of a mapping.
type field struct {
	name, doc string
	form      form
	required  bool
	options   []string // the words allowed, of a text
	object    *object
	element   *field
	schema    string
}

// object is a mapping with known fields. The tables below define everything that the reader accepts; the JSON schema is generated
// from them.
type object struct {
	what   string // its name in errors
	fields []field
}

func (o *object) names() []string {
	names := make([]string, len(o.fields))
	for i, f := range o.fields {
		names[i] = f.name
	}
	return names
}

// one is the name of the object with its article.
func (o *object) one() string {
	if strings.HasSuffix(o.what, "s") {
		return o.what
	}
	if strings.HasPrefix(o.what, "a") {
		return "an " + o.what
	}
	return "a " + o.what
}

func (o *object) lookup(name string) *field {
	for i := range o.fields {
		if o.fields[i].name == name {
			return &o.fields[i]
		}
	}
	return nil
}

const (
	exprSchema = `{"type": ["string", "number", "boolean"]}`
	lineSchema = `{"oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}}]}`
	mapSchema  = `{"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}`
	// objectiveSchema is that of the setting whose value may be a list.
	objectiveSchema = `"objective": {"oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]}`
	runSchema       = `{"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}, "properties": {` + objectiveSchema + `}}`
)

var fileObject = &object{"kernel file", []field{
	{name: "kernel", doc: "the name and the shape of the kernel", form: formObject, object: kernelObject},
	{name: "space", doc: "what may vary: parameters and constraints, which may name constants of the shape", form: formOther, required: true, schema: spaceSchema},
	{name: "source", doc: "a function in C or C++; this or command", form: formObject, object: sourceObject},
	{name: "command", doc: "any program that is measured as a whole; this or source", form: formObject, object: commandObject},
	{name: "run", doc: "settings of tune run: strategy, objective, seed, budget, evals, target, jobs, final, out, dir", form: formOther, schema: runSchema},
	{name: "presets", doc: "ways to run the kernel, by name, for tune run FILE --config NAME: settings as under run, which they are stronger than, with doc (one line) and start (start points of their own, at their shape)", form: formOther, schema: presetsSchema},
}}

const presetsSchema = `{"type": "object", "additionalProperties": {
	"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]},
	"properties": {"doc": {"type": "string"}, "start": {"type": "array", "items": ` + startSchema + `}, ` + objectiveSchema + `}
}}`

var kernelObject = &object{"kernel", []field{
	{name: "name", doc: "the name in reports and run directories; by default the name of the file", form: formText},
	{name: "doc", doc: "one line", form: formText},
	{name: "shape", doc: "constants of the problem by name: a default, or a mapping with default, from, to and doc; tune run --shape changes them", form: formOther,
		schema: `{"type": "object", "additionalProperties": {"oneOf": [{"type": "integer"}, SHAPE]}}`},
}}

var shapeObject = &object{"shape constant", []field{
	{name: "default", doc: "the value if --shape does not set another", form: formWhole, required: true},
	{name: "from", doc: "the least value; 1 by default", form: formWhole},
	{name: "to", doc: "the greatest value; 2^40 by default", form: formWhole},
	{name: "doc", doc: "one line", form: formText},
}}

var sourceObject = &object{"source", []field{
	{name: "file", doc: "the C or C++ file, relative to this one; give file or text. Files beside it that it includes by #include \"…\" become part of it", form: formText},
	{name: "text", doc: "the source itself", form: formText},
	{name: "language", doc: "by default the language that the suffix of the file says", form: formText, options: []string{"c", "c++"}},
	{name: "parameters", doc: "how values get into the source: by a #define for each parameter (the default), or in place of {{name}} or of an expression, such as {{n // 2}}; both may name constants of the shape too", form: formText, options: []string{"define", "template"}},
	{name: "function", doc: "the name of the function to tune", form: formText, required: true},
	{name: "arguments", doc: "the arguments of the function, in order", form: formList, required: true, element: &field{form: formObject, object: argumentObject}},
	{name: "reference", doc: "how to tell a right result: a function or files to compare with", form: formObject, required: true, object: referenceObject},
	{name: "compilers", doc: "gcc, clang, another program that takes their options, such as gcc-13, or the path of one. With several, the installed ones become the values of a parameter named compiler. By default the one that CC names, else gcc, else clang", form: formList, element: &field{form: formText}},
	{name: "flags", doc: "compiler flags, which may contain {{name}} and {{n // 2}}; a flag that contains spaces after that becomes several. Those that parameters switch by their field flag follow. Folders after -I, -L and -Wl,-rpath, and libraries such as lib/libfast.a, are relative to this file. -O3 -march=native by default", form: formList, element: &field{form: formText}},
	{name: "threads", doc: "how many threads a call uses, an expression; 1 by default. Calls with several threads are timed by wall clock", form: formExpr},
	{name: "vary", doc: "what timed calls do with inputs from files and constants, so that reusing earlier results does not pay: floats differ by up to a quarter, and about a quarter of the integers of 8 bits trade places (where they are in order, they stay so). false keeps all of them as they are, for a function that is right only for exactly these numbers, and is what a kernel without inputs and one with files of outputs need. The arguments have this field too", form: formTruth},
	{name: "trusted", doc: "fast: accept times that seem impossible, because they are shorter than reading the inputs and writing the outputs takes, or than the stated operations take at the peak rate of this machine", form: formText, options: []string{"fast"}},
	{name: "metric", doc: "rates to report beside the time", form: formObject, object: workObject},
	{name: "limits", doc: "what a candidate may use", form: formObject, object: sourceLimits},
	{name: "peers", doc: "other functions with the same arguments, which tune bench compares the result with; one may call a library", form: formList, element: &field{form: formObject, object: peerObject}},
}}

var peerObject = &object{"peer", []field{
	{name: "name", doc: "its name in tables", form: formText, required: true},
	{name: "function", doc: "a function with the arguments of the tuned one", form: formText, required: true},
	{name: "file", doc: "the C or C++ file that holds it; by default the tuned source", form: formText},
	{name: "flags", doc: "all compiler flags for it, such as -Llib -lfast, which may contain {{name}}, with folders relative to this file; by default those of the source. Parameters have the values of the baseline", form: formList, element: &field{form: formText}},
}}

var argumentObject = &object{"argument", []field{
	{name: "name", doc: "a name for messages, and for reference.outputs", form: formText, required: true},
	{name: "type", doc: "the type of the elements of a buffer, or of a scalar", form: formText, required: true, options: typeNames()},
	{name: "length", doc: "the length of a buffer in elements: an expression", form: formExpr},
	{name: "access", doc: "what the function does with a buffer: read, write, or update (both)", form: formText, options: []string{"read", "write", "update"}},
	{name: "fill", doc: "the content of a buffer that is read, before a call; seeded random numbers by default", form: formObject, object: fillObject},
	{name: "vary", doc: "whether a file or a constant varies in timed calls, whatever the field vary of source says. By default floats and integers of 8 bits do, and wider integers do not, since they may be offsets or indices. With true, their elements trade places; each value is one of the file, but a call may find some twice and others not at all", form: formTruth},
	{name: "value", doc: "the value of a scalar: an expression", form: formExpr},
	{name: "tolerance", doc: "the tolerance of this buffer, instead of that of the reference", form: formOther, schema: toleranceSchema},
}}

var fillObject = &object{"fill", []field{
	{name: "random", doc: "a range [from, to]: uniform in [from, to) for floating point, uniform whole numbers including both ends for integers", form: formList, element: &field{form: formExpr}},
	{name: "integers", doc: "true: only whole numbers of the range, in a floating-point buffer", form: formTruth},
	{name: "constant", doc: "one number for every element", form: formExpr},
	{name: "file", doc: "a file with the elements: numbers as text if the name ends in .txt or .csv, otherwise bytes in the machine's order", form: formText},
}}

var referenceObject = &object{"reference", []field{
	{name: "function", doc: "a function with the same arguments. It may be the tuned function itself, which is then compiled with the parameters and flags below", form: formText},
	{name: "file", doc: "the C or C++ file that holds it; by default the tuned source", form: formText},
	{name: "outputs", doc: "files of the expected elements by name of the buffer, instead of a function. Every fill must then be a constant or a file", form: formOther, schema: `{"type": "object", "additionalProperties": {"type": "string"}}`},
	{name: "flags", doc: "all compiler flags for the function, which may contain {{name}}. By default the flags of the source without optimisation levels and fast math, followed by -O2 -fno-fast-math -ffp-contract=off", form: formList, element: &field{form: formText}},
	{name: "parameters", doc: "the values that the function is compiled with, by name of the parameter. By default the smallest that a point has, one parameter after another (for texts the first in the alphabet, for booleans false, for compilers gcc): neither defaults nor the order of values matter", form: formOther, schema: mapSchema},
	{name: "tolerance", doc: "exact, or a mapping with absolute and relative: |got - want| <= absolute + relative*|want|. By default exact for integers, 1e-6 and 1e-5 for float, 1e-12 and 1e-10 for double", form: formOther, schema: toleranceSchema},
	{name: "shapes", doc: "further shapes to check every candidate on: a list of mappings from constants to numbers", form: formOther, schema: `{"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}`},
}}

var toleranceObject = &object{"tolerance", []field{
	{name: "absolute", doc: "0 by default", form: formNumber},
	{name: "relative", doc: "a number, or a share such as 1%; 0 by default", form: formOther, schema: `{"type": ["number", "string"], "pattern": "^[0-9.]+ ?%$"}`},
}}

const toleranceSchema = `{"oneOf": [{"const": "exact"}, TOLERANCE]}`

var workObject = &object{"metric", []field{
	{name: "operations", doc: "operations of one call, an expression over the shape: reported as GFLOP/s", form: formExpr},
	{name: "bytes", doc: "bytes that one call reads and writes, an expression over the shape: reported as GB/s", form: formExpr},
	{name: "cold", doc: "true: time calls with the buffers out of the caches, as far as copies of 1 GiB in all suffice for that", form: formTruth},
}}

var sourceLimits = &object{"limits", []field{
	{name: "compile", doc: "time for one compilation, with a unit; 1m by default", form: formDuration},
	{name: "call", doc: "time for one call, with a unit; by default 10s, or more where metric states much work. A call that takes more than a second and ten times as long as the best is ended anyway", form: formDuration},
	{name: "memory", doc: "address space beyond the buffers, with a unit; 4GiB by default", form: formSize},
}}

var commandObject = &object{"command", []field{
	{name: "run", doc: "the command to measure: a text for sh -c, or a list of words. {{name}} stands for a value, and {{n // 2}} for what is computed from values, which is quoted in a text for the shell. For a value of several words, set a variable by environment and write $NAME. A word that names an inactive parameter is left out", form: formOther, required: true, schema: lineSchema},
	{name: "build", doc: "a command that builds the program, before it is run", form: formOther, schema: lineSchema},
	{name: "setup", doc: "a command that runs once, before everything else. It stands for all points, so that {{name}} may name constants of the shape only. With files, it runs in a directory of its own, which has copies of them; the variable TUNE_SETUP leads all commands to it. What a run adds there is removed before the next run; if it changes or removes what setup made, setup runs again. If it fails, the run ends", form: formOther, schema: lineSchema},
	{name: "prepare", doc: "a command that runs before each run, in the same place, and is not measured. If it fails, so does the candidate", form: formOther, schema: lineSchema},
	{name: "cleanup", doc: "a command that runs once, at the end, also where the run failed or was interrupted. It runs where setup does, and may name constants of the shape only", form: formOther, schema: lineSchema},
	{name: "warmup", doc: "how many runs of each candidate come before the first one that counts, 0 to 1000; 0 by default", form: formWhole},
	{name: "check", doc: "a command that runs after run, and ends with status 0 if the result is right. It runs after the first and the last of the repeats, and after each that costs at least 5 % less than those that were checked; {{seed}} is a number that differs from check to check", form: formOther, schema: lineSchema},
	{name: "directory", doc: "where the commands run, relative to this file; by default the directory of this file. All candidates share it, so they run one after another", form: formText},
	{name: "files", doc: "gives each candidate its own directory with copies of these files, where its commands run; builds then run in parallel. What a run adds there is removed before the next run; if it changes or removes what was there, the directory is made and built again", form: formList, element: &field{form: formText}},
	{name: "templates", doc: "files to copy in the same way, with {{name}} replaced by values", form: formList, element: &field{form: formText}},
	{name: "environment", doc: "environment variables to set, which may contain {{name}}. TMPDIR and XDG_CACHE_HOME are new folders in each run, which its check sees too, unless they are set here", form: formOther, schema: mapSchema},
	{name: "metric", doc: "the number to tune", form: formObject, object: metricObject},
	{name: "metrics", doc: "further numbers to report beside it, by name. Each is the median of the runs, and has the fields from, pattern, json and file of metric, and goal", form: formOther, schema: `{"type": "object", "additionalProperties": OTHER}`},
	{name: "limits", doc: "what a command may use", form: formObject, object: commandLimits},
}}

var metricObject = &object{"metric", []field{
	{name: "from", doc: "where the number comes from: output or stderr (a number printed there), time (wall clock) or cpu (CPU time of all its processes, except those that no process waits for), in ns and including some ms for starting it under its limits, or size (of a file, in bytes); output by default", form: formText, options: []string{"output", "stderr", "time", "cpu", "size"}},
	{name: "pattern", doc: "a regular expression whose last match is the number, or its first group if it has one; by default the last line is the number", form: formText},
	{name: "json", doc: "the path of the number in JSON output, such as benchmarks[0].real_time", form: formText},
	{name: "file", doc: "the file whose size is the metric, relative to where the command runs", form: formText},
	{name: "unit", doc: "the unit of the number, for reports", form: formText},
	{name: "goal", doc: "minimise (the default) or maximise; a number to maximise must be above 0, and its cost is 1 divided by it", form: formText, options: []string{"minimise", "maximise"}},
	{name: "repeats", doc: "how often to run a candidate, 1 to 1000; the median counts. 3 by default, 2 with within, 1 if exact", form: formWhole},
	{name: "exact", doc: "true: the same point always has the same number; false by default. A number that is not exact must be above 0", form: formTruth},
	{name: "within", doc: "how far apart the numbers of one point are at most, as a share: 0.1%. It is for numbers that are nearly exact, such as counts of instructions. Few runs are then enough, a point whose runs differ by more is reported as noise, and what differs by less counts as equal", form: formOther, schema: `{"type": "string", "pattern": "^[0-9.]+ ?%$"}`},
}}

var otherMetric = &object{"metric", []field{
	*metricObject.lookup("from"), *metricObject.lookup("pattern"), *metricObject.lookup("json"), *metricObject.lookup("file"),
	{name: "goal", doc: "minimise (the default) or maximise: what an objective of tune run that names the number means where it does not say it", form: formText, options: []string{"minimise", "maximise"}},
}}

var commandLimits = &object{"limits", []field{
	{name: "run", doc: "time for one run, with a unit; 1m by default", form: formDuration},
	{name: "build", doc: "time for the build, with a unit; 5m by default", form: formDuration},
	{name: "check", doc: "time for the check, with a unit; 1m by default", form: formDuration},
	{name: "setup", doc: "time for setup, with a unit; 5m by default", form: formDuration},
	{name: "prepare", doc: "time for prepare, with a unit; 1m by default", form: formDuration},
	{name: "cleanup", doc: "time for cleanup, with a unit; 1m by default", form: formDuration},
	{name: "memory", doc: "private memory of each process; 8GiB by default", form: formSize},
	{name: "output", doc: "how much a command may print; 1MiB by default", form: formSize},
	{name: "file", doc: "the largest file that it may write; 4GiB by default", form: formSize},
}}

const spaceSchema = `{
	"type": "object", "additionalProperties": false, "required": ["parameters"],
	"properties": {
		"name": {"type": "string"},
		"parameters": {"type": "array", "minItems": 1, "items": {
			"type": "object", "additionalProperties": false, "required": ["name", "type"],
			"properties": {
				"name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
				"type": {"enum": ["int", "float", "pow2", "enum", "bool"]},
				"from": {"type": "number"}, "to": {"type": "number"},
				"step": {"description": "the distance of the values of an int, 1 by default, or of a float", "type": "number", "exclusiveMinimum": 0},
				"steps": {"description": "the number of steps from from to to, of a float, and of an int with scale: log", "type": "integer", "minimum": 1},
				"scale": {"description": "log: neighbouring values of an int or a float have the same ratio, and not the same distance", "enum": ["linear", "log"]},
				"values": {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}},
				"default": {"type": ["string", "number", "boolean"]},
				"when": {"description": "the parameter matters only where this expression over parameters before it is true", "type": ["string", "boolean"]},
				"flag": {"description": "compiler flags of a source that the parameter switches: for a bool those that are there when it is true, or a mapping from values to flags", "oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]},
				"doc": {"type": "string"}
			}
		}},
		"constraints": {"description": "expressions that have to be true at every point", "type": "array", "items": {"type": ["string", "boolean"]}},
		"start": {"description": "points that a search evaluates first, after the baseline: mappings from parameters to values, or keys such as tile=16 unroll=4; other parameters have their defaults", "type": "array", "items": ` + startSchema + `}
	}
}`

// startSchema is that of one start point.
const startSchema = `{"oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}]}`

// Schema returns the JSON schema of a kernel file.
func Schema() []byte {
	root := fileObject.jsonSchema()
	schema := append(orderedjson.Object{
		{Key: "$schema", Value: "https://json-schema.org/draft/2020-12/schema"},
		{Key: "title", Value: "A kernel of a user of tune"},
	}, root...)
	schema = append(schema, orderedjson.Member{Key: "oneOf", Value: json.RawMessage(`[{"required": ["source"]}, {"required": ["command"]}]`)})
	text, err := schema.Text()
	if err != nil {
		panic(err) // the tables hold invalid JSON
	}
	return text
}

func (o *object) jsonSchema() orderedjson.Object {
	var properties orderedjson.Object
	var required []string
	for i := range o.fields {
		f := &o.fields[i]
		properties = append(properties, orderedjson.Member{Key: f.name, Value: f.jsonSchema()})
		if f.required {
			required = append(required, f.name)
		}
	}
	out := orderedjson.Object{{Key: "type", Value: "object"}, {Key: "additionalProperties", Value: false}, {Key: "properties", Value: properties}}
	if required != nil {
		out = append(out, orderedjson.Member{Key: "required", Value: required})
	}
	return out
}

func (f *field) jsonSchema() orderedjson.Object {
	var out orderedjson.Object
	if f.doc != "" {
		out = orderedjson.Object{{Key: "description", Value: f.doc}}
	}
	switch f.form {
	case formText:
		if f.options != nil {
			return append(out, orderedjson.Member{Key: "enum", Value: f.options})
		}
		return append(out, orderedjson.Member{Key: "type", Value: []string{"string", "number"}})
	case formWhole:
		return append(out, orderedjson.Member{Key: "type", Value: "integer"})
	case formNumber:
		return append(out, orderedjson.Member{Key: "type", Value: "number"})
	case formTruth:
		return append(out, orderedjson.Member{Key: "type", Value: "boolean"})
	case formDuration:
		return append(out, orderedjson.Member{Key: "type", Value: "string"}, orderedjson.Member{Key: "pattern", Value: `^([0-9.]+(ms|s|m|h))+$`})
	case formSize:
		return append(out, orderedjson.Member{Key: "type", Value: "string"}, orderedjson.Member{Key: "pattern", Value: `^[0-9]+ ?(B|KiB|MiB|GiB|kB|MB|GB)$`})
	case formObject:
		return append(out, f.object.jsonSchema()...)
	case formList:
		return append(out, orderedjson.Member{Key: "type", Value: "array"}, orderedjson.Member{Key: "items", Value: f.element.jsonSchema()})
	}
	text := f.schema
	if f.form == formExpr {
		text = exprSchema
	}
	for name, o := range map[string]*object{"SHAPE": shapeObject, "TOLERANCE": toleranceObject, "OTHER": otherMetric} {
		if bytes.Contains([]byte(text), []byte(name)) {
			inner, err := json.Marshal(o.jsonSchema())
			if err != nil {
				panic(err)
			}
			text = string(bytes.ReplaceAll([]byte(text), []byte(name), inner))
		}
	}
	// A schema given as JSON is merged with the description.
	var rest map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &rest); err != nil {
		panic(err)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.Token()
	for decoder.More() {
		key, _ := decoder.Token()
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			panic(err)
		}
		out = append(out, orderedjson.Member{Key: key.(string), Value: value})
	}
	return out
}
