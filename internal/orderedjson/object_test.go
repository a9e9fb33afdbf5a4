package orderedjson

import (
	"encoding/json"
	"testing"
)

func TestObject(t *testing.T) {
	o := Object{
		{Key: "b", Value: 1},
		{Key: "a", Value: Object{{Key: "z", Value: []string{"x"}}, {Key: "y", Value: json.RawMessage(`{"k": true}`)}}},
	}
	got, err := o.Text()
	const want = "{\n  \"b\": 1,\n  \"a\": {\n    \"z\": [\n      \"x\"\n    ],\n    \"y\": {\n      \"k\": true\n    }\n  }\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if _, err := (Object{{Key: "bad", Value: json.RawMessage("{")}}).Text(); err == nil {
		t.Error("a value that is no JSON is written")
	}
}
