//go:build browser

// Command picture takes a picture of a page with Chromium:
//
//	go run -tags browser ./docs/scripts/picture BROWSER WIDTH,HEIGHT ADDRESS FILE.png
//
// It waits until the page has a chart with marks. Of a live page it also waits until the server answers: until the page says "live".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long the page may take.
const patience = time.Minute

// ready is true of a page that has what the picture is to show.
const ready = `document.querySelector("svg circle") !== null && (document.getElementById("connection") ?? {textContent: "live"}).textContent === "live"`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("want BROWSER WIDTH,HEIGHT ADDRESS FILE.png")
	}
	var width, height int
	if _, err := fmt.Sscanf(args[1], "%d,%d", &width, &height); err != nil {
		return fmt.Errorf("the size %q: want WIDTH,HEIGHT: %w", args[1], err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// The program may be a script, so that the browser is a child of what is started: all of its processes are killed.
	group := chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	})
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(args[0]), chromedp.NoSandbox, chromedp.WindowSize(width, height), group)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	var picture []byte
	err := chromedp.Run(ctx,
		chromedp.EmulateViewport(int64(width), int64(height)),
		chromedp.Navigate(args[2]),
		chromedp.Poll(ready, nil, chromedp.WithPollingTimeout(patience)),
		chromedp.CaptureScreenshot(&picture),
	)
	if err != nil {
		return fmt.Errorf("%s: %w", args[2], err)
	}
	return os.WriteFile(args[3], picture, 0o666)
}
