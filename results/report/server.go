package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tune/internal/guard"
	"tune/internal/plain"
	"tune/results"
)

// Server shows runs while they go on. It reads the files of runs and writes nothing. Browsers get what has changed as server-sent
// events; they ask for nothing themselves. It survives runs that appear, vanish or are damaged: each page says what it finds.
type Server struct {
	Dirs    []string // of runs, or folders of them
	Version string
	// Token must be given by whoever asks, where it is not "": once as ?token=…, which sets a cookie with its SHA-256, or as a bearer token.
	Token string
	// Host is the name by which others may ask, besides the names of this machine for itself; "" for none. Where it stands for all
	// addresses, such as 0.0.0.0, each address is a name, and so is Machine. Requests for another name are refused: a page from elsewhere
	// could otherwise reach this server under its own name.
	Host string
	// Machine is the name of this machine in its network; it may be "".
	Machine string
	// Options say how runs are read. What is learned is left out while a run goes on.
	Options Options
	// Workers lists the workers that evaluate for runs, as they were a moment ago, or says in problem why it cannot; nil where none are
	// shown.
	Workers func() (list []Worker, problem string)

	mu      sync.Mutex
	known   map[string]listed // by directory
	clients int
}

// Worker is a worker as the list shows it.
type Worker struct {
	Name, Machine, Kernels string
	Busy, Jobs, Evaluated  int
	Load                   float64
	Aside                  []string // the runs that it does not serve, each with the reason
}

// workers are what the list shows of workers.
type workers struct {
	List    []Worker
	Problem string
}

func (s *Server) workersNow() *workers {
	if s.Workers == nil {
		return nil
	}
	list, problem := s.Workers()
	return &workers{list, problem}
}

// listed is what is known of a run, and of which state of its files.
type listed struct {
	stamp string
	about results.Listing
	best  results.Known
}

const (
	// tick is how often the files are looked at while somebody watches.
	tick = 500 * time.Millisecond
	// rest is how many times as long as drawing a page takes the server then waits, so that it takes a small part of a core.
	rest = 10
	// mostClients is how many pages are kept up to date at once.
	mostClients = 32
	// mostListed is how many runs a list has: the newest.
	mostListed = 500
	// mostBeside is how many runs are shown side by side.
	mostBeside = 6
)

// policy allows what the server itself serves and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Handler answers requests until the context ends.
func (s *Server) Handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	for name, kind := range map[string]string{"style.css": "text/css", "script.js": "text/javascript", "live.js": "text/javascript"} {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = w.Write([]byte(asset(name))) // a client that has gone needs no answer
		})
	}
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { s.page(w, watched{}) })
	mux.HandleFunc("/run", func(w http.ResponseWriter, r *http.Request) {
		at := watchedOf(r)
		if len(at.ids) == 0 {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		s.page(w, at)
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) { s.events(ctx, w, r, watchedOf(r)) })
	return s.guarded(mux)
}

// guarded checks each request, and keeps a fault of one page from the others.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.asked(r.Host):
			http.Error(w, "this server is not called "+plain.Line(r.Host), http.StatusForbidden)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this server is read only", http.StatusMethodNotAllowed)
			return
		case s.Token != "" && r.URL.Query().Has("token") && s.same(r.URL.Query().Get("token")):
			// Lax: it is also sent where the address was opened from a page of another server, such as a mail.
			http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: sumOf(s.Token), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, withoutToken(r.URL), http.StatusSeeOther)
			return
		case !s.allowed(r):
			http.Error(w, "a token is needed: open the address that tune serve printed", http.StatusUnauthorized)
			return
		}
		if err := guard.Call(func() error { next.ServeHTTP(w, r); return nil }); err != nil {
			http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		}
	})
}

// asked reports whether the server goes by the name of a request.
func (s *Server) asked(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	ip := net.ParseIP(name)
	all := net.ParseIP(s.Host)
	if all != nil && all.IsUnspecified() && (ip != nil || s.Machine != "" && strings.EqualFold(name, s.Machine)) {
		return true
	}
	return name == "localhost" || ip != nil && ip.IsLoopback() || s.Host != "" && strings.EqualFold(name, s.Host)
}

func (s *Server) same(token string) bool { return s.sameSum(sumOf(token)) }

// sameSum reports whether a sum is that of the token.
func (s *Server) sameSum(sum string) bool {
	return subtle.ConstantTimeCompare([]byte(sum), []byte(sumOf(s.Token))) == 1
}

// sumOf is what a cookie holds of a token, which may have bytes that a cookie cannot have.
func sumOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// cookieOf names the cookie that holds the sum of the token. It has the port at which a browser asks: browsers send a cookie to all ports of
// a host, and another server there has another token.
func cookieOf(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host) // without a port it is that of HTTP
	return "tune-token-" + port
}

