package library

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNames: what is refused is what the files of a library define twice, and nothing else.
func TestNames(t *testing.T) {
	l := blas(t)
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	// Names at the beginning of a line, behind a type: functions, their types, and variables that other files see.
	defined := regexp.MustCompile(`(?m)^(?:typedef |extern )?(?:const )?(?:unsigned|int|void|int64_t|demo_kernel|struct demo_variant) (?:\*)?demo_(\w+)`)
	var names []string
	for _, name := range []string{"src/variants.h", "src/dispatch.c", "src/blas.c"} {
		for _, m := range defined.FindAllStringSubmatch(string(files[name]), -1) {
			names = append(names, m[1])
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range names {
		if err := CheckNames("demo", []string{"nn", name}); err == nil && !strings.HasPrefix(name, "nt") {
			t.Errorf("a library has demo_%s, and a function may have that name", name)
		}
	}
	for _, name := range own {
		if !slices.Contains(names, name) {
			t.Errorf("no library has demo_%s: %v", name, names)
		}
	}
	for _, names := range [][]string{{"a", "b", "a_b", "a_vx", "plain", "v0"}, {"sgemm", "sgemm_nt", "sgemm_v"}} {
		if err := CheckNames("demo", names); err != nil {
			t.Errorf("%v: %v", names, err)
		}
	}
	for _, end := range []string{"", "_choice", "_plain", "_variants", "_packed_bytes", "_pack", "_v0", "_v12_pack"} {
		for _, names := range [][]string{{"a", "a" + end}, {"a" + end, "a"}} {
			if err := CheckNames("demo", names); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the symbol demo_a%s would be there twice", end)) {
				t.Errorf("%v: %v", names, err)
			}
		}
	}
}
