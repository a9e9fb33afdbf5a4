package native

import (
	"runtime"
	"sync"
)

// InParts calls f for the parts of a range from 0 to n, several at once: references of large cases take long.
func InParts(n int, f func(from, to int)) {
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for part := range workers {
		group.Go(func() { f(n*part/workers, n*(part+1)/workers) })
	}
	group.Wait()
}
