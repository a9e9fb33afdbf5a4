package kernels_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/kernelstest"
	"tune/kernels/treehash"
	"tune/space"
)

// gifted is a problem that has the given traits, and whose candidates are right as long as their point is not among the
// wrong ones.
type gifted struct {
	*stub
	traits kernels.Traits
	wrong  map[string]error
	built  []space.Point
}

func newGifted(t *testing.T) *gifted {
	t.Helper()
	s, err := space.New("gifted", []space.Parameter{
		space.Range("n", 1, 4), space.Enum("mode", "slow", "fast"), space.Range("depth", 1, 3).If("mode == 'fast'"),
	}, "n != 2 || mode == 'slow'")
	if err != nil {
		t.Fatal(err)
	}
	g := &gifted{stub: newStub(t), wrong: map[string]error{}}
	g.space = s
	return g
}

func (g *gifted) Traits() kernels.Traits { return g.traits }

func (g *gifted) point(key string) space.Point {
	p, err := g.space.Parse(key)
	if err != nil {
		panic(err)
	}
	return p
}

func (g *gifted) Presets() []kernels.Preset {
	return []kernels.Preset{
		{Name: "baseline", Point: g.point("n=2 mode=slow"), Start: true},
		{Name: "other", Point: g.point("n=2 mode=slow")},
		{Name: "good", Point: g.point("n=3 mode=fast depth=2"), Start: true},
	}
}

func (g *gifted) Build(_ context.Context, p space.Point) (kernels.Candidate, error) {
	g.built = append(g.built, p)
	s := *g.stub
	s.check = func() error { return g.wrong[p.Key()] }
	return &s, nil
}

func pin(t *testing.T, p kernels.Problem, values map[string]string) kernels.Problem {
	t.Helper()
	pinned, err := kernels.Pin(p, values)
	if err != nil {
		t.Fatal(err)
	}
	return pinned
}

func keys(points ...space.Point) string {
	var out []string
	for _, p := range points {
		out = append(out, p.Key())
	}
	return strings.Join(out, ", ")
}

// TestPin: a pinned problem has fewer points, and builds what the given problem builds of them.
func TestPin(t *testing.T) {
	g := newGifted(t)
	for _, c := range []struct {
		values                   map[string]string
		points                   uint64
		baseline, presets, start string
	}{
		{nil, 13, "n=2 mode=slow", "baseline other good", "n=2 mode=slow, n=3 mode=fast depth=2"},
		{map[string]string{"depth": "1"}, 7, "n=2 mode=slow", "baseline other good", "n=2 mode=slow, n=3 mode=fast depth=1"},
		{map[string]string{"mode": "slow"}, 4, "n=2 mode=slow", "baseline other good", "n=2 mode=slow, n=3 mode=slow"},
		// The baseline breaks the constraint, and the default is in its place.
		{map[string]string{"mode": "fast"}, 9, "n=1 mode=fast depth=1", "baseline good", "n=3 mode=fast depth=2"},
	} {
		p := pin(t, g, c.values)
		if n, ok := p.Space().Len(); n != c.points || !ok {
			t.Errorf("%v: %d points, want %d", c.values, n, c.points)
		}
		var names []string
		for _, preset := range p.Presets() {
			names = append(names, preset.Name)
		}
		presets := p.Presets()
		if got := strings.Join(names, " "); got != c.presets || presets[0].Point.Key() != c.baseline || keys(kernels.Starts(p)...) != c.start {
			t.Errorf("%v: presets %s, of which %s is the baseline, and a search may begin with %s", c.values, got, presets[0].Point, keys(kernels.Starts(p)...))
		}
		for point := range p.Space().All() {
			if point.Space() != p.Space() {
				t.Fatalf("%s is of another space", point)
			}
			if _, err := p.Build(t.Context(), point); err != nil {
				t.Fatal(err)
			}
			if built := g.built[len(g.built)-1]; built.Space() != g.space || built.Key() != point.Key() {
				t.Errorf("%v: %s was built as %s of space %s", c.values, point, built, built.Space().Name())
			}
		}
	}
	for want, values := range map[string]map[string]string{
		`no parameter "m"`: {"m": "1"},
		`"n"`:              {"n": "5"},
		"no point":         {"n": "2", "mode": "fast"},
	} {
		if _, err := kernels.Pin(g, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want it to say %s", values, err, want)
		}
	}
}

