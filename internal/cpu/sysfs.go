package cpu

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// systemCaches reads what Linux tells about the caches of the first core that it shows; a field is 0 where it
// tells nothing.
func systemCaches(root string) Caches {
	var c Caches
	for _, core := range []string{"cpu0", "cpu1"} {
		dirs, err := filepath.Glob(filepath.Join(root, core, "cache", "index*"))
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					return ""
				}
				return strings.TrimSpace(string(text))
			}
			kind, size := read("type"), bytesOf(read("size"))
			if kind == "Instruction" {
				continue
			}
			switch read("level") {
			case "1":
				c.L1 = size
			case "2":
				c.L2 = size
			case "3":
				c.L3 = size
			}
		}
		if c.L1 > 0 {
			break
		}
	}
	return c
}

// bytesOf reads a size such as 48K; it returns 0 where it cannot.
func bytesOf(text string) int {
	unit := 1
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'K':
			unit, text = 1<<10, text[:n-1]
		case 'M':
			unit, text = 1<<20, text[:n-1]
		case 'G':
			unit, text = 1<<30, text[:n-1]
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n * unit
}
