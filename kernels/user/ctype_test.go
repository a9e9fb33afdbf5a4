package user

import "testing"

// TestMeantType: the types of other languages, and C's of several words, have a name in a file.
func TestMeantType(t *testing.T) {
	for name, want := range map[string]string{
		"float64": "double", "float32": "float", "Float": "float", "fp64": "double", "int32": "int32_t", "uint8": "uint8_t", "int64": "int64_t", "uint64": "uint64_t", "char": "int8_t",
		"unsigned char": "uint8_t", "bool": "uint8_t", "short": "int16_t", "unsigned int": "unsigned", "long long": "int64_t", "unsigned long long": "uint64_t", "usize": "size_t",
		"const float *": "float", "float*": "float", "double[]": "double", "const double *restrict": "double", "half": "", "float16": "", "void *": "", "": "",
	} {
		got := meantType(name)
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
		if got != "" && lookupType(got).name == "" {
			t.Errorf("%q stands for %q, which is no type", name, got)
		}
	}
	for name, of := range foreignTypes {
		if lookupType(of).name == "" || lookupType(name).name != "" {
			t.Errorf("%s stands for %s", name, of)
		}
	}
}
