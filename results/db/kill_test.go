package db

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tune/space"
)

// killEnv names the index, the folder of the runs, and the number of a process that TestKill kills.
const killEnv = "TUNE_DB_TEST_WRITER"

// TestMain runs the tests, or the writer that TestKill kills.
func TestMain(m *testing.M) {
	if text := os.Getenv(killEnv); text != "" {
		at := strings.Split(text, "|")
		if err := writeUntilKilled(at[0], at[1], at[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled enters runs one after another, and says which are in.
func writeUntilKilled(path, root, process string) error {
	ctx := context.Background()
	list, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		return err
	}
	number, err := strconv.ParseUint(process, 10, 64)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(number, uint64(os.Getpid())))
	for {
		d, err := Open(ctx, path)
		if err != nil {
			return err
		}
		for range 5 {
			dir := list[rng.IntN(len(list))]
			e, err := read(ctx, dir, nil)
			if err == nil {
				err = d.enter(ctx, e) // anew, even if it did not change
			}
			if err != nil {
				return err
			}
			fmt.Println(dir)
		}
		if err := d.Close(); err != nil {
			return err
		}
	}
}

// kills is how many processes TestKill kills; make stress kills more.
var kills = 24

// TestKill: eight processes that write at once are killed at any moment. The file stays whole, and holds every run that one of them has
// entered.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	const writers = 8
	root, path := t.TempDir(), filepath.Join(t.TempDir(), "tune.db")
	for i := range 40 {
		makeRun(t, filepath.Join(root, fmt.Sprintf("run-%d", i)), made{"1", fmt.Sprintf("m=%d", i+1), here, float64(i), space.Faster, false}, i)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entered := map[string]bool{}
	for round := 0; round*writers < kills; round++ {
		said := make(chan string, 1<<16)
		done := make(chan error, writers)
		for w := range writers {
			c := exec.CommandContext(t.Context(), self)
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d", killEnv, path, root, w))
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			go func() {
				lines := bufio.NewScanner(out)
				var timer *time.Timer
				for lines.Scan() {
					if timer == nil {
						timer = time.AfterFunc(time.Duration(rand.IntN(100))*time.Millisecond, func() { c.Process.Kill() })
					}
					said <- lines.Text()
				}
				c.Wait()
				if timer == nil || c.ProcessState.Exited() {
					done <- fmt.Errorf("a writer ended by itself: %v", c.ProcessState)
					return
				}
				done <- nil
			}()
		}
		for range writers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		close(said)
		for dir := range said {
			if !strings.HasPrefix(dir, root) {
				t.Fatal(dir)
			}
			entered[dir] = true
		}
		d := openAt(t, path)
		if err := d.whole(t.Context()); err != nil {
			t.Fatalf("after %d kills: %v", (round+1)*writers, err)
		}
		rows, err := d.List(t.Context(), Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for dir := range entered {
			i := slices.IndexFunc(rows, func(r Row) bool { return r.Dir == dir })
			if i < 0 {
				t.Fatalf("%s was entered and is lost", dir)
			}
			if detail, err := d.Show(t.Context(), dir); err != nil || len(detail.Points) != 2 || detail.Schedule == nil || len(detail.Comparisons) != 1 {
				t.Fatalf("%s is not whole: %+v, %v", dir, detail, err)
			}
		}
		d.Close()
	}
	if done, err := Rebuild(t.Context(), path, []string{root}, nil); err != nil || done.Runs != 40 || done.Damaged != "" {
		t.Errorf("%+v, %v", done, err)
	}
	t.Logf("%d kills, %d runs entered before", kills, len(entered))
}
