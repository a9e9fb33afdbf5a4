package library

import (
	"fmt"

	"tune/internal/orderedjson"
)

// fileField is a field of a mapping in the file of a library. The tables below have all that the reader takes; the JSON schema is made of them.
type fileField struct {
	name, doc   string
	schema      schema // nil for a whole number from least to most
	least, most int
	required    bool
}

type schema = orderedjson.Object

type object []fileField

func (o object) names() []string {
	var names []string
	for _, f := range o {
		names = append(names, f.name)
	}
	return names
}

// namePattern is that of names which become names in C.
const namePattern = "^[A-Za-z][A-Za-z0-9_]*$"

// kind is the beginning of a schema, and more members of it.
func kind(name string, more ...any) schema {
	out := schema{{Key: "type", Value: name}}
	for i := 0; i+1 < len(more); i += 2 {
		out = append(out, orderedjson.Member{Key: more[i].(string), Value: more[i+1]})
	}
	return out
}

// The schemas of several fields.
var (
	nameSchema   = kind("string", "pattern", namePattern)
	weightSchema = kind("number", "exclusiveMinimum", 0)
	valueSchema  = schema{{Key: "type", Value: []string{"string", "number"}}}
	fromOne      = kind("integer", "minimum", 1)
)

// draws are the ways to draw from a range.
var draws = []string{"log", "uniform"}

var fileObject = object{
	{name: "name", doc: "begins the names of the library's files and functions", schema: nameSchema, required: true},
	{name: "seed", doc: "draws the shapes and seeds the searches; 1 by default", schema: kind("integer", "minimum", 0)},
	{name: "tasks", doc: "the functions of the library", schema: kind("array", "minItems", 1, "items", taskObject.jsonSchema()), required: true},
	{name: "blas", doc: "true: the library has cblas_sgemm and sgemm_ too, which call the functions nn and nt; false by default", schema: kind("boolean")},
}

var taskObject = object{
	{name: "kernel", doc: "one of tune's kernels that can be called at any shape, such as gemm-f32, or the YAML file of your own, relative to this file", schema: kind("string"), required: true},
	{name: "function", doc: "the name of the function after that of the library; by default the name of the kernel", schema: nameSchema},
	{name: "fixed", doc: "fields of the shape that all calls share, such as layout: nt", schema: kind("object", "additionalProperties", valueSchema)},
	{name: "weight", doc: "how much the task counts beside others when time is handed out; 1 by default", schema: weightSchema},
	{name: "shapes", doc: "shapes that are called: the fields that calls differ in, and weight, 1 by default", schema: kind("array", "items", kind("object", "properties", schema{{Key: "weight", Value: weightSchema}}, "additionalProperties", valueSchema))},
	{name: "log", doc: "a CSV file, relative to this file, with a column for each field that calls differ in and one named count: the calls that a program made", schema: kind("string")},
	{name: "ranges", doc: "what shapes are drawn from: a range for each field that calls differ in", schema: kind("object", "additionalProperties", rangeObject.jsonSchema())},
	{name: "samples", doc: fmt.Sprintf("how many shapes are drawn from ranges, or taken from a log, to choose variants by; %d by default", defaultSamples), least: 1, most: mostShapes},
	{name: "held_out", doc: fmt.Sprintf("how many further shapes the certificate is about; %d by default", defaultHeldOut), least: 0, most: mostShapes},
	{name: "representatives", doc: "how many of the shapes are searched; one and a half times variants by default", least: 1, most: mostShapes},
	{name: "variants", doc: fmt.Sprintf("how many variants the function holds at most; %d by default", defaultVariants), least: 1, most: mostVariants},
	{name: "regret", doc: "a tolerated regret, such as 2%: of the sets of variants that keep to it, the smallest is taken", schema: kind("string", "pattern", "^[0-9.]+ *%$")},
}

var rangeObject = object{
	{name: "from", doc: "the least value", schema: fromOne, required: true},
	{name: "to", doc: "the greatest value", schema: fromOne, required: true},
	{name: "draw", doc: "log: values of each size are as likely, which is the default; uniform: all values are", schema: schema{{Key: "enum", Value: draws}}},
}

// objects are the mappings, by the names of their types.
var objects = map[string]object{"File": fileObject, "Task": taskObject, "Range": rangeObject}

// Schema returns the JSON schema of the file of a library.
func Schema() []byte {
	out := append(schema{
		{Key: "$schema", Value: "https://json-schema.org/draft/2020-12/schema"},
		{Key: "title", Value: "A library of kernels of tune"},
	}, fileObject.jsonSchema()...)
	text, err := out.Text()
	if err != nil {
		panic(err) // the tables hold invalid JSON
	}
	return text
}

func (o object) jsonSchema() schema {
	var properties schema
	var required []string
	for _, f := range o {
		properties = append(properties, orderedjson.Member{Key: f.name, Value: f.jsonSchema()})
		if f.required {
			required = append(required, f.name)
		}
	}
	return schema{
		{Key: "type", Value: "object"}, {Key: "additionalProperties", Value: false}, {Key: "properties", Value: properties}, {Key: "required", Value: required},
	}
}

func (f fileField) jsonSchema() schema {
	out := schema{{Key: "description", Value: f.doc}}
	if f.schema == nil {
		return append(out, kind("integer", "minimum", f.least, "maximum", f.most)...)
	}
	return append(out, f.schema...)
}
