package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// networkMember is the name of a program that starts another one in a network of its own. Its arguments are an address there, and that
// program's words. It sends the open end of that network over its file 3.
const networkMember = "network-member"

func init() { disguises[networkMember] = joinNetwork }

// joinNetwork is that program.
func joinNetwork() {
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "network:", err)
			os.Exit(1)
		}
	}
	end, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(err)
	request, err := unix.NewIfreq("t0")
	must(err)
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	must(unix.IoctlIfreq(end, unix.TUNSETIFF, request))
	for _, args := range [][]string{{"addr", "add", os.Args[1] + "/24", "dev", "t0"}, {"link", "set", "t0", "up"}, {"link", "set", "lo", "up"}} {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			must(fmt.Errorf("ip %v: %w: %s", args, err, out))
		}
	}
	must(unix.Sendmsg(3, []byte("t"), unix.UnixRights(end), nil, 0))
	unix.CloseOnExec(3)
	path, err := exec.LookPath(os.Args[2])
	must(err)
	must(syscall.Exec(path, os.Args[2:], os.Environ()))
}

// startInNetwork starts tune in a network of its own, in which it has an address, and returns the end of that network from which its packets
// come. The error says why this machine has no such networks.
func startInNetwork(t *testing.T, address string, args ...string) (*process, *os.File, error) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	s := &process{Cmd: exec.Command(networkMember, append([]string{address, "tune"}, args...)...)}
	s.Stdout, s.Stderr, s.ExtraFiles = &s.out, &s.out, []*os.File{theirs}
	s.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := s.Start(); err != nil {
		return nil, nil, err
	}
	t.Cleanup(s.kill)
	theirs.Close()
	room := make([]byte, unix.CmsgSpace(4))
	n, rights := 0, 0
	for {
		n, rights, _, _, err = unix.Recvmsg(int(ours.Fd()), make([]byte, 1), room, 0)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil && n == 0 || errors.Is(err, unix.ECONNRESET) {
		_ = s.Wait()
		return nil, nil, errors.New(s.out.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(room[:rights])
	if err != nil || len(messages) != 1 {
		t.Fatal(err)
	}
	ends, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(ends) != 1 {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(ends[0], true); err != nil {
		t.Fatal(err)
	}
	end := os.NewFile(uintptr(ends[0]), address)
	t.Cleanup(func() { end.Close() })
	return s, end, nil
}

// farLink carries packets from one network to another, as tc netem does: each comes 50 ms later, and one of a hundred is lost.
type farLink struct {
	carried, lost atomic.Int64
}

func (l *farLink) carry(from, to *os.File) {
	type packet struct {
		data []byte
		due  time.Time
	}
	under := make(chan packet, 10_000)
	go func() {
		defer close(under)
		for i := 0; ; i++ {
			data := make([]byte, 2000)
			n, err := from.Read(data)
			if err != nil {
				return
			}
			if i%100 == 40 {
				l.lost.Add(1)
				continue
			}
			under <- packet{data[:n], time.Now().Add(50 * time.Millisecond)}
		}
	}()
	for p := range under {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err == nil {
			l.carried.Add(1)
		}
	}
}

// TestNetworks: coordinator and worker are in networks of their own, between which packets take 50 ms and one of a hundred is lost. The
// outcomes are those of one machine.
func TestNetworks(t *testing.T) {
	t.Parallel() // it waits most of the time
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip, of iproute2")
	}
	root := t.TempDir()
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "treehash", "--shape", small, "--evals", fmt.Sprint(farEvals), "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local, dir, token := filepath.Join(root, "local"), filepath.Join(root, "far"), filepath.Join(root, "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const here, there = "10.77.0.1", "10.77.0.2"
	address := net.JoinHostPort(here, "4222")
	run, near, err := startInNetwork(t, here, args(dir, "--listen", address, "--token-file", token, "--lease", "2s")...)
	if err != nil {
		t.Skipf("this machine has no networks of one's own: %v", err)
	}
	worker, far, err := startInNetwork(t, there, "worker", "nats://"+address, "--token-file", token, "--jobs", "16")
	if err != nil {
		t.Fatal(err)
	}
	out, back := &farLink{}, &farLink{}
	go out.carry(near, far)
	go back.carry(far, near)
	tuneOK(t, args(local)...)
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &run.out)
	}
	worker.kill()
	if got, want := csv500(t, dir), csv500(t, local); got != want {
		t.Errorf("other outcomes than on one machine:\n%.1500s\nwant\n%.1500s", got, want)
	}
	if by := measuredBy(t, dir); len(by) != 1 {
		t.Errorf("evaluated by %v", by)
	}
	if out.lost.Load() == 0 || back.lost.Load() == 0 {
		t.Error("no packet was lost")
	}
	t.Logf("%d packets there and %d back, %d and %d lost", out.carried.Load(), back.carried.Load(), out.lost.Load(), back.lost.Load())
}
