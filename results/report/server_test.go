package report_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tune/results"
	"tune/results/report"
	"tune/space"
)

// serve serves the runs of a folder until the test ends.
func serve(t testing.TB, s *report.Server) *httptest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(s.Handler(ctx))
	t.Cleanup(func() { cancel(); server.Close() })
	return server
}

func get(t testing.TB, client *http.Client, url string, change func(*http.Request)) (status int, body string, head http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func ids(html string) (out []string) {
	for _, m := range regexp.MustCompile(`/run\?id=([0-9a-f]+)`).FindAllStringSubmatch(html, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestServerShowsWorkers: the list of runs ends with the workers, and why one serves no run.
func TestServerShowsWorkers(t *testing.T) {
	list, problem := []report.Worker{}, ""
	server := serve(t, &report.Server{Dirs: []string{t.TempDir()}, Workers: func() ([]report.Worker, string) { return list, problem }})
	shows := func(want string) {
		t.Helper()
		if _, html, _ := get(t, server.Client(), server.URL, nil); !strings.Contains(html, want) {
			t.Errorf("it lacks %q: %s", want, html)
		}
	}
	shows("No worker is connected.")
	list = []report.Worker{{Name: "<b>ada", Busy: 2, Jobs: 4, Evaluated: 17, Machine: "EPYC", Kernels: "treehash", Aside: []string{"sum: its owner does not allow it"}}}
	for _, want := range []string{"&lt;b&gt;ada", "2 of 4", ">17<", "sum: its owner does not allow it"} {
		shows(want)
	}
	list, problem = nil, "the NATS server does not answer"
	shows(problem)
	without := serve(t, &report.Server{Dirs: []string{t.TempDir()}})
	if _, html, _ := get(t, without.Client(), without.URL, nil); strings.Contains(html, "Workers") {
		t.Error("workers are shown although nobody asked")
	}
}

func TestServer(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, &report.Server{Dirs: []string{dir, filepath.Join(dir, "none")}, Version: "1.2.3"})
	client := server.Client()
	status, html, head := get(t, client, server.URL, nil)
	if status != http.StatusOK || !strings.Contains(html, "There is no run yet") {
		t.Errorf("%d: %s", status, html)
	}
	if policy := head.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	s := settings()
	s.Kernel = "<script>alert(1)</script>"
	create(t, filepath.Join(dir, "a"), s, outcomes(48))
	create(t, filepath.Join(dir, "b<i>"), settings(), outcomes(96))
	damaged := filepath.Join(dir, "c")
	create(t, damaged, settings(), outcomes(48))
	if err := os.WriteFile(filepath.Join(damaged, results.SettingsName), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, html, _ = get(t, client, server.URL, nil)
	names := ids(html)
	if len(names) != 3 || strings.Contains(html, "<script>alert") || strings.Contains(html, "b<i>") || !strings.Contains(html, "damaged") {
		t.Fatalf("the list is %s", html)
	}
	for _, bad := range []string{"style=\"", "onclick", "<script>"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s, which its policy forbids", bad)
		}
	}
	for _, id := range names {
		status, html, _ := get(t, client, server.URL+"/run?id="+id, nil)
		if status != http.StatusOK || strings.Contains(html, "<script>alert") || strings.Contains(html, "style=\"") {
			t.Errorf("%d: %s", status, html)
		}
		drawings(t, html)
	}
	_, html, _ = get(t, client, server.URL+"/run?id="+names[0]+"&id="+names[1]+"&id=gone", nil)
	if strings.Count(html, "<section id=\"run") != 2 || !strings.Contains(html, "This run is not there") {
		t.Errorf("side by side: %.400s", html)
	}
	if _, html, _ := get(t, client, server.URL+"/run?"+strings.Repeat("id="+names[0]+"&", 8), nil); !strings.Contains(html, "At most 6 runs are shown side by side: 2 more are left out.") {
		t.Errorf("of eight runs: %.600s", html)
	} else if _, events, _ := strings.Cut(html, `data-events="`); strings.Count(events[:strings.Index(events, `"`)], "id="+names[0]) != 8 {
		t.Error("the events are not of all eight runs: the page would lose the note")
	}
	for _, name := range []string{"style.css", "script.js", "live.js"} {
		if status, text, _ := get(t, client, server.URL+"/"+name, nil); status != http.StatusOK || text == "" {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _, _ := get(t, client, server.URL+"/../run.json", nil); status != http.StatusNotFound {
		t.Errorf("a file is served: %d", status)
	}
}

// The runs of a library are listed too, and those in the folder of runs beside others.
func TestServerShowsLibraries(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for _, at := range []string{"a", "runs/b", "tuning/runs/c", "tuning/sums/runs/d"} {
		create(t, filepath.Join(dir, at), settings(), outcomes(3))
		want = append(want, filepath.Join(dir, at)+"</a>")
	}
	server := serve(t, &report.Server{Dirs: []string{dir}})
	_, html, _ := get(t, server.Client(), server.URL, nil)
	for _, name := range want {
		if !strings.Contains(html, name) {
			t.Errorf("the list lacks %s", name)
		}
	}
	if n := len(ids(html)); n != len(want) {
		t.Errorf("the list has %d runs", n)
	}
}

// Of more runs than a list holds, the page says how many it leaves out.
func TestServerLeavesOut(t *testing.T) {
	dir := t.TempDir()
	for i := range 503 {
		at := filepath.Join(dir, fmt.Sprint(i))
		if err := errors.Join(os.Mkdir(at, 0o777), os.WriteFile(filepath.Join(at, results.SettingsName), []byte("{"), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	server := serve(t, &report.Server{Dirs: []string{dir}})
	_, html, _ := get(t, server.Client(), server.URL, nil)
	if n := len(ids(html)); n != 500 || !strings.Contains(html, "Older runs that are not shown: 3.") {
		t.Errorf("the list has %d runs, and does not say that 3 are left out", n)
	}
}

// Others may not ask under another name, nor change anything.
func TestServerRefuses(t *testing.T) {
	server := serve(t, &report.Server{Dirs: []string{t.TempDir()}})
	client := server.Client()
	for host, want := range map[string]int{
		"evil.example": http.StatusForbidden, "evil.example:80": http.StatusForbidden, "127.0.0.1.evil.example": http.StatusForbidden, "10.0.0.1": http.StatusForbidden,
		"localhost:1": http.StatusOK, "[::1]:2": http.StatusOK,
	} {
		if status, _, _ := get(t, client, server.URL, func(r *http.Request) { r.Host = host }); status != want {
			t.Errorf("%s: %d", host, status)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if status, _, _ := get(t, client, server.URL, func(r *http.Request) { r.Method = method }); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, status)
		}
	}
	for _, host := range []string{"0.0.0.0", "::"} {
		all := serve(t, &report.Server{Dirs: []string{t.TempDir()}, Host: host, Machine: "ada"})
		for asked, want := range map[string]int{"10.0.0.1:80": http.StatusOK, "Ada:80": http.StatusOK, "evil.example": http.StatusForbidden, "": http.StatusOK} {
			if status, _, _ := get(t, client, all.URL, func(r *http.Request) { r.Host = asked }); status != want {
				t.Errorf("%s at %s: %d", asked, host, status)
			}
		}
	}
	if status, _, _ := get(t, client, server.URL, func(r *http.Request) { r.Host = "ada" }); status != http.StatusForbidden {
		t.Errorf("the name of the machine, at one address: %d", status)
	}
}

func TestServerToken(t *testing.T) {
	const token = "0123456789abcdef"
	server := serve(t, &report.Server{Dirs: []string{t.TempDir()}, Token: token})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	for _, path := range []string{"/", "/style.css", "/events", "/?token=", "/?token=0123456789abcdeg"} {
		if status, _, _ := get(t, client, server.URL+path, nil); status != http.StatusUnauthorized {
			t.Errorf("%s without the token: %d", path, status)
		}
	}
	if status, _, _ := get(t, client, server.URL, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }); status != http.StatusOK {
		t.Errorf("with a bearer token: %d", status)
	}
	for _, path := range []string{"/?token=" + token, "/"} { // the first sets the cookie
		if status, _, _ := get(t, client, server.URL+path, nil); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestServerCookies: a token may have bytes that a cookie cannot have, servers of one host keep their cookies apart, and a link with a token
// leads to its page, also from a page of another server.
func TestServerCookies(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	still := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var servers []*httptest.Server
	for _, token := range []string{`0123456789;"\, ü=&%`, "fedcba9876543210"} {
		server := serve(t, &report.Server{Dirs: []string{t.TempDir()}, Token: token})
		servers = append(servers, server)
		given := url.Values{"token": {token}}.Encode()
		for link, want := range map[string]string{"/?": "/", "/run?id=b&id=a&": "/run?id=b&id=a", "//evil.example/%5Cx?": "/evil.example/%5Cx"} {
			status, _, head := get(t, still, server.URL+link+given, nil)
			if status != http.StatusSeeOther || head.Get("Location") != want {
				t.Errorf("%s: %d, to %s, want %s", link, status, head.Get("Location"), want)
			}
			cookie, err := http.ParseSetCookie(head.Get("Set-Cookie"))
			if err != nil || cookie.SameSite != http.SameSiteLaxMode || !cookie.HttpOnly || cookie.Value == token || !strings.HasSuffix(server.URL, strings.TrimPrefix(cookie.Name, "tune-token-")) {
				t.Errorf("%s sets %q: %v", link, head.Get("Set-Cookie"), err)
			}
		}
		if status, html, _ := get(t, client, server.URL+"/run?id=a&"+given, nil); status != http.StatusOK || !strings.Contains(html, "This run is not there") {
			t.Errorf("after the link of a run: %d: %.200s", status, html)
		}
	}
	for _, server := range servers {
		if status, _, _ := get(t, client, server.URL, nil); status != http.StatusOK {
			t.Errorf("beside another server: %d", status)
		}
	}
	if status, _, _ := get(t, client, servers[0].URL, func(r *http.Request) { r.Header.Set("Cookie", "tune-token-"+r.URL.Port()+"=0123456789") }); status != http.StatusUnauthorized {
		t.Errorf("with another cookie: %d", status)
	}
}

// listen reads the events of a page.
func listen(t testing.TB, url string) *bufio.Scanner {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<22)
	return lines
}

// await reads events until the content of the page has a text, and returns that content.
func await(t testing.TB, lines *bufio.Scanner, want string) string {
	t.Helper()
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var part struct{ ID, HTML string }
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &part); err != nil {
			t.Fatal(err)
		}
		if part.ID == "content" && strings.Contains(part.HTML, want) {
			return part.HTML
		}
	}
	t.Fatalf("no event has %q: %v", want, lines.Err())
	return ""
}

// TestServerSendsTheEnd: a run that ends just before its server ends on the page, and then the events end.
func TestServerSendsTheEnd(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer((&report.Server{Dirs: []string{dir}}).Handler(ctx))
	t.Cleanup(func() { cancel(); server.Close() })
	run, err := results.Create(filepath.Join(dir, "a"), settings())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	lines := listen(t, server.URL+strings.Replace(report.PathOf(filepath.Join(dir, "a")), "/run", "/events", 1))
	await(t, lines, "<dd>running</dd>")
	if err := run.Journal.Batch(space.Batch{Count: 24}); err != nil {
		t.Fatal(err)
	}
	for _, e := range outcomes(24) {
		if err := run.Journal.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(run.Journal.End(results.End{Why: "evaluations spent", Elapsed: 3}), run.Close()); err != nil {
		t.Fatal(err)
	}
	export(t, filepath.Join(dir, "a"))
	cancel()
	html := await(t, lines, "<dd>finished: evaluations spent</dd>")
	for _, want := range []string{`aria-label="importance`, "2.00× as fast as the baseline", `data-outcomes="24"`} {
		if !strings.Contains(html, want) {
			t.Errorf("the last page lacks %q", want)
		}
	}
	rest := ""
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			rest += data
		}
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	if want := `{"id":"connection","html":"the run has ended: this page stays as it is"}`; rest != want {
		t.Errorf("after the last page it sends %s", rest)
	}
}

// TestServerLastWord: a page whose server ends says whether the runs that it shows have ended too.
func TestServerLastWord(t *testing.T) {
	dir := t.TempDir()
	create(t, filepath.Join(dir, "a"), settings(), outcomes(3))
	create(t, filepath.Join(dir, "b"), settings(), outcomes(3))
	run, err := results.Create(filepath.Join(dir, "c"), settings())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for of, want := range map[string]string{
		"": "the server has ended", "gone": "the server has ended", "a": "the run has ended: this page stays as it is", "a b": "the runs have ended: this page stays as it is",
		"a c": "the server has ended",
	} {
		query := url.Values{}
		for _, name := range strings.Fields(of) {
			_, id, _ := strings.Cut(report.PathOf(filepath.Join(dir, name)), "id=")
			query.Add("id", id)
		}
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer((&report.Server{Dirs: []string{dir}}).Handler(ctx))
		lines := listen(t, server.URL+"/events?"+query.Encode())
		lines.Scan()
		cancel()
		last := ""
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				last = data
			}
		}
		if !strings.Contains(last, `"connection"`) || !strings.Contains(last, want) {
			t.Errorf("of %q the last word is %s", of, last)
		}
		server.Close()
	}
}

// TestServerBest: the list has the cost that is exported, else the one that the search saw, and says so where costs are measured.
func TestServerBest(t *testing.T) {
	dir := t.TempDir()
	s := settings()
	create(t, filepath.Join(dir, "exact"), s, outcomes(24))
	s.Measured = true
	create(t, filepath.Join(dir, "seen"), s, outcomes(24))
	create(t, filepath.Join(dir, "exported"), s, outcomes(24))
	export(t, filepath.Join(dir, "exported"))
	server := serve(t, &report.Server{Dirs: []string{dir}})
	_, html, _ := get(t, server.Client(), server.URL, nil)
	for name, want := range map[string]string{"exact": ">1.16 ms</td>", "seen": ">1.16 ms as the search saw it</td>", "exported": ">1.00 ms</td>"} {
		_, line, _ := strings.Cut(html, filepath.Join(dir, name)+"</a>")
		if line, _, _ = strings.Cut(line, "</tr>"); !strings.Contains(line, want) {
			t.Errorf("%s: it lacks %q: %s", name, want, line)
		}
	}
}

// TestServerWithoutSettings: a run whose settings are lost is shown where its directory is given, as in a folder.
func TestServerWithoutSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	create(t, dir, settings(), outcomes(24))
	if err := os.Remove(filepath.Join(dir, results.SettingsName)); err != nil {
		t.Fatal(err)
	}
	server := serve(t, &report.Server{Dirs: []string{dir}})
	if _, html, _ := get(t, server.Client(), server.URL, nil); len(ids(html)) != 1 || !strings.Contains(html, "damaged") {
		t.Errorf("the list is %s", html)
	}
	if _, html, _ := get(t, server.Client(), server.URL+report.PathOf(dir), nil); !strings.Contains(html, `data-outcomes="24"`) {
		t.Errorf("the page is %.400s", html)
	}
}

// A page hears of a run that begins, moves, is damaged and vanishes, and of nothing else.
func TestServerEvents(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, &report.Server{Dirs: []string{dir}})
	lines := listen(t, server.URL+"/events")
	next := func(want string) { t.Helper(); await(t, lines, want) }
	next("There is no run yet")
	run, err := results.Create(filepath.Join(dir, "a"), settings())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	next(`class="state running">running`)
	if err := run.Journal.Batch(space.Batch{Count: 2}); err != nil {
		t.Fatal(err)
	}
	for _, e := range outcomes(2) {
		if err := run.Journal.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	next(`<td class="n">2</td>`)
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	next("interrupted")
	// A file that is touched changes nothing of the page.
	if err := os.Chtimes(filepath.Join(dir, "a", results.JournalName), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	for rests := 0; rests < 2 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			t.Error("the page is sent again as it was")
		}
		if lines.Text() == ": still here" {
			rests++
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a", results.SettingsName), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	next("damaged")
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	next("There is no run yet")
}

// TestServerOfRunningSearch: while a search goes on, its page names what mattered once, also where parameters vary together, and has no
// shares one by one, which would each say the whole. When the run has ended, it has them. It says how to run it again all the time.
func TestServerOfRunningSearch(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, &report.Server{Dirs: []string{dir}, Options: report.Options{Again: func(dir string, s results.Settings) string {
		return "tune run " + s.Kernel + " of " + filepath.Base(dir)
	}}})
	at := server.URL + report.PathOf(filepath.Join(dir, "a"))
	if _, html, _ := get(t, server.Client(), at, nil); !strings.Contains(html, "it has not begun yet") {
		t.Errorf("before it begins: %s", html)
	}
	run, err := results.Create(filepath.Join(dir, "a"), settings())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Journal.Batch(space.Batch{Count: 64}); err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		cost := 100 * float64(1+i%8)
		if i/8%2 == 1 {
			cost *= 1.5
		}
		// Each flow decides the others.
		key := fmt.Sprintf("first=%d next=%d chain=%d other=%d", i%8, 7-i%8, 10*(i%8), i/8%2)
		if err := run.Journal.Record(space.Entry{Number: i, Key: key, Elapsed: float64(i), Outcome: space.Outcome{Status: space.OK, Cost: cost}}); err != nil {
			t.Fatal(err)
		}
	}
	const line, drawn, table = "What mattered:</strong> first or one of 2 that vary with it 90 %, other 9 %</p>", `aria-label="importance`, "Shares of the variance"
	_, html, _ := get(t, server.Client(), at, nil)
	if !strings.Contains(html, ">running<") || !strings.Contains(html, line) {
		t.Errorf("it lacks %q: %.1000s", line, html)
	}
	if strings.Contains(html, drawn) || strings.Contains(html, table) {
		t.Error("it has shares one by one")
	}
	if again := "<h3>How to run it again</h3><pre data-copy>tune run blur of a</pre>"; !strings.Contains(html, again) {
		t.Errorf("it lacks %q", again)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if _, html, _ := get(t, server.Client(), at, nil); !strings.Contains(html, drawn) || !strings.Contains(html, table) {
		t.Error("when the run has ended, it has no shares")
	}
}