// TestPinTraits: every trait survives, and none of them lets a point of one space into the other. A trait that Pin does
// not know fails here, or is handed on as it is.
func TestPinTraits(t *testing.T) {
	g := newGifted(t)
	inside := g.point("n=3 mode=fast depth=2") // of the given problem
	values := reflect.ValueOf(&g.traits).Elem()
	var passed []reflect.Value // to the func of the given problem that was called last
	for i := range values.NumField() {
		field := values.Field(i)
		if field.Kind() != reflect.Func {
			field.Set(sample(t, field.Type(), inside))
			continue
		}
		field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) (results []reflect.Value) {
			passed = args
			for out := range field.Type().Outs() {
				results = append(results, sample(t, out, inside))
			}
			return results
		}))
	}
	p := pin(t, g, map[string]string{"mode": "fast"})
	pinned, err := p.Space().Parse(inside.Key())
	if err != nil {
		t.Fatal(err)
	}
	traits := reflect.ValueOf(p.Traits())
	for i := range values.NumField() {
		name, field, wrapped := values.Type().Field(i).Name, values.Field(i), traits.Field(i)
		switch {
		case wrapped.IsZero():
			t.Errorf("%s is lost", name)
		case name == "Settle":
			// It works on the points that Baselines has here: see TestPinSettle.
		case field.Kind() != reflect.Func:
			if !reflect.DeepEqual(field.Interface(), wrapped.Interface()) {
				t.Errorf("%s is %v, want %v", name, wrapped, field)
			}
		default:
			var args []reflect.Value
			for in := range field.Type().Ins() {
				args = append(args, sample(t, in, pinned))
			}
			passed = nil
			results := wrapped.Call(args)
			if len(passed) != len(args) {
				t.Errorf("%s does not ask the given problem", name)
				continue
			}
			for j, arg := range passed {
				if want := sample(t, arg.Type(), inside); !same(arg, want) {
					t.Errorf("%s: argument %d is %v, want %v, points of the given problem's space", name, j, arg, want)
				}
			}
			for j, result := range results {
				if want := sample(t, result.Type(), pinned); !same(result, want) {
					t.Errorf("%s: result %d is %v, want %v, points of the pinned space", name, j, result, want)
				}
			}
		}
	}
}

var (
	errSample       = errors.New("of a trait")
	candidateSample = &gaps{n: 1}
)

// sample returns a value of a type that is not zero. All points in it are the given one.
func sample(t *testing.T, typ reflect.Type, point space.Point) reflect.Value {
	t.Helper()
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(3)
	case reflect.String:
		v.SetString("text")
	case reflect.Slice:
		v.Set(reflect.Append(v, sample(t, typ.Elem(), point)))
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(sample(t, typ.Elem(), point))
	case reflect.Struct:
		if typ == reflect.TypeFor[space.Point]() {
			return reflect.ValueOf(point)
		}
		for i := range typ.NumField() {
			v.Field(i).Set(sample(t, typ.Field(i).Type, point))
		}
	case reflect.Func: // within a value: nil, because two funcs cannot be compared
	case reflect.Interface:
		for _, known := range []any{errSample, candidateSample, strings.NewReader(""), &strings.Builder{}, context.Background()} {
			if reflect.TypeOf(known).Implements(typ) {
				v.Set(reflect.ValueOf(known))
				return v
			}
		}
		t.Fatalf("no value of %v is known", typ)
	default:
		t.Fatalf("no value of %v is known", typ)
	}
	return v
}

