package nativetest

import (
	"os"

	"tune/kernels/native/internal/testonly"
)

// WorkerVariable is a variable of the environment. It may name a binary of the package child, which tests then start as supervisors and
// workers in place of themselves. make test sets it.
const WorkerVariable = "TEST_WORKER"

func init() { testonly.Worker = os.Getenv(WorkerVariable) }

// OwnWorkers makes this process start itself as supervisors and workers, as tune does in normal use.
func OwnWorkers() { testonly.Worker = "" }
