package cc

import (
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// warden is a process that kills the running compilers when tune is killed. The system's own signal at the death of a parent reaches
// a driver, and not what the driver has started. That would go on alone, and what is stopped for a pause would stay for ever.
type warden struct {
	cmd  *exec.Cmd // nil before the first compiler, and where there is no shell
	pipe io.WriteCloser
}

// wardenScript reads the process groups of all running compilers, a line for each change, and kills the last ones when its input ends,
// which is when tune has ended. Signals to the whole terminal are for tune to handle.
const wardenScript = `trap "" INT HUP QUIT TERM
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -KILL "-$group"; done`

// tell gives the warden the compilers that run now. A warden that has ended is replaced.
func (w *warden) tell(running map[int]bool) {
	line := []byte(strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(running))), "[]") + "\n")
	if w.cmd != nil {
		if _, err := w.pipe.Write(line); err == nil {
			return
		}
		_ = w.cmd.Wait() // it has ended
		w.cmd = nil
	}
	cmd := exec.Command("sh", "-c", wardenScript)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	if _, err := pipe.Write(line); err == nil {
		w.cmd, w.pipe = cmd, pipe
	}
}
