package results

import (
	"runtime"

	"tune/internal/cpu"
)

// Machine describes where a run was measured.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu,omitempty"` // the model name; empty where nothing tells it
	Cores int    `json:"cores"`         // logical processors that this process may use
	Go    string `json:"go"`            // the version of Go that tune was built with
}

// ThisMachine describes the machine that this process runs on.
func ThisMachine() Machine {
	return Machine{
		OS:    runtime.GOOS,
		Arch:  runtime.GOARCH,
		CPU:   cpu.Model(),
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
