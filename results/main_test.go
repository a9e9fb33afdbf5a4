package results

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or the writer that TestKill kills, and looks for goroutines left behind.
func TestMain(m *testing.M) {
	if path := os.Getenv(killEnv); path != "" {
		os.Exit(writeUntilKilled(path))
	}
	goleak.VerifyTestMain(m)
}
