package kernels

import (
	"context"
	"errors"
	"io"

	"tune/space"
)

// Traits are what a problem can do beyond the minimum. A nil func or a zero value means that it cannot; a problem without any
// trait returns Traits{}.
//
// A wrapper of a problem passes on the traits of that problem, and replaces those funcs that it changes: where its points differ
// from the problem's, the funcs that take or return points. [Pin] is such a wrapper.
type Traits struct {
	// Checking says how candidates are checked; the zero value is FreshInputs.
	Checking Checking
	// Weak returns the outputs of which checks on the inputs of the given seeds prove little, because of what the reference leaves in
	// them; nil where that is not known.
	Weak func(ctx context.Context, seeds []uint64) ([]space.WeakOutput, error)
	// Launches says that building, checking or scoring a candidate starts a compiler or a process. Without it candidates are
	// data, such as programs of a simulated machine, and can be built freely.
	Launches bool
	// Lacks lists, as sentences, the means of isolating candidates that the system lacks. It is for problems whose candidates run
	// as programs on this system.
	Lacks func() []string
	// Origin says where the scores come from; nil where they are measured here.
	Origin *Origin

	// Levels is the number of cheaper scores beside the full one: fidelities 1, the dearest, to Levels, the cheapest. A cheap
	// score may come from another program that takes less time to generate.
	Levels int
	// BuildAt generates the candidate of a point at a fidelity up to Levels. At fidelity 0 it does what Problem.Build does. It is
	// set where Levels is not 0, and its errors are those of Build.
	BuildAt func(ctx context.Context, p space.Point, fidelity int) (Candidate, error)
	// Blind names the parameters that do not affect the score of fidelity Levels.
	Blind []string

	// Seconds returns how many seconds it once took to evaluate a point, 0 where that is unknown. It is set where evaluations are
	// look-ups; the search then uses simulated time.
	Seconds func(space.Point) float64
	// Threads returns how many threads a point uses, including the calling one: 1 is serial. It is for problems whose points
	// differ in that. The error says why the code of a point cannot be generated.
	Threads func(space.Point) (int, error)

	// Measures says why candidates cannot have a metric of space.Measured on this machine; nil where they can. It is set where
	// candidates can measure.
	Measures func(name string) error

	// Load loads the program artifact of an export, so that it can be checked without the generator. The error says what is wrong
	// with the file.
	Load func(io.Reader) (Candidate, error)

	// Examine returns what is wrong with the problem as a whole, at any point; nil where nothing is. It is called before a
	// search, for problems made from users' text, where a compiler finds errors that reading the file does not.
	// A wall budget may end its context: then it returns the error of that.
	Examine func(context.Context) error
	// Baselines returns the points that may be the baseline, including the first preset's. Another one becomes the baseline where
	// the first preset turns out to be wrong.
	Baselines func() []space.Point
	// Settle makes the first of Baselines that is right on the inputs of a seed the first preset; the first preset stays where
	// none is right. It is set where Baselines is. [FirstRight] finds the point.
	Settle func(ctx context.Context, seed uint64) error

	// Passes lists the passes of the generator for a point, in order; nil where there are none to show.
	Passes func(space.Point) []string
	// Explain writes a summary of what the generator makes of a point, or the result of the named pass. pass is "" or one of
	// Passes, which is set where Explain is. Where a pass breaks the program, the error names the pass.
	Explain func(ctx context.Context, w io.Writer, p space.Point, pass string) error

	// Brief makes scores take little time from now on, for a first look: they have few samples. It is set where scores can be so.
	Brief func()

	// Compare is set where scores are measured. Measuring candidates side by side distinguishes them better than scores from
	// different moments.
	Compare CompareFunc
	// MostFinalists is how many finalists Compare has memory for at once; one with a single thread may join them. 0 means no
	// limit.
	MostFinalists int
	// Peers returns candidates that call the named libraries. An unknown name is an error, and so is a library that is not installed.
	// Where names is empty it returns all libraries that it knows, without a candidate for those that are not installed. It is for
	// problems that existing libraries solve too.
	Peers func(names []string) ([]Peer, error)
}

// Abilities are what a candidate can do beyond the minimum. A nil func or a zero value means that it cannot; a candidate without any
// ability returns Abilities{}. A wrapper that embeds a candidate has those of the candidate; Traits.Compare takes what the problem built.
type Abilities struct {
	// Isolate makes the candidate run alone from now on, so that earlier candidates cannot affect it. It is set where candidates may
	// share a process.
	Isolate func()
	// Measure returns metrics of space.Measured by their names, after the candidate was scored. It leaves out what this machine does
	// not measure. Errors are as those of Candidate.Score. It is set where candidates are machine code.
	Measure func(ctx context.Context, names []string) ([]space.Metric, error)
	// Deviation returns the largest errors that the checks so far have found, over all inputs. It is set where checks measure errors.
	Deviation func() Deviation
	// Repacking describes the layout in which the candidate takes an argument; nil where it takes all as they are.
	Repacking *space.Repacking
}

// CompareFunc measures finalists in turns with the baseline, all in processes that have run no other candidate. A finalist that
// fails has the *Rejection in its comparison; a baseline that fails is the error.
type CompareFunc func(ctx context.Context, baseline Candidate, finalists []Candidate, s Series) (Final, error)

// Validate reports traits that contradict each other.
func (t Traits) Validate() error {
	switch {
	case t.Levels < 0:
		return errors.New("traits: Levels is negative")
	case (t.Levels > 0) != (t.BuildAt != nil):
		return errors.New("traits: Levels and BuildAt belong together")
	case len(t.Blind) > 0 && t.Levels == 0:
		return errors.New("traits: Blind is of a cheaper score, and Levels is 0")
	case (t.Baselines == nil) != (t.Settle == nil):
		return errors.New("traits: Baselines and Settle belong together")
	case (t.Passes == nil) != (t.Explain == nil):
		return errors.New("traits: Passes and Explain belong together")
	case t.MostFinalists < 0:
		return errors.New("traits: MostFinalists is negative")
	case t.MostFinalists > 0 && t.Compare == nil:
		return errors.New("traits: MostFinalists is of Compare, which is not set")
	}
	return nil
}

// FirstRight returns the first of some points whose candidate is right on the inputs of a seed. It returns the zero point where
// none is, and where the first fails in another way than by a wrong answer: the others would fail in the same way.
func FirstRight(ctx context.Context, p Problem, points []space.Point, seed uint64) (space.Point, error) {
	for i, point := range points {
		c, err := p.Build(ctx, point)
		if err == nil {
			err = c.Check(ctx, seed)
		}
		if err == nil {
			return point, nil
		}
		r := AsRejection(err)
		if r == nil {
			return space.Point{}, err
		}
		if i == 0 && r.Status != space.WrongAnswer {
			break
		}
	}
	return space.Point{}, nil
}
