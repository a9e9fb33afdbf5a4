package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tune/kernels/native/cc"
)

// Beside is what hyperfine says of the pairs of a row, as programs that call the same kernels.
type Beside struct {
	Runs    int     `json:"runs"`
	Beyond  int     `json:"beyond"` // its summary is a ratio ± a deviation: how often all of that is above 1
	Mean    int     `json:"mean"`   // how often the ratio of the means is at least halfway to 3 %
	Seconds float64 `json:"seconds"`
}

// halfway tells 3 % more work from the same code best, if all that is known is a ratio of means.
const halfway = 1.015

// programCalls is how often a program calls its kernel: a tenth of a second or more, so that little of it is its start.
const programCalls = 800

// programs builds programs of the kernels, and has hyperfine compare them.
type programs struct {
	dir      string
	compiler string
	tool     string
}

// newPrograms looks for hyperfine and a compiler. The programs stand in dir.
func newPrograms(ctx context.Context, dir string) (*programs, error) {
	tool, err := exec.LookPath("hyperfine")
	if err != nil {
		return nil, errors.New("power: no hyperfine found: install it (apt-get install hyperfine), or leave out --hyperfine")
	}
	compilers, err := cc.Find(ctx)
	if err != nil {
		return nil, err
	}
	return &programs{dir: dir, compiler: compilers[0].Path, tool: tool}, nil
}

// build compiles the program of a point, unless that was done before, and returns its path.
func (p *programs) build(ctx context.Context, s *spec, name string, extra int) (string, error) {
	path := filepath.Join(p.dir, fmt.Sprintf("%s%+d", name, extra))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	point, err := s.point(name, extra)
	if err != nil {
		return "", err
	}
	source, err := s.Generate(point)
	if err != nil {
		return "", err
	}
	text := source.Text + fmt.Sprintf(`
int main(void)
{
	static float x[%[1]d], y[%[1]d];
	void *args[] = {x, y};
	int64_t dims[] = {%[1]d};
	for (int i = 0; i < %[1]d; i++)
		x[i] = (float)(i + 1) / %[1]d;
	for (int call = 0; call < %[2]d; call++)
		tune_kernel(args, dims);
	return !(y[0] > 0);
}
`, elements, programCalls)
	cmd := exec.CommandContext(ctx, p.compiler, append(source.Flags, "-x", "c", "-o", path, "-")...)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("power: %s: %w: %s", p.compiler, err, out)
	}
	return path, nil
}

// compare has hyperfine run two programs as it does by default, and counts what it says of the second.
func (p *programs) compare(ctx context.Context, first, second string, to *Beside) (string, error) {
	began := time.Now()
	file := filepath.Join(p.dir, "hyperfine.json")
	cmd := exec.CommandContext(ctx, p.tool, "--shell=none", "--style=none", "--warmup=3", "--export-json", file, first, second)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("power: hyperfine: %w: %s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var report struct {
		Results []struct{ Mean, Stddev float64 }
	}
	if err := json.Unmarshal(data, &report); err != nil || len(report.Results) != 2 {
		return "", fmt.Errorf("power: hyperfine's report is not about two programs: %.200s", data)
	}
	a, b := report.Results[0], report.Results[1]
	ratio := b.Mean / a.Mean
	deviation := ratio * math.Hypot(a.Stddev/a.Mean, b.Stddev/b.Mean) // as hyperfine's summary has it
	to.Seconds = (to.Seconds*float64(to.Runs) + time.Since(began).Seconds()) / float64(to.Runs+1)
	to.Runs++
	if ratio-deviation > 1 {
		to.Beyond++
	}
	if ratio >= halfway {
		to.Mean++
	}
	return fmt.Sprintf("hyperfine: %.4f ± %.4f", ratio, deviation), nil
}
