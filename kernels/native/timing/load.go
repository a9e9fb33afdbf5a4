package timing

import (
	"bytes"
	"context"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// Load is a reading of what the machine has done so far.
type Load struct {
	At       time.Time
	OneMin   float64 // load average of the last minute
	Busy     float64 // seconds that all cores together have worked
	Steal    float64 // seconds that the host gave to others
	Total    float64 // seconds of all cores together
	Readable bool    // whether the system provides these numbers
}

// ReadLoad reads the load of the machine.
func ReadLoad() Load {
	l := Load{At: time.Now()}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 0 {
			l.OneMin, _ = strconv.ParseFloat(f[0], 64)
		}
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return l
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return l
	}
	const ticks = 100 // per second, in every build of Linux that matters
	var v [9]float64
	for i := 1; i < 9; i++ {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return l
		}
		v[i] = n / ticks
		l.Total += v[i]
	}
	// user, nice, system, idle, iowait, irq, softirq, steal
	l.Busy, l.Steal = v[1]+v[2]+v[3]+v[6]+v[7], v[8]
	l.Readable = true
	return l
}

// Shares returns the shares of all cores that were busy and stolen since an earlier reading.
func (l Load) Shares(since Load) (busy, steal float64) {
	if total := l.Total - since.Total; l.Readable && since.Readable && total > 0 {
		return (l.Busy - since.Busy) / total, (l.Steal - since.Steal) / total
	}
	return 0, 0
}

// Idle checks the machine a few times. It reports whether, in nearly all of these checks, no other thread used a core for the
// whole check, a millisecond at most. Where the system does not say, it returns false, because the measurement cannot be
// verified.
func Idle(ctx context.Context) bool {
	const looks, apart = 8, 2 * time.Millisecond
	before := ReadLoad()
	if !before.Readable {
		return false
	}
	waiting := 0
	for range looks {
		pause(apart)
		n, ok := others()
		if !ok || ctx.Err() != nil {
			return false
		}
		waiting += n
	}
	_, steal := ReadLoad().Shares(before)
	// The system has threads of its own that run now and then.
	return float64(waiting) <= 0.3*looks && steal == 0
}

// others returns how many threads besides this one run or are ready to. It is the least of a few readings, because threads of the
// Go runtime wake up with this one, look for work, and sleep again after some microseconds.
func others() (int, bool) {
	least := math.MaxInt
	for range 32 {
		n, ok := runnable()
		if !ok {
			return 0, false
		}
		if least = min(least, max(n-1, 0)); least == 0 {
			break
		}
	}
	return least, true
}

// runnable returns how many threads of the machine run or are ready to.
func runnable() (int, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	const name = "\nprocs_running "
	i := bytes.Index(text, []byte(name))
	if i < 0 {
		return 0, false
	}
	digits, _, _ := bytes.Cut(text[i+len(name):], []byte{'\n'})
	n, err := strconv.Atoi(string(digits))
	return n, err == nil
}
