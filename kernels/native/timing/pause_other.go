//go:build !linux

package timing

import "time"

func pause(d time.Duration) { time.Sleep(d) }
