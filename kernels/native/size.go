package native

import (
	"context"
	"debug/elf"
	"fmt"
)

// codeBytes returns the size of the machine code in the candidate's object: of all sections that hold instructions, and so with the few
// that the linker adds to each object.
func (c *candidate) codeBytes(ctx context.Context) (int64, error) {
	if err := c.compile(ctx); err != nil { // it is in the cache as a rule
		return 0, err
	}
	f, err := elf.Open(c.so)
	if err != nil {
		return 0, fmt.Errorf("native: the size of the code: %w", err)
	}
	defer f.Close()
	var n uint64
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			n += s.Size
		}
	}
	return int64(n), nil
}
