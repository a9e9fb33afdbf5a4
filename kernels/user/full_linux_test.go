package user

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tune/kernels"
	"tune/space"
)

// TestFullDisk: a command that fails while the disk for temporary files is full says nothing of its point, unless it has filled the disk itself.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("cannot make a small disk: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	t.Setenv("TMPDIR", disk)
	k, _ := load(t, "space: {parameters: [{name: n, type: int, from: 1, to: 9}]}\ncommand:\n  files: []\n  run: head -c {{n}}000000 /dev/zero > big && echo 1\n  metric: {exact: true}\n")
	t.Cleanup(func() { _ = k.Close() }) // before the disk goes
	p := problem(t, k, "")
	if out := evaluate(t, p, "n=9"); out.Status != space.Crashed || !strings.Contains(out.Reason, "No space left") {
		t.Errorf("a command that fills the disk: %+v", out)
	}
	if out := evaluate(t, p, "n=1"); out.Status != space.OK {
		t.Errorf("the next one: %+v", out)
	}
	file, err := os.Create(filepath.Join(disk, "other"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		err = file.Truncate(size - 500_000) // leaves some room
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	e := &kernels.Evaluator{Problem: p}
	point, err := p.Space().Parse("n=2")
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: point}})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the command ended with status 1") {
		t.Errorf("on a full disk: %+v, %v", out, err)
	}
}
