package user

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTravel: where the files that travel lie in an empty folder, Load reads the same version of the kernel there, also from the copy of a
// run. What cannot travel says why.
func TestTravel(t *testing.T) {
	const space = "space: {parameters: [{name: n, type: int, from: 1, to: 2}]}\n"
	command := space + "command: {files: [./a.sh, kernel.yaml], templates: [b.txt], run: ./a.sh, metric: {exact: true}}\n"
	source := space + "source: {file: k.c, function: f, arguments: [{name: y, type: float, length: 4, access: write}], reference: {function: f}, vary: false}\n"
	for name, test := range map[string]struct {
		files []string
		want  []string
	}{
		"command": {[]string{command, "a.sh", "echo 1\n", "b.txt", "{{n}}\n"}, []string{"kernel.yaml", "a.sh", "b.txt"}},
		"source":  {[]string{source, "k.c", "void f(float *y) { for (int i = 0; i < 4; i++) y[i] = n; }\n"}, []string{"kernel.yaml", "k.c"}},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := load(t, test.files...)
			run := t.TempDir()
			if err := k.Save(run); err != nil {
				t.Fatal(err)
			}
			copied, err := Open(run)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range []*Kernel{k, copied} {
				list, err := k.Travel()
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				var names []string
				for _, f := range list {
					names = append(names, f.Name)
					path := filepath.Join(dir, f.Name)
					if err := os.WriteFile(path, f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Chmod(path, f.Mode); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Equal(names, test.want) {
					t.Errorf("the files are %v", names)
				}
				there, err := Load(filepath.Join(dir, list[0].Name))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := there.Info(), k.Info(); got.Version != want.Version || got.Name != want.Name {
					t.Errorf("version %s of %s, want %s of %s", got.Version, got.Name, want.Version, want.Name)
				}
			}
		})
	}
	outside := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"command: {files: ['" + outside + "'], run: echo 1}\n": "its file " + outside + " is outside of the folder of",
		"command: {run: echo 1}\n":                             "which stays where it is: list the files that they need in ",
	} {
		k, _ := load(t, space+text)
		_, err := k.Travel()
		if bad, ok := errors.AsType[*TravelError](err); !ok || !strings.Contains(bad.Reason, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
