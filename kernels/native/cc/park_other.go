//go:build !linux

package cc

import (
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// restrain needs system calls that only Linux has: elsewhere time is the only limit.
func restrain(int, time.Duration) {}

func signal(pid int, s syscall.Signal) error { return syscall.Kill(-pid, s) }
