package library

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/library"
	"tune/kernels/native"
	"tune/kernels/native/timing"
)

// Beside measures a finished library beside other libraries that compute the same. It measures the library as programs call it, with its
// dispatcher, at shapes that it was not tuned for.
type Beside struct {
	// File says which shapes there are. Those drawn from its ranges with Seed are measured, and of a log those that a library holds out;
	// of listed shapes all.
	File *File
	Dir  string // of the library
	Kernels
	Seed    uint64 // another than that of the library, so that the shapes are others
	Samples int    // shapes drawn for each function
	Names   []string
	// Limit is roughly how long the measurement of one shape takes; 0 means 2 s.
	Limit   time.Duration
	Observe func(Progress)
	Began   time.Time
}

// BesideResult is what Beside found of a function.
type BesideResult struct {
	Function string      `json:"function"`
	Rows     []BesideRow `json:"rows"` // of the shapes at which it is compared with a library at least
	// Peers says for each library how many times as fast as it the functions are, "best" beside the fastest one at each shape.
	Peers map[string]Ratios `json:"peers"`
	// LeftOut says of libraries why they are not compared with.
	LeftOut map[string]string `json:"left_out,omitempty"`
	// Unverified counts the shapes at which the machine was not quiet.
	Unverified int `json:"unverified"`
}

// BesideRow is one shape.
type BesideRow struct {
	Shape string  `json:"shape"`
	Cost  float64 `json:"cost"` // of a call, in nanoseconds
	// Ratios are how many times as fast as a peer the library is, and BestPeer is the fastest of them.
	Ratios     map[string]float64 `json:"ratios"`
	BestPeer   string             `json:"best_peer"`
	Pairs      int                `json:"pairs"`
	Unverified bool               `json:"unverified,omitempty"`
}

// Ratios sums up how many times as fast the library is at several shapes.
type Ratios struct {
	Shapes int     `json:"shapes"`
	Mean   float64 `json:"geometric_mean"`
	P5     float64 `json:"p5"` // one shape of twenty has less
	Worst  float64 `json:"worst"`
	Ahead  float64 `json:"ahead"` // the share of shapes at which the library is not slower
}

// bestPeer names the fastest of the peers at each shape.
const bestPeer = "best"

// besideLimit is how long the measurement of a shape takes unless the caller says otherwise.
const besideLimit = 2 * time.Second

