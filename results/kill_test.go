package results

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tune/space"
)

// killEnv names the journal that a re-executed test binary writes to.
const killEnv = "TUNE_RESULTS_TEST_JOURNAL"

// killBatch is the number of trials in a batch of the writer.
const killBatch = 64

// writeUntilKilled goes on with a journal, or begins it, from four goroutines as fast as it can. It
// prints "batch" or the number of a trial each time that a record was taken.
func writeUntilKilled(path string) int {
	j, _, err := OpenJournal(path)
	if errors.Is(err, fs.ErrNotExist) {
		j, err = CreateJournal(path)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	say := func(what string) { fmt.Fprintln(os.Stdout, what) } // One write: os.Stdout has no buffer.
	say("open")
	h := j.Past().Outline
	known, err := knownTo(j)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for batch := 0; ; batch++ {
		first := batch * killBatch
		if batch >= h.Batches {
			if err := j.Batch(space.Batch{Number: batch, First: first, Count: killBatch}); err != nil {
				fmt.Println(err)
				return 1
			}
			say("batch")
		}
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				for number := first + worker; number < first+killBatch; number += 4 {
					if known[number] {
						continue
					}
					e := okEntry(number)
					if number%16 == 0 {
						// A line over many pages gives the kill something to cut.
						e.Outcome.Reason = strings.Repeat("x", 100_000)
					}
					if err := j.Record(e); err != nil {
						fmt.Println(err)
						os.Exit(1)
					}
					say(strconv.Itoa(number))
				}
			})
		}
		group.Wait()
	}
}

// A kill at any moment loses nothing that was recorded, and the run goes on.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	const journals, rounds, within = 12, 12, 7 * time.Second
	began := time.Now()
	kills, torn, kept := 0, 0, 0
	for i := range journals {
		path := filepath.Join(t.TempDir(), JournalName)
		seen := killed{outcomes: make(map[int]bool)}
		for range rounds {
			if time.Since(began) > within {
				break
			}
			early := kills%4 == 0
			seen.report(t, runAndKill(t, path, early))
			kills++
			j, recovery, err := OpenJournal(path)
			if errors.Is(err, fs.ErrNotExist) && seen.batches == 0 {
				continue // It died before it had made the file.
			}
			must(t, err)
			if recovery.TornBytes > 0 {
				torn++
			}
			known, err := knownTo(j)
			must(t, err)
			seen.compare(t, j.Past().Batches, known)
			must(t, j.Close())
		}
		kept += len(seen.outcomes)
		if i == 0 && kept == 0 {
			t.Fatal("no round recorded anything")
		}
	}
	t.Logf("%d kills, of which %d tore a record; %d outcomes kept", kills, torn, kept)
}

// killed is what the writers of one journal have reported.
type killed struct {
	batches  int
	outcomes map[int]bool
}

// report adds the lines of one writer.
func (k *killed) report(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		switch line {
		case "open":
		case "batch":
			k.batches++
		default:
			number, err := strconv.Atoi(line)
			if err != nil {
				t.Fatalf("the writer says: %s", line)
			}
			if k.outcomes[number] {
				t.Fatalf("trial %d was recorded twice", number)
			}
			k.outcomes[number] = true
		}
	}
}

// compare checks that what was reported is in a journal. What is in it and was not reported, because
// the kill came in between, counts from now on.
func (k *killed) compare(t *testing.T, batches int, known map[int]bool) {
	t.Helper()
	if batches < k.batches {
		t.Fatalf("%d batches were reported, and %d are in the journal", k.batches, batches)
	}
	for number := range k.outcomes {
		if !known[number] {
			t.Fatalf("trial %d was reported and is not in the journal", number)
		}
	}
	k.batches = batches
	maps.Copy(k.outcomes, known)
}

// knownTo returns the trials that had an outcome when a journal was opened.
func knownTo(j *Journal) (map[int]bool, error) {
	known := make(map[int]bool)
	for r, err := range j.Past().Rounds() {
		if err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			known[e.Number] = true
		}
	}
	return known, nil
}

// runAndKill runs the writer, kills it at some moment after it has opened the journal, or after it
// has been started if early is set, and returns the lines that it printed.
func runAndKill(t *testing.T, path string, early bool) []string {
	t.Helper()
	after := time.Duration(rand.IntN(15000)) * time.Microsecond
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	kill := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
	if early {
		kill.Reset(after)
	}
	var lines []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if len(lines) == 0 && !early {
			kill.Reset(after)
		}
		lines = append(lines, scanner.Text())
	}
	err = cmd.Wait()
	kill.Stop()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the writer ended with %v and said %q", err, lines)
	}
	return lines
}
