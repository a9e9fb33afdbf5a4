package natsserver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tune/kernels/remote/natsserver"
)

// TestFolder: a server removes the folder of one that was killed, and at the end its own.
func TestFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(os.TempDir(), fmt.Sprintf("tune-nats-%d-1", gone.Process.Pid))
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := natsserver.Start(natsserver.Config{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	while, _ := filepath.Glob(filepath.Join(os.TempDir(), "tune-nats-*"))
	s.Close()
	after, _ := filepath.Glob(filepath.Join(os.TempDir(), "tune-nats-*"))
	if len(while) != 1 || while[0] == left || len(after) != 0 {
		t.Errorf("%v while it runs, and %v after it", while, after)
	}
}