// same reports whether two samples are equal. Points are where they are of the same space.
func same(a, b reflect.Value) bool {
	if p, ok := a.Interface().(space.Point); ok {
		q := b.Interface().(space.Point)
		return p.Equal(q) && p.Space() == q.Space()
	}
	if p, ok := a.Interface().([]space.Point); ok {
		q := b.Interface().([]space.Point)
		return slices.EqualFunc(p, q, func(a, b space.Point) bool { return a.Equal(b) && a.Space() == b.Space() })
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// TestPinSettle: the points that may be the baseline have the pinned values, and the first right one of them becomes it.
func TestPinSettle(t *testing.T) {
	wrong := kernels.Reject(space.WrongAnswer, "wrong")
	for _, c := range []struct {
		name  string
		wrong map[string]error
		want  string
		err   bool
	}{
		{"the first is right", nil, "n=1 mode=fast depth=1", false},
		{"the second is", map[string]error{"n=1 mode=fast depth=1": wrong}, "n=3 mode=fast depth=1", false},
		{"none is", map[string]error{"n=1 mode=fast depth=1": wrong, "n=3 mode=fast depth=1": wrong}, "n=1 mode=fast depth=1", false},
		{"the first dies", map[string]error{"n=1 mode=fast depth=1": kernels.Reject(space.Crashed, "dead")}, "n=1 mode=fast depth=1", false},
		{"the tuner fails", map[string]error{"n=1 mode=fast depth=1": errSample}, "n=1 mode=fast depth=1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGifted(t)
			g.wrong = c.wrong
			g.traits.Baselines = func() []space.Point {
				return []space.Point{g.point("n=2 mode=slow"), g.point("n=1 mode=slow"), g.point("n=3 mode=slow"), g.point("n=3 mode=fast depth=1")}
			}
			g.traits.Settle = func(context.Context, uint64) error {
				t.Error("the given problem settles on a point of its own")
				return nil
			}
			p := pin(t, g, map[string]string{"mode": "fast"})
			if got, want := keys(p.Traits().Baselines()...), "n=1 mode=fast depth=1, n=3 mode=fast depth=1"; got != want {
				t.Errorf("the points that may be the baseline are %s, want %s", got, want)
			}
			if err := p.Traits().Settle(t.Context(), 7); (err != nil) != c.err {
				t.Fatal(err)
			}
			if got := p.Presets()[0].Point.Key(); got != c.want {
				t.Errorf("the baseline is %s, want %s", got, c.want)
			}
		})
	}
}

// TestPinConforms: pinned problems are problems like any other.
func TestPinConforms(t *testing.T) {
	kernelstest.Run(t, pinnedKernel{shellSort{}, map[string]string{"shrink": "3"}}, "n=64")
	for _, family := range []string{"scalar", "vector"} {
		kernelstest.Run(t, pinnedKernel{treehash.Kernel{}, map[string]string{"family": family}}, "height=3,rounds=3,batch=11")
	}
}

func TestTraitsValidate(t *testing.T) {
	g := newGifted(t)
	full := kernels.Traits{
		Levels: 1, Blind: []string{"n"}, MostFinalists: 2,
		BuildAt: func(ctx context.Context, p space.Point, _ int) (kernels.Candidate, error) { return g.Build(ctx, p) },
		Compare: func(context.Context, kernels.Candidate, []kernels.Candidate, kernels.Series) (f kernels.Final, err error) {
			return f, err
		},
	}
	for _, traits := range []kernels.Traits{{}, full} {
		if err := traits.Validate(); err != nil {
			t.Error(err)
		}
	}
	for want, spoil := range map[string]func(*kernels.Traits){
		"Levels is negative":        func(t *kernels.Traits) { t.Levels = -1 },
		"Levels and BuildAt":        func(t *kernels.Traits) { t.BuildAt = nil },
		"Blind is of":               func(t *kernels.Traits) { t.Levels, t.BuildAt = 0, nil },
		"Baselines and Settle":      func(t *kernels.Traits) { t.Settle = func(context.Context, uint64) error { return nil } },
		"Passes and Explain":        func(t *kernels.Traits) { t.Passes = func(space.Point) []string { return nil } },
		"MostFinalists is negative": func(t *kernels.Traits) { t.MostFinalists = -1 },
		"MostFinalists is of":       func(t *kernels.Traits) { t.Compare = nil },
	} {
		traits := full
		spoil(&traits)
		if err := traits.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

func TestParsePinned(t *testing.T) {
	got, err := kernels.ParsePinned([]string{"n=3", "mode=fast", "n=3", "text=a=b"})
	if want := "mode=fast, n=3, text=a=b"; err != nil || kernels.PinnedText(got) != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
	if got, err := kernels.ParsePinned(nil); got != nil || err != nil {
		t.Errorf("nothing gives %v, %v", got, err)
	}
	for given, want := range map[string]string{
		"n": `"n": want a parameter and its value, such as unroll=4`, "=3": `"=3": want a parameter and its value, such as unroll=4`,
	} {
		if _, err := kernels.ParsePinned([]string{given}); err == nil || err.Error() != want {
			t.Errorf("%q gives %v, want %s", given, err, want)
		}
	}
}
