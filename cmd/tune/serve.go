package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/results/report"
)

// defaultListen is where tune serve listens.
const defaultListen = "127.0.0.1:8117"

func (a *app) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [DIR...]",
		Short: "Show runs in a browser while they go on",
		Long: `serve shows the runs in folders as a page on this machine: a list with the state of each, the page of a run, which changes while it
searches, and several runs side by side. DIR is a folder of runs, or a run; without one it is --out. The page only reads. Runs may
appear, vanish or be damaged while it is open. Ctrl-C ends it.

With --workers, the address of a NATS server, it also shows the workers that are connected there, and why one does not serve a run.

Only this machine can open the page. To let others open it, give --listen and a --token, a password of at least 16 characters. The address that
tune prints has it. Without it nobody there can read the runs, whose files may hold names and paths that others should not see. The connection
is not encrypted, so use a tunnel across a network.`,
		Example: `  tune serve
  tune serve runs other/runs --listen 127.0.0.1:0
  tune serve --workers nats://build-host:4222 --token-file token
  tune serve --listen 192.168.1.7:8117 --token "$TOKEN"`,
		Args: cobra.ArbitraryArgs,
	}
	addSettings(c.Flags(), "out")
	c.Flags().Lookup("out").Usage = "`folder` that holds the run directories"
	listen := c.Flags().String("listen", defaultListen, "`address` to listen on, as host:port; port 0 takes a free one")
	token := c.Flags().String("token", "", "`password` of the page, of 16 characters or more; needed if other machines can reach --listen")
	nats := c.Flags().String("workers", "", "`address` of a NATS server whose workers to show, such as nats://host:4222")
	login := addLogin(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		workers, done, err := a.watchWorkers(c, *nats, login)
		if err != nil {
			return err
		}
		defer done()
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		for _, dir := range args {
			if err := cmp.Or(absent(dir), fileOfRun(dir)); err != nil {
				return err
			}
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return ofFile(fmt.Errorf("%s is a file: want the directory of a run, or one that holds runs", dir))
			}
		}
		if len(args) == 0 {
			args = []string{set.out}
		}
		address, stop, err := a.serve(c.Context(), args, *listen, *token, workers)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "runs at %s, until Ctrl-C\n", address)
		if f, ok := a.stdout.(interface{ Flush() error }); ok {
			if err := f.Flush(); err != nil {
				return err
			}
		}
		<-c.Context().Done()
		return stop()
	}
	return c
}

// leastToken is how many characters a token has at least: so many cannot be guessed.
const leastToken = 16

// lastPages is how long a server that ends takes at most to send its pages once more. The page of a long run takes seconds to draw.
const lastPages = 5 * time.Second

// checkListen reports an address that cannot be served.
func checkListen(listen, token string) (host string, err error) {
	host, port, err := net.SplitHostPort(listen)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		return "", usage(fmt.Errorf("--listen: %q: want host:port, such as %s", listen, defaultListen))
	}
	if host == "" {
		host = "::" // all addresses, as Go listens
	}
	ip := net.ParseIP(host)
	here := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case !here && token == "":
		return "", usage(fmt.Errorf("--listen: other machines can reach %s: give --token, so that not everybody there can read the runs", listen))
	case token != "" && len(token) < leastToken:
		return "", usage(fmt.Errorf("--token has %s: want %d or more", plain.Count(len(token), "character"), leastToken))
	}
	return host, nil
}

// reachable is an address of this machine at which others reach what listens on all of them; at, where there is none.
func reachable(at net.IP, of []net.Addr) net.IP {
	for _, a := range of {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && (n.IP.To4() != nil || at.To4() == nil) {
			return n.IP
		}
	}
	return at
}

// serveBeside shows a run while it goes on, if that is wanted, and prints where.
func (a *app) serveBeside(ctx context.Context, dir string, wanted bool) (stop func(), err error) {
	if !wanted {
		return func() {}, nil
	}
	// A run that is interrupted is shown until it has ended.
	address, end, err := a.serve(context.WithoutCancel(ctx), []string{filepath.Dir(dir)}, "127.0.0.1:0", "", nil)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(aboveLine{a}, "live at %s\n", strings.TrimSuffix(address, "/")+report.PathOf(filepath.Clean(dir)))
	return func() { _ = end() }, nil // the run is what counts
}

// serve shows runs at an address until the context ends or stop is called, which waits until all is closed.
func (a *app) serve(ctx context.Context, dirs []string, listen, token string, workers func() ([]report.Worker, string)) (address string, stop func() error, err error) {
	host, err := checkListen(listen, token)
	if err != nil {
		return "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return "", nil, fmt.Errorf("--listen %s: the address is in use: choose another port, or 0 for a free one", listen)
	}
	if err != nil {
		return "", nil, fmt.Errorf("--listen %s: %w", listen, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	machine, _ := os.Hostname() // without a name, its addresses do
	s := &report.Server{Dirs: dirs, Version: tune.Version(), Token: token, Host: host, Machine: machine, Options: a.reportOptions(), Workers: workers}
	server := &http.Server{
		Handler: s.Handler(ctx), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	stop = func() error {
		cancel()
		// What is still open gets what has changed, and ends; a client that does not read is cut off.
		wait, done := context.WithTimeout(context.Background(), lastPages)
		defer done()
		if server.Shutdown(wait) != nil {
			_ = server.Close()
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("--listen %s: %w", listen, err)
		}
		return nil
	}
	at := url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"}
	if on, ok := listener.Addr().(*net.TCPAddr); ok && host == "localhost" {
		at.Host = net.JoinHostPort(host, strconv.Itoa(on.Port))
	} else if ok && on.IP.IsUnspecified() {
		addresses, _ := net.InterfaceAddrs() // without one, the address that was asked for is shown
		at.Host = net.JoinHostPort(reachable(net.ParseIP(host), addresses).String(), strconv.Itoa(on.Port))
	}
	if token != "" {
		at.RawQuery = url.Values{"token": {token}}.Encode()
	}
	return at.String(), stop, nil
}
