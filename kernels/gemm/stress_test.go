//go:build stress

package gemm

import "testing"

func TestManyRandomPoints(t *testing.T) { randomPoints(t, 400, 99) }

func TestThreadsForLong(t *testing.T) { hammer(t, 200000) }