// Run writes the library again from its measurements, into a folder of its own that is removed, builds it there, and measures its
// functions. So no file in Dir is executed, and what is measured is what the measurements make.
func (b Beside) Run(ctx context.Context) ([]BesideResult, error) {
	if b.Began.IsZero() {
		b.Began = time.Now()
	}
	seeded := *b.File
	seeded.Seed, seeded.Tasks = &b.Seed, slices.Clone(b.File.Tasks)
	for i := range seeded.Tasks {
		if len(seeded.Tasks[i].Ranges) > 0 {
			seeded.Tasks[i].HeldOut = &b.Samples
		}
	}
	asked, err := seeded.Plan(b.Kernels, "")
	if err != nil {
		return nil, err
	}
	m, _, all, err := reopen(ctx, b.Dir, b.Kernels)
	if err != nil {
		return nil, err
	}
	m.Began, m.Observe = b.Began, b.Observe
	functions, err := b.functions(asked, all)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tune-library-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m.tell(Progress{Step: "building", Text: m.Plan.Name})
	built, err := m.build(ctx, all, dir)
	if err != nil {
		return nil, err
	}
	var out []BesideResult
	for i, t := range asked.Tasks {
		r, err := b.function(ctx, m, functions[i], t, built)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// functions returns the functions of a library that the tasks of a plan ask for, each of which has peers. What is wrong is found before
// anything is built.
func (b Beside) functions(asked *Plan, all []*settled) ([]*settled, error) {
	var out []*settled
	for _, t := range asked.Tasks {
		i := slices.IndexFunc(all, func(s *settled) bool { return s.Function == t.Function })
		if i < 0 {
			return nil, fmt.Errorf("%s: the library has no function %s: name by --dir the folder of the library that the file makes", b.Dir, t.Function)
		}
		s := all[i]
		if s.Kernel != t.Kernel || s.Fixed != t.Fixed || !slices.Equal(s.Fields, t.Fields) {
			return nil, fmt.Errorf("%s: function %s of the library is another one than that of the file: name by --dir the folder of the library that the file makes", b.Dir, t.Function)
		}
		if shapes := besideShapes(t); len(shapes) > 0 {
			if _, _, err := b.peers(s, shapes[0].Fields); err != nil {
				return nil, fmt.Errorf("%s %s: %w", t.Function, t.Called(shapes[0].Fields), err)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// besideShapes are the shapes of a task at which its function is measured.
func besideShapes(t TaskPlan) []PlannedShape {
	if len(t.HeldOut) == 0 {
		return t.Training
	}
	return t.HeldOut
}

// peers returns the problem of a function at a shape, and the other libraries that compute the same.
func (b Beside) peers(s *settled, fields []int64) (*native.Problem, []kernels.Peer, error) {
	opened, err := openShape(s.kernel, s.Fixed, s.Called(fields))
	if err != nil {
		return nil, nil, err
	}
	p, ok := opened.Problem.(*native.Problem)
	if !ok {
		return nil, nil, fmt.Errorf("no library is known that computes %s: 'tune bench' compares your own kernel with the functions that its file names as peers", s.Kernel)
	}
	offered := p.Traits().Peers
	if offered == nil {
		return nil, nil, fmt.Errorf("no library is known that computes %s: name the file of another kernel, such as gemm-f32", s.Kernel)
	}
	peers, err := offered(b.Names)
	return p, peers, err
}

// build writes the files of a library into a folder, and builds the shared library there. It returns its path.
func (m *maker) build(ctx context.Context, all []*settled, dir string) (string, error) {
	made, err := m.files(all)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, made[name], 0o666); err != nil {
			return "", err
		}
	}
	shared := "lib" + m.Plan.Name + ".so"
	if _, err := exec.LookPath("make"); err != nil {
		return "", fmt.Errorf("the library is built by make, which is not installed: %w: install it", err)
	}
	var errors bytes.Buffer
	c := exec.CommandContext(ctx, "make", "-s", "-C", dir, shared)
	c.Stdout, c.Stderr = &errors, &errors
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("make %s: %w: %s", shared, err, plain.Line(errors.String()))
	}
	return filepath.Join(dir, shared), nil
}

// function measures one function at the shapes of a plan.
func (b Beside) function(ctx context.Context, m *maker, s *settled, t TaskPlan, built string) (BesideResult, error) {
	out := BesideResult{Function: t.Function, Peers: map[string]Ratios{}, LeftOut: map[string]string{}}
	shapes := besideShapes(t)
	f, err := s.function()
	if err != nil {
		return out, err
	}
	l := library.Library{Name: m.Plan.Name, Functions: []library.Function{f}}
	for n, shape := range shapes {
		m.tell(Progress{Step: "measuring", Text: t.Function + " " + t.Called(shape.Fields), Done: n, Of: len(shapes)})
		source, err := l.Caller(built, slices.Index(s.used, s.tree.At(shape.Fields)), s.dims(f.Linkage, shape.Fields))
		if err != nil {
			return out, err
		}
		r, err := b.shape(ctx, s, shape.Fields, source, out.LeftOut)
		if err != nil {
			return out, fmt.Errorf("%s %s: %w", t.Function, t.Called(shape.Fields), err)
		}
		if r.BestPeer == "" {
			continue // LeftOut says why
		}
		if r.Unverified {
			out.Unverified++
		}
		out.Rows = append(out.Rows, r)
	}
	out.Peers = ratios(out.Rows)
	return out, nil
}

// shape measures a function at one shape, beside each peer that is right there. The row has no BestPeer where none is.
func (b Beside) shape(ctx context.Context, s *settled, fields []int64, source native.Source, leftOut map[string]string) (BesideRow, error) {
	r := BesideRow{Shape: s.Called(fields), Ratios: map[string]float64{}}
	p, peers, err := b.peers(s, fields)
	if err != nil {
		return r, err
	}
	seeds := []uint64{kernels.Derive(b.Seed, "checks at "+r.Shape)}
	linked, _, err := openLinked(s.kernel, s.Fixed, r.Shape) // whose cases are those that the function takes
	if err != nil {
		return r, err
	}
	point, err := linked.PointOf(source)
	if err != nil {
		return r, err
	}
	own := linked.Wrap(source, point)
	if err := kernels.Verify(ctx, own, seeds); err != nil {
		return r, err
	}
	if !slices.ContainsFunc(peers, func(p kernels.Peer) bool { return p.Candidate != nil }) {
		return r, fmt.Errorf("no other library is installed that computes %s: 'tune peers' lists those that are known, and how to install them", s.Kernel)
	}
	names, rivals, err := right(ctx, peers, r.Shape, seeds, leftOut)
	if err != nil || len(rivals) == 0 {
		return r, err
	}
	limit := b.Limit
	if limit == 0 {
		limit = besideLimit
	}
	final, err := p.Compare(ctx, own, rivals, kernels.Series{Limit: limit, Seed: kernels.Derive(b.Seed, r.Shape)})
	if err != nil {
		return r, err
	}
	for i, c := range final.Comparisons {
		if c.Err != nil || !(c.Ratio > 0) {
			at := names[i] + " at " + r.Shape
			if leftOut[at] = "it could not be measured"; c.Err != nil {
				leftOut[at] = c.Err.Error()
			}
			continue
		}
		r.Cost, r.Pairs, r.Unverified = c.Baseline, c.Pairs, r.Unverified || c.Unverified
		r.Ratios[names[i]] = 1 / c.Ratio
		if r.BestPeer == "" || r.Ratios[names[i]] < r.Ratios[r.BestPeer] {
			r.BestPeer = names[i]
		}
	}
	return r, nil
}

// right returns the peers that are right at a shape, and their names. leftOut is told of the others.
func right(ctx context.Context, peers []kernels.Peer, shape string, seeds []uint64, leftOut map[string]string) (names []string, rivals []kernels.Candidate, err error) {
	for _, peer := range peers {
		if peer.Candidate == nil {
			leftOut[peer.Name] = "not installed (" + peer.Install + ")"
			continue
		}
		if err := kernels.Verify(ctx, peer.Candidate, seeds); err != nil {
			if kernels.AsRejection(err) == nil {
				return nil, nil, err
			}
			leftOut[peer.Name+" at "+shape] = err.Error()
			continue
		}
		names, rivals = append(names, peer.Name), append(rivals, peer.Candidate)
	}
	return names, rivals, nil
}

// PeersInOrder returns the names of the peers of a result, the row about the best of them last.
func PeersInOrder(r BesideResult) []string {
	names := slices.Sorted(maps.Keys(r.Peers))
	return append(slices.DeleteFunc(names, func(n string) bool { return n == bestPeer }), bestPeer)
}

// ratios sums up rows by peer.
func ratios(rows []BesideRow) map[string]Ratios {
	by := map[string][]float64{}
	for _, r := range rows {
		for name, ratio := range r.Ratios {
			by[name] = append(by[name], ratio)
		}
		by[bestPeer] = append(by[bestPeer], r.Ratios[r.BestPeer])
	}
	out := map[string]Ratios{}
	for name, all := range by {
		out[name] = sumUp(all)
	}
	return out
}

// sumUp sums up some ratios, of which there is at least one.
func sumUp(all []float64) Ratios {
	slices.Sort(all)
	sum, ahead := 0.0, 0
	for _, ratio := range all {
		sum += math.Log(ratio)
		if ratio >= 1 {
			ahead++
		}
	}
	n := float64(len(all))
	return Ratios{
		Shapes: len(all), Mean: math.Exp(sum / n), P5: timing.Quantile(all, 0.05), Worst: all[0], Ahead: float64(ahead) / n,
	}
}
