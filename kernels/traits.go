package kernels

import (
	"context"
	"errors"
	"io"

	"tune/space"
)

// Traits are what a problem can do beyond the least. A nil func or a zero value means that it cannot; a problem without any
// trait returns Traits{}.
//
// A wrapper of a problem hands on the traits of that problem as they are, and replaces the funcs that it changes: where its
// points are others than those of the problem, these are the funcs that take or return points. [Pin] is such a wrapper.
type Traits struct {
	// Checking is what the checks of candidates show; the zero value is FreshInputs.
	Checking Checking
	// Launches says that to build, check or score a candidate starts a compiler or a process. Without it candidates are
	// data, such as programs of a simulated machine, and are built wherever that is of use.
	Launches bool
	// Lacks says what the system has no means for to keep candidates from doing harm, each as a sentence. It is for
	// problems whose candidates run as programs of this system.
	Lacks func() []string
	// Origin says where the scores are from; nil where they are taken here.
	Origin *Origin

	// Levels is how many cheaper scores there are beside the full one: those of the fidelities 1, the dearest, to Levels. A
	// cheap score may be that of another program, which takes less time to generate.
	Levels int
	// BuildAt generates the candidate of a point at a fidelity up to Levels. At fidelity 0 it is that of Problem.Build. It is
	// set where Levels is not 0, and its errors are those of Build.
	BuildAt func(ctx context.Context, p space.Point, fidelity int) (Candidate, error)
	// Blind names the parameters that the score of the fidelity Levels does not depend on.
	Blind []string

	// Seconds returns how many seconds it once took to evaluate a point, 0 where that is not known. Evaluations are looked
	// up then, and a search goes by simulated time.
	Seconds func(space.Point) float64
	// Threads returns how many threads a point uses, the calling one included: 1 is serial. It is for problems whose
	// points differ in that. The error says why the code of a point cannot be generated.
	Threads func(space.Point) (int, error)

	// Load reads the program artifact of an export, so that it is checked without the generator. The error says what is
	// wrong with the file.
	Load func(io.Reader) (Candidate, error)

	// Examine returns what is wrong with the problem as a whole, whatever the point; nil where nothing is. It is for
	// problems made of what users wrote, where a compiler finds faults that no reader does, and is called before a search.
	Examine func(context.Context) error
	// Baselines returns the points that may be the baseline, the first preset's among them: another one than that is the
	// baseline where it turns out to be wrong.
	Baselines func() []space.Point
	// Settle makes that one of Baselines the first preset which is right on the inputs of a seed; the first preset stays
	// where none is. It is set where Baselines is. [FirstRight] finds the point.
	Settle func(ctx context.Context, seed uint64) error

	// Passes lists the passes of the generator of a point, in order; nil where it has none to show.
	Passes func(space.Point) []string
	// Explain writes a summary of what the generator makes of a point, or what the named pass leaves behind; pass is ""
	// or one of Passes, which is set where Explain is. Where a pass breaks the program, the error names it.
	Explain func(ctx context.Context, w io.Writer, p space.Point, pass string) error

	// Compare is set where scores are measured. Measured beside each other, candidates are told apart better than by scores
	// of different moments.
	Compare CompareFunc
	// MostFinalists is how many finalists Compare has room for at one time; one of a single thread may join them. 0 is
	// without limit.
	MostFinalists int
	// Peers returns candidates that call the installed ones of the named libraries, all of them where names is empty. A
	// name that is not known is an error; a library that is not installed is left out. It is for problems that other
	// people's libraries solve too.
	Peers func(names []string) ([]Peer, error)
}

// CompareFunc measures finalists in turns with the baseline, all of them in processes that have run no other candidate. A
// finalist that dies has the *Rejection in its comparison; a baseline that dies is the error.
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

// FirstRight returns the first of some points whose candidate is right on the inputs of a seed. It returns the zero point
// where none is, or where the first fails in another way than by a wrong answer: the others would fail in that way too.
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
