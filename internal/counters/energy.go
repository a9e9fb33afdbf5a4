package counters

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// zone is a processor whose energy is counted.
type zone struct {
	file string
	most uint64 // the counter begins again from 0 after it, in µJ
}

// zones lists the processors: the zones of powercap whose name begins with "package". Each has zones of its own for parts of it, which
// are not counted again. Nor is a processor whose counter the system reaches in two ways, as intel-rapl:0 and intel-rapl-mmio:0: of
// zones with one name the last counts, which is the one of the processor's own registers.
func (c Counters) zones() ([]zone, error) {
	root := c.Powercap
	if root == "" {
		root = "/sys/class/powercap"
	}
	names, err := filepath.Glob(filepath.Join(root, "*", "name"))
	if err != nil {
		return nil, err
	}
	of := map[string]zone{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(text), "package") {
			continue
		}
		z := zone{file: filepath.Join(filepath.Dir(name), "energy_uj")}
		if z.most, err = readNumber(filepath.Join(filepath.Dir(name), "max_energy_range_uj")); err != nil {
			return nil, err
		}
		of[strings.TrimSpace(string(text))] = z
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("the system counts no energy: %s has no processor", root)
	}
	out := slices.Collect(maps.Values(of))
	slices.SortFunc(out, func(a, b zone) int { return strings.Compare(a.file, b.file) })
	return out, nil
}

// read returns the counters of zones, in µJ.
func read(zones []zone) ([]uint64, error) {
	out := make([]uint64, len(zones))
	for i, z := range zones {
		n, err := readNumber(z.file)
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%w: only root may read it, unless root allows more", err)
		}
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func readNumber(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	return n, nil
}

// beginEnergy starts to count energy. The function that it returns says how much was used since, in nJ.
func (c Counters) beginEnergy() (end func() (float64, error), err error) {
	zones, err := c.zones()
	if err != nil {
		return nil, err
	}
	before, err := read(zones)
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		after, err := read(zones)
		if err != nil {
			return 0, err
		}
		sum := 0.0
		for i, z := range zones {
			used := after[i] - before[i]
			if after[i] < before[i] {
				used = z.most - before[i] + after[i]
			}
			sum += float64(used)
		}
		return sum * 1e3, nil
	}, nil
}
