//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// stat is the content of the stat file of a process or thread; see proc_pid_stat(5).
type stat struct {
	state   byte
	parent  int
	group   int
	session int
	threads int
	start   int // in ticks since the system's start
}

// The fields of a stat file, counted from the one behind the name.
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statSession = 3
	statThreads = 17
	statStart   = 19
)

// readStat reads a stat file. It hardly allocates, because fork bombs make many of them.
func readStat(path string) (s stat, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, false
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return stat{}, false
	}
	// The name, in parentheses, may contain anything.
	text := buf[:n]
	text = bytes.TrimLeft(text[bytes.LastIndexByte(text, ')')+1:], " ")
	for field := 0; field <= statStart; field++ {
		value, rest, found := bytes.Cut(text, []byte(" "))
		if !found || len(value) == 0 {
			return stat{}, false
		}
		text = rest
		if field == statState {
			s.state = value[0]
			continue
		}
		var to *int
		switch field {
		case statParent:
			to = &s.parent
		case statGroup:
			to = &s.group
		case statSession:
			to = &s.session
		case statThreads:
			to = &s.threads
		case statStart:
			to = &s.start
		default:
			continue
		}
		if *to, err = strconv.Atoi(string(value)); err != nil {
			return stat{}, false
		}
	}
	return s, true
}

// processes returns the processes in /proc.
func processes() map[int]stat {
	all := map[int]stat{}
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readStat("/proc/" + name + "/stat"); ok {
			all[pid] = s
		}
	}
	return all
}

// descendants returns the processes below one of them, except the given ones and their descendants.
func descendants(of int, all map[int]stat, except map[int]bool) []int {
	children := map[int][]int{}
	for pid, s := range all {
		children[s.parent] = append(children[s.parent], pid)
	}
	var found []int
	seen := map[int]bool{of: true} // process ids that are reused while /proc is read could form a cycle
	for next := []int{of}; len(next) > 0; {
		up := next[0]
		next = next[1:]
		for _, pid := range children[up] {
			if !seen[pid] && !except[pid] {
				seen[pid] = true
				found = append(found, pid)
				next = append(next, pid)
			}
		}
	}
	return found
}

// killDescendants kills every process in /proc that descends from this one. Groups whose members are all descendants are killed
// by one signal, which no member can escape by forking.
func killDescendants() {
	all := processes()
	ours := descendants(os.Getpid(), all, nil)
	below := make(map[int]bool, len(ours))
	for _, pid := range ours {
		below[pid] = true
	}
	foreign := map[int]bool{unix.Getpgrp(): true}
	for pid, s := range all {
		if !below[pid] {
			foreign[s.group] = true
		}
	}
	killed := map[int]bool{}
	for _, pid := range ours {
		// A process id may be reused between reading and killing, but only once its process was reaped, and our own descendants
		// are reaped only here or by one of them.
		if group := all[pid].group; foreign[group] {
			_ = unix.Kill(pid, unix.SIGKILL)
		} else if !killed[group] {
			killed[group] = true
			_ = unix.Kill(-group, unix.SIGKILL)
		}
	}
}

// Limits for what a command has running at once. No program worth tuning comes near them, and the system has ids for only
// some ten thousand threads in total.
const (
	maxProcesses = 1024
	maxThreads   = 8192
)

// census counts what a command has started. Reading all of /proc takes milliseconds, so it does that only when the number of
// threads in the system has grown, and otherwise now and then.
type census struct {
	system int // threads in the system, the least since the last count
	due    time.Time
}

// newCensus returns the census of a command that is about to start, and so has started nothing.
func newCensus() census {
	_, total := systemThreads()
	return census{system: total, due: time.Now().Add(censusInterval)}
}

const (
	censusInterval = time.Second
	censusGrowth   = maxProcesses / 4
)

// excess says which limit is exceeded, "" for none.
func (c *census) excess() string {
	now := time.Now()
	_, system := systemThreads()
	c.system = min(c.system, system)
	if now.Before(c.due) && system-c.system < censusGrowth {
		return ""
	}
	c.system, c.due = system, now.Add(censusInterval)
	all := processes()
	count, threads := 0, 0
	for _, pid := range descendants(os.Getpid(), all, nil) {
		count++ // ended processes that were not waited for take up an id too
		threads += all[pid].threads
	}
	switch {
	case count > maxProcesses:
		return fmt.Sprintf("started more than %d processes at once", maxProcesses)
	case threads > maxThreads:
		return fmt.Sprintf("started more than %d threads at once", maxThreads)
	}
	return ""
}

// systemThreads returns how many threads in the system run or wait for a processor, this one included, and how many there are, as the fourth
// field of /proc/loadavg has it; 0 where that cannot be read.
func systemThreads() (running, total int) {
	text, err := readFile("/proc/loadavg")
	if err != nil {
		return 0, 0
	}
	var a, b, c string
	if _, err := fmt.Sscanf(string(text), "%s %s %s %d/%d", &a, &b, &c, &running, &total); err != nil {
		return 0, 0
	}
	return running, total
}

// oomKills returns how many processes the system has killed because memory ran out, -1 where it does not say.
func oomKills() int64 {
	text, err := readFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	_, rest, found := bytes.Cut(text, []byte("\noom_kill "))
	if !found {
		return -1
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
