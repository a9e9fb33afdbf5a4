package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTerminal: on a terminal of any width there is one live line, which fits, keeps the time left, and is gone in the end.
func TestTerminal(t *testing.T) {
	for _, columns := range []uint16{40, 80, 120} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			header, frames := onTerminal(t, columns, nil)
			if !strings.Contains(header, "baseline: ") || len(frames) < 4 || frames[0] != "" || frames[len(frames)-1] != "" {
				t.Fatalf("no live line that is removed in the end: %q, %q", header, frames)
			}
			frame := regexp.MustCompile(`^best [0-9,]+ cycles.* · \S+ left$`)
			for _, f := range frames[2 : len(frames)-1] {
				if n := len([]rune(f)); n >= int(columns) || !frame.MatchString(f) || columns > 40 && !strings.Contains(f, "evaluated") {
					t.Errorf("a line of %d characters on a terminal of %d: %q", n, columns, f)
				}
				if strings.Contains(f, "\n") {
					t.Errorf("more than one line: %q", f)
				}
			}
		})
	}
}

// TestDumb: a terminal that cannot go back in a line, or a user who wants that, gets plain lines.
func TestDumb(t *testing.T) {
	for _, c := range []struct{ env, flag string }{{"TERM=dumb", "--progress=auto"}, {"TERM=xterm", "--progress=plain"}} {
		header, frames := onTerminal(t, 80, []string{c.env}, c.flag)
		if len(frames) != 0 || !strings.Contains(header, "\r\nbest ") || strings.Contains(header, "\x1b") {
			t.Errorf("%s %s: %q, %q", c.env, c.flag, header, frames)
		}
	}
}

// TestCheckTerminal: a check that takes more than a second says what it does, whatever the command does in that time.
func TestCheckTerminal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "slow.yaml")
	text := "space: {parameters: [{name: n, type: int, from: 1, to: 3}]}\ncommand: {run: 'sleep 1.5; echo {{n}}', check: 'true', metric: {unit: steps, exact: true}}\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	header, frames := commandOnTerminal(t, 200, nil, "check", file)
	want := "checking " + file + ": trying the baseline · 1s"
	if header != "" || len(frames) < 3 || frames[1] != want || frames[len(frames)-1] != "" {
		t.Errorf("%q, %q: want the line %q, removed in the end", header, frames, want)
	}
}

// onTerminal runs a search with its progress on a terminal, as commandOnTerminal does.
func onTerminal(t *testing.T, columns uint16, environ []string, flags ...string) (header string, frames []string) {
	t.Helper()
	return commandOnTerminal(t, columns, environ, append([]string{"run", "treehash", "--budget", "600ms", "--shape", small, "--dir", filepath.Join(t.TempDir(), "run")}, flags...)...)
}

// commandOnTerminal runs a command of tune with its standard error on a terminal. It returns what is there before the live line, and what
// that line was.
func commandOnTerminal(t *testing.T, columns uint16, environ []string, args ...string) (header string, frames []string) {
	t.Helper()
	terminal, tty, err := openPTY()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer terminal.Close()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tune", args...)
	cmd.Stderr, cmd.Env = tty, append(append(os.Environ(), "TERM=xterm"), environ...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	screen := make(chan string)
	go func() {
		data, _ := io.ReadAll(terminal) // it ends with EIO when the process has closed the other side
		screen <- string(data)
	}()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	header, live, ok := strings.Cut(<-screen, "\r\x1b[K")
	if !ok {
		return header, nil
	}
	return header, append([]string{""}, strings.Split(live, "\r\x1b[K")...)
}

// openPTY returns the two sides of a pseudo-terminal.
func openPTY() (terminal, tty *os.File, err error) {
	terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(terminal.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		terminal.Close()
		return nil, nil, err
	}
	return terminal, tty, nil
}
