package all_test

import (
	"errors"
	"testing"

	"tune/kernels"
	"tune/kernels/all"
	"tune/kernels/native"
	"tune/kernels/native/cc"
)

// TestTable: every kernel is found by its name and has a problem of the default shape.
func TestTable(t *testing.T) {
	table := all.Table(native.NewHost(native.HostOptions{}))
	seen := map[string]bool{}
	for i, name := range table.Names() {
		if !kernels.BuiltIn(name) {
			t.Errorf("package kernels does not list %s as one that comes with tune", name)
		}
		if kernels.OfProgram(table[i]) {
			t.Errorf("%s is taken for a kernel of a program", name)
		}
		if seen[name] {
			t.Errorf("two kernels are called %s", name)
		}
		seen[name] = true
		k, err := table.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		shape, err := kernels.ParseShape(k.Info().Shape, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Problem(shape)
		if errors.Is(err, cc.ErrNone) {
			t.Logf("%s: its problem is not made here: %v", name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