// withoutToken is the address of a request on this server without its token.
func withoutToken(u *url.URL) string {
	query := u.Query()
	query.Del("token")
	to := url.URL{Path: path.Clean("/" + u.Path), RawQuery: query.Encode()} // "//host" would be another server
	return to.String()
}

func (s *Server) allowed(r *http.Request) bool {
	if s.Token == "" {
		return true
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.same(bearer)
	}
	c, err := r.Cookie(cookieOf(r))
	return err == nil && s.sameSum(c.Value)
}

// watched is what a page shows: the list of runs, or some of them by their names in addresses.
type watched struct {
	ids   []string
	asked []string // all that the address has, of which ids are the first
}

func watchedOf(r *http.Request) watched {
	ids := r.URL.Query()["id"]
	return watched{ids[:min(len(ids), mostBeside)], ids}
}

func (w watched) query() string { return url.Values{"id": w.asked}.Encode() }

// idOf names a directory in an address.
func idOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// PathOf is the path of the page of a run, whose directory is one of Dirs or below one. The run need not be there yet.
func PathOf(dir string) string { return "/run?" + watched{asked: []string{idOf(dir)}}.query() }

// list describes the runs, the newest first, and says how many older ones it leaves out.
func (s *Server) list() (newest []listed, left int) {
	var dirs []string
	for _, dir := range s.Dirs {
		if results.IsRun(dir) {
			dirs = append(dirs, dir)
			continue
		}
		for _, folder := range results.Folders(dir) {
			inside, _ := results.RunsIn(folder) // one that cannot be read has nothing to show
			dirs = append(dirs, inside...)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[string]listed{}
	var out []listed
	for _, dir := range dirs {
		now := stampOf(dir)
		l, ok := s.known[dir]
		// Whether a process still writes to a run does not show in its files.
		if !ok || l.stamp != now || l.about.State == results.Running {
			about := results.Describe(dir)
			l = listed{now, about, about.Known()}
		}
		known[dir] = l
		out = append(out, l)
	}
	s.known = known
	slices.SortStableFunc(out, func(a, b listed) int { return results.NewestFirst(a.about, b.about) })
	n := min(len(out), mostListed)
	return out[:n], len(out) - n
}

// stampOf changes with the files of a run.
func stampOf(dir string) (stamp string) {
	for _, name := range []string{results.SettingsName, results.JournalName, results.ScheduleName, results.FinalName} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			stamp += fmt.Sprintf("%d@%d ", info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp
}

// row is a run in the list.
type row struct {
	ID, Name, Kernel, State, Best, Evaluated, Age string
	Cost                                          float64 // that Best says; 0 for none
	Seconds                                       int64   // by which ages sort; it does not change with time, so that a page that is the same is not sent again
	Damaged                                       bool
}

func rowOf(of listed, now time.Time) row {
	l, unit := of.about, unitOf(of.about.Settings.Unit)
	r := row{
		ID: idOf(l.Dir), Name: l.Dir, Kernel: strings.TrimSpace(l.Settings.Kernel + " " + l.Settings.Shape), State: l.State.String(),
		Evaluated: plain.Number(float64(l.Summary.Evaluations)), Damaged: l.Err != nil,
	}
	switch {
	case of.best.Best != nil:
		r.Cost, r.Best = *of.best.Best, unit.Words(*of.best.Best)
	case of.best.Seen != nil:
		r.Cost, r.Best = *of.best.Seen, asSeen(unit, *of.best.Seen)
	}
	if l.State == results.Failed && r.Best == "" {
		r.Best = plain.Clip(plain.Line(l.End.Words()), 160)
	}
	if l.Err != nil {
		r.Cost, r.Best = 0, plain.Clip(plain.Line(l.Err.Error()), 160)
	}
	if !l.Settings.Created.IsZero() {
		r.Seconds, r.Age = -l.Settings.Created.Unix(), Age(now.Sub(l.Settings.Created))
	}
	return r
}

// Age writes how long ago something was: 5 min, 3 h, 12 d.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// content is the part of a page that changes.
func (s *Server) content(at watched) (html, title string) {
	var out bytes.Buffer
	var err error
	if len(at.ids) == 0 {
		title, err = s.writeList(&out)
	} else {
		title, err = s.writeRuns(&out, at)
	}
	if err != nil {
		return "<p>this page cannot be shown</p>", "tune"
	}
	return out.String(), title
}

// writeList writes the list of runs, and of workers, and returns the title of the page.
func (s *Server) writeList(out *bytes.Buffer) (title string, err error) {
	list, left := s.list()
	rows := struct {
		Rows []row
		Left int
	}{Left: left}
	for _, l := range list {
		rows.Rows = append(rows.Rows, rowOf(l, time.Now()))
	}
	err = templates().ExecuteTemplate(out, "list", rows)
	if now := s.workersNow(); now != nil && err == nil {
		err = templates().ExecuteTemplate(out, "workers", now)
	}
	return "tune: runs", err
}

// writeRuns writes the runs that a page shows side by side, and returns its title.
func (s *Server) writeRuns(out *bytes.Buffer, at watched) (title string, err error) {
	list, _ := s.list()
	page := Page{Version: s.Version}
	var views []view
	if left := len(at.asked) - len(at.ids); left > 0 {
		fmt.Fprintf(out, `<p class="problem">At most %d runs are shown side by side: %d more are left out.</p>`, mostBeside, left)
	}
	for i, id := range at.ids {
		k := slices.IndexFunc(list, func(l listed) bool { return idOf(l.about.Dir) == id })
		if k < 0 {
			fmt.Fprint(out, `<p class="problem">This run is not there: it has not begun yet, or its directory is gone.</p>`)
			continue
		}
		o := s.Options
		running := list[k].about.State == results.Running
		if running {
			o = Options{Again: o.Again}
		}
		r := Open(list[k].about.Dir, o)
		r.sharesHidden = running
		v := viewOf(r, fmt.Sprintf("run%d", i+1), len(at.ids))
		page.Runs, views = append(page.Runs, r), append(views, v)
	}
	d := document{Page: page, Views: views, Overlay: page.overlay()}
	if err := templates().ExecuteTemplate(out, "beside", d); err != nil {
		return "", err
	}
	if len(page.Runs) == 0 {
		return "tune: no run", nil
	}
	return page.title(), nil
}

// page writes a whole page.
func (s *Server) page(w http.ResponseWriter, at watched) {
	html, title := s.content(at)
	var out bytes.Buffer
	err := templates().ExecuteTemplate(&out, "live", struct {
		Title, Events, Version string
		Content                template.HTML // which templates have made
		List                   bool
	}{title, "/events?" + at.query(), s.Version, template.HTML(html), len(at.ids) == 0})
	if err != nil {
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes()) // a client that has gone needs no answer
}

// part is an event: an element of the page, and what it holds now.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// events sends the content of a page again when it has changed, until the client goes or the server ends. What has changed until the server
// ends is sent too: a run that ends with its server ends on the page.
func (s *Server) events(ctx context.Context, w http.ResponseWriter, r *http.Request, at watched) {
	flusher, ok := w.(http.Flusher)
	s.mu.Lock()
	full := s.clients >= mostClients
	if !full {
		s.clients++
	}
	s.mu.Unlock()
	if !ok || full {
		http.Error(w, fmt.Sprintf("at most %d pages are kept up to date: close another one", mostClients), http.StatusServiceUnavailable)
		return
	}
	defer func() {
		s.mu.Lock()
		s.clients--
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	var last [sha256.Size]byte
	var seen string
	for {
		began, ended := time.Now(), ctx.Err() != nil
		if now := s.stamp(at); now != seen {
			seen = now
			html, _ := s.content(at)
			if sum := sha256.Sum256([]byte(html)); sum != last {
				last = sum
				send(w, part{"content", html})
			}
		} else {
			fmt.Fprint(w, ": still here\n\n")
		}
		if ended {
			send(w, part{"connection", s.lastWord(at)})
		}
		flusher.Flush()
		if ended {
			return
		}
		select {
		case <-ctx.Done():
		case <-r.Context().Done():
			return
		case <-time.After(max(tick, rest*time.Since(began))):
		}
	}
}

// send sends an event.
func send(w io.Writer, p part) {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts alone
	}
	fmt.Fprintf(w, "event: part\ndata: %s\n\n", data) // a client that has gone needs no answer
}

// lastWord is what a page says of its connection when the server has ended.
func (s *Server) lastWord(at watched) string {
	list, _ := s.list()
	ended := 0
	for _, l := range list {
		switch {
		case !slices.Contains(at.ids, idOf(l.about.Dir)):
		case l.about.State == results.Running:
			return "the server has ended"
		default:
			ended++
		}
	}
	switch ended {
	case 0:
		return "the server has ended"
	case 1:
		return "the run has ended: this page stays as it is"
	}
	return "the runs have ended: this page stays as it is"
}

// stamp changes when the content of a page may have changed.
func (s *Server) stamp(at watched) (stamp string) {
	list, left := s.list()
	for _, l := range list {
		if id := idOf(l.about.Dir); len(at.ids) == 0 || slices.Contains(at.ids, id) {
			stamp += id + l.about.State.String() + stampOf(l.about.Dir)
		}
	}
	if len(at.ids) == 0 {
		stamp += fmt.Sprint(left, time.Now().Format("15:04")) // the latter for ages
		if now := s.workersNow(); now != nil {
			stamp += fmt.Sprint(*now)
		}
	}
	return stamp
}
