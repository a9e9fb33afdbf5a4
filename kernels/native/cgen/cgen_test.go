package cgen

import (
	"strings"
	"testing"
	"testing/fstest"

	"tune/internal/cpu"
	"tune/kernels/native"
	"tune/kernels/threads"
	"tune/space"
)

func TestWriter(t *testing.T) {
	var w Writer
	w.Comment("%d lines", 2)
	w.Func("static float first(const float *x)")
	w.Line("#if A %% 2")
	w.Nested("for (int i = 0; i < 3; i++)", "if (x[i] % 2)", "return x[i];")
	w.Line("#endif")
	w.Macro("ADD(%s)", "u")
	w.MacroLine("s += u;")
	w.Close()
	w.Block(func() { w.Line("float s = 0;") })
	w.EndFunc()
	w.Open("struct pair")
	w.Line("float a, b;")
	w.EndType()
	want := `// 2 lines
static float first(const float *x)
{
#if A % 2
	for (int i = 0; i < 3; i++)
		if (x[i] % 2)
			return x[i];
#endif
#define ADD(u) { \
		s += u; \
	}
	{
		float s = 0;
	}
}

struct pair {
	float a, b;
};
`
	if got := w.String(); got != want {
		t.Errorf("the writer wrote\n%s\nwant\n%s", got, want)
	}
}

// TestWriterMistakes: the writer panics when a generator leaves a block open or writes a line break.
func TestWriterMistakes(t *testing.T) {
	for what, mistake := range map[string]func(w *Writer){
		"an open block":  func(w *Writer) { w.Open("for (;;)"); _ = w.String() },
		"two lines":      func(w *Writer) { w.Line("a;\nb;") },
		"no such piece":  func(w *Writer) { w.Piece(ParsePieces(fstest.MapFS{"a": {Data: []byte("x")}}, "a"), "b", nil) },
		"no such vector": func(*Writer) { Lookup("avx3") },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			mistake(&Writer{})
		})
	}
}

func TestPieces(t *testing.T) {
	files := fstest.MapFS{"pieces.c.tmpl": {Data: []byte(`{{define "type" -}}
{{vector "float" "vec" .Bytes}}
{{memory "int32_t" "ints" .Bytes 4}}
{{end}}`)}}
	var w Writer
	w.Piece(ParsePieces(files, "pieces.c.tmpl"), "type", map[string]any{"Bytes": 32})
	const want = "typedef float vec __attribute__((vector_size(32)));\ntypedef int32_t ints __attribute__((vector_size(32), aligned(4), may_alias));\n"
	if got := w.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSelect(t *testing.T) {
	all := []string{Generic, AVX2, AVXVNNI, AVX512, AVX512VNNI}
	for _, test := range []struct {
		machine []string
		names   []string
		want    string
	}{
		{nil, all, "generic"},
		{[]string{cpu.AVX512VNNI, cpu.AVX2, cpu.AVX512, cpu.AVXVNNI}, all, "generic avx2 avxvnni avx512 avx512vnni"},
		{[]string{cpu.AVX512VNNI, cpu.AVX2, cpu.AVX512}, []string{AVX512, Generic}, "generic avx512"},
	} {
		var got []string
		for _, isa := range Select(native.Machine{ISAs: test.machine}, test.names...) {
			got = append(got, isa.Name)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%v of %v: %s, want %s", test.names, test.machine, s, test.want)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		flags Flags
		want  string
	}{
		{Flags{Opt: "O2", ISA: Generic}, "-O2"},
		{Flags{Opt: "O2", ISA: Native, Arch: "amd64"}, "-O2 -march=native"},
		{Flags{Opt: "O2", ISA: Native, Arch: "arm64"}, "-O2 -mcpu=native"},
		{Flags{Opt: "O2", ISA: Native, Arch: "arm64", MarchNative: true}, "-O2 -march=native"},
		{Flags{Opt: "O3", ISA: AVXVNNI, Wide: true}, "-O3 -mavx2 -mfma -mavxvnni"},
		{Flags{Opt: "O3", ISA: AVX512}, "-O3 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma"},
		{
			Flags{Std: "gnu11", Opt: "O3", Contract: ContractOff, NoMathErrno: true, ISA: AVX512VNNI, Wide: true, TuneNative: true, UnrollLoops: true, Threads: true},
			"-std=gnu11 -O3 -ffp-contract=off -fno-math-errno -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni -mtune=native -funroll-loops -pthread -D_GNU_SOURCE",
		},
	} {
		if got := strings.Join(test.flags.List(), " "); got != test.want {
			t.Errorf("%+v: %s, want %s", test.flags, got, test.want)
		}
	}
}

func TestCrew(t *testing.T) {
	s, err := space.New("crew", append([]space.Parameter{space.Range("workers", 1, 4)}, CrewParameters("workers > 1")...))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]threads.Config{
		"workers=3 hand_out=dynamic start=spawn":         {Workers: 3, HandOut: threads.Dynamic, Start: threads.Spawn},
		"workers=2 hand_out=static start=pool spin=1000": {Workers: 2, HandOut: threads.Static, Start: threads.Pool, Spin: 1000},
	} {
		p, err := s.Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := Crew(p); got != want {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
}

func TestCold(t *testing.T) {
	for _, test := range []struct {
		word       string
		auto, want bool
	}{{"auto", true, true}, {"auto", false, false}, {"warm", true, false}, {"cold", false, true}} {
		if got := Cold(test.word, test.auto); got != test.want {
			t.Errorf("Cold(%s, %v) = %v", test.word, test.auto, got)
		}
	}
}

func TestCeil(t *testing.T) {
	for _, test := range []struct{ a, b, want int }{{0, 4, 0}, {1, 4, 1}, {4, 4, 1}, {5, 4, 2}, {7, 1, 7}} {
		if got := Ceil(test.a, test.b); got != test.want {
			t.Errorf("Ceil(%d, %d) is %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
