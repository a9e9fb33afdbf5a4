package results

import (
	"bufio"
	"os"
	"runtime"
	"strings"
)

// Machine describes where a run was measured.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu,omitempty"` // the model name; empty where the system does not tell
	Cores int    `json:"cores"`         // logical processors that this process may use
	Go    string `json:"go"`            // the version of Go that tune was built with
}

// ThisMachine describes the machine that this process runs on.
func ThisMachine() Machine {
	return Machine{
		OS:    runtime.GOOS,
		Arch:  runtime.GOARCH,
		CPU:   cpuModel("/proc/cpuinfo"),
		Cores: runtime.NumCPU(),
		Go:    runtime.Version(),
	}
}

// OrThis returns the machine, or ThisMachine for nil.
func (m *Machine) OrThis() Machine {
	if m == nil {
		return ThisMachine()
	}
	return *m
}

// cpuModel returns the first model name in a file in the form of /proc/cpuinfo, or nothing.
func cpuModel(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
