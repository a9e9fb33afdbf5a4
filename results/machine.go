package results

import (
	"fmt"
	"runtime"

	"tune/internal/cpu"
	"tune/internal/files"
)

// Machine describes where a run was measured.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu,omitempty"` // the model name; empty where nothing tells it
	Cores int    `json:"cores"`         // logical processors that this process may use
	Go    string `json:"go"`            // the version of Go that tune was built with
	// Fingerprint identifies the processor by its model, its stepping and its instruction sets: machines with the same CPU may differ in
	// these. Runs of earlier versions do not have it.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// ThisMachine describes the machine that this process runs on.
func ThisMachine() Machine {
	return Machine{
		OS:          runtime.GOOS,
		Arch:        runtime.GOARCH,
		CPU:         cpu.Model(),
		Cores:       runtime.NumCPU(),
		Go:          runtime.Version(),
		Fingerprint: cpu.Fingerprint(),
	}
}

// mostMachine bounds each text of a machine, in bytes. The settings of a run and each of its schedules repeat the texts, and these
// files are read up to a limit.
const mostMachine = 64 << 10

// Validate reports a text that is too long, by the name of its field in the files. A nil machine is valid.
func (m *Machine) Validate() error {
	if m == nil {
		return nil
	}
	for _, f := range []field{{"os", m.OS}, {"arch", m.Arch}, {"cpu", m.CPU}, {"go", m.Go}, {"fingerprint", m.Fingerprint}} {
		if len(f.text) > mostMachine {
			return fmt.Errorf("field machine.%s has %d bytes, and may have at most %s: shorten it", f.name, len(f.text), files.Size(mostMachine))
		}
	}
	return nil
}

// OrThis returns the machine, or ThisMachine for nil.
func (m *Machine) OrThis() Machine {
	if m == nil {
		return ThisMachine()
	}
	return *m
}
