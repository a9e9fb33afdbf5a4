//go:build !linux

package cc

import (
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// confined, move and restrain need system calls that only Linux has: elsewhere compilers run where they like.
func confined(_ int, f func() error) error { return f() }

func move(int, int) {}

func restrain(int, time.Duration) {}

func signal(pid int, s syscall.Signal) error { return syscall.Kill(-pid, s) }
