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

// TestTerminal: on a terminal there is one live line, which is gone in the end.
func TestTerminal(t *testing.T) {
	terminal, tty, err := openPTY()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer terminal.Close()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tune", "run", "treehash", "--budget", "700ms", "--shape", small, "--dir", filepath.Join(t.TempDir(), "run"))
	cmd.Stderr = tty
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
	text := <-screen
	_, live, ok := strings.Cut(text, " cycles\r\n") // after the baseline
	if !ok {
		t.Fatalf("no header in %q", text)
	}
	frames := strings.Split(live, "\r\x1b[K")
	if len(frames) < 4 || frames[0] != "" || frames[len(frames)-1] != "" {
		t.Fatalf("no live line that is removed in the end: %q", frames)
	}
	frame := regexp.MustCompile(`^best [0-9,]+ cycles \(\d+\.\d\d× as fast\) · \d+ evaluated`)
	for _, f := range frames[2 : len(frames)-1] {
		if n := len([]rune(f)); n > 59 || !frame.MatchString(f) {
			t.Errorf("a line of %d characters on a terminal of 60: %q", n, f)
		}
	}
	if strings.Count(live, "\n") > 0 {
		t.Errorf("more than one line: %q", live)
	}
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
