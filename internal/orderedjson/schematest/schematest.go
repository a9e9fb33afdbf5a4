// Package schematest compares a JSON schema that is published as a file with the tables that it is made of.
package schematest

import (
	"bytes"
	"os"
	"testing"
)

// Published compares the file at a path with a schema, and writes it where update is set. It ends the test where they differ.
func Published(t *testing.T, path string, schema []byte, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, schema, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, schema) {
		t.Fatalf("%s is not what the tables say: run the test with -update", path)
	}
}
