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
	if strings.Count(html, "<section id=\"run") != 2 || !strings.Contains(html, "not there any more") {
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

// A page hears of a run that begins, moves, is damaged and vanishes, and of nothing else.
func TestServerEvents(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, &report.Server{Dirs: []string{dir}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<22)
	next := func(want string) {
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
				return
			}
		}
		t.Fatalf("no event has %q: %v", want, lines.Err())
	}
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
	if err := os.WriteFile(filepath.Join(dir, "a", results.SettingsName), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	next("damaged")
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	next("There is no run yet")
}
