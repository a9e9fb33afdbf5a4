package cpu

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/cpuid/v2"
)

// infoPath is the file in which Linux describes the processors: a block of fields for each, separated by empty lines.
const infoPath = "/proc/cpuinfo"

// Model returns the name of the CPU, such as "AMD EPYC 9354", as the system reports it, or else the CPU; "" where neither does.
func Model() string {
	text, _ := os.ReadFile(infoPath)
	return cmp.Or(model(string(text)), cpuid.CPU.BrandName)
}

// model returns the first model name in a text in the form of /proc/cpuinfo, or nothing.
func model(info string) string {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Identity identifies this CPU by everything that compiled code may depend on, because machines with different CPUs may share the
// disk of a cache.
var Identity = sync.OnceValue(func() string {
	text, err := os.ReadFile(infoPath)
	if err != nil {
		host, _ := os.Hostname()
		return runtime.GOARCH + " " + host
	}
	return runtime.GOARCH + identity(string(text))
})

// Fingerprint is a short form of Identity.
func Fingerprint() string {
	sum := sha256.Sum256([]byte(Identity()))
	return hex.EncodeToString(sum[:8])
}

// identity joins those fields of the first processor that do not change, unlike its clock.
func identity(info string) string {
	var b strings.Builder
	first, _, _ := strings.Cut(info, "\n\n")
	for line := range strings.SplitSeq(first, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "model name", "cpu family", "model", "stepping", "flags", "Features", "CPU part", "CPU variant":
			b.WriteString(value)
		}
	}
	return b.String()
}
