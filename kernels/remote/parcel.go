package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"tune/internal/files"
	"tune/internal/plain"
)

// The limits of what travels with a user's kernel. Both sides hold them.
const (
	MostFiles = 1000
	MostBytes = 64 << 20 // of all files together

	mostList = 1 << 20         // bytes of the list of the files
	piece    = 256 << 10       // bytes of an answer
	patience = 5 * time.Second // for a piece
)

// File is a file that a user's kernel is made of. Its name is a path below the folder of the kernel.
type File struct {
	Name string
	Mode fs.FileMode
	Data []byte
}

// Content names bytes by what they are.
type Content struct {
	SHA256 string `json:"sha256"` // in hexadecimal
	Size   int64  `json:"size"`   // bytes
}

// entry is a file in the list of a kernel.
type entry struct {
	Name string      `json:"name"`
	Mode fs.FileMode `json:"mode"`
	Content
}

func contentOf(data []byte) Content {
	sum := sha256.Sum256(data)
	return Content{hex.EncodeToString(sum[:]), int64(len(data))}
}

// is reports whether the content is that of some bytes.
func (c Content) is(data []byte) bool { return contentOf(data) == c }

// checkEntries refuses a list of files that must not be unpacked. The first is the kernel's own.
func checkEntries(list []entry) error {
	if len(list) == 0 || len(list) > MostFiles {
		return fmt.Errorf("it has %d files: want 1 to %d", len(list), MostFiles)
	}
	total, seen := int64(0), map[string]bool{}
	for _, e := range list {
		name := plain.Clip(plain.Line(e.Name), 100)
		switch {
		case !filepath.IsLocal(e.Name) || filepath.Clean(e.Name) != e.Name || e.Name == "." || plain.Line(e.Name) != e.Name || len(e.Name) > 1000:
			return fmt.Errorf("its file %q leads out of the folder of the kernel, or cannot be a name: put the file into that folder", name)
		case seen[e.Name]:
			return fmt.Errorf("its file %q is given twice", name)
		case e.Mode&^fs.ModePerm != 0:
			return fmt.Errorf("its file %q is no regular file", name)
		case e.Size < 0 || e.Size > MostBytes:
			return fmt.Errorf("its file %q has more than %s, the most that travels", name, files.Size(MostBytes))
		case len(e.SHA256) != 2*sha256.Size || strings.Trim(e.SHA256, "0123456789abcdef") != "":
			return fmt.Errorf("its file %q has no checksum", name)
		}
		if total += e.Size; total > MostBytes {
			return fmt.Errorf("its files have more than %s together, the most that travels", files.Size(MostBytes))
		}
		seen[e.Name] = true
	}
	return nil
}

// pack returns the list of files, and all that workers may ask for, by checksum.
func pack(list []File) (*Content, map[string][]byte, error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	var entries []entry
	all := map[string][]byte{}
	for _, f := range list {
		e := entry{f.Name, f.Mode, contentOf(f.Data)}
		entries, all[e.SHA256] = append(entries, e), f.Data
	}
	if err := checkEntries(entries); err != nil {
		return nil, nil, fmt.Errorf("the kernel cannot travel to workers: %w", err)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return nil, nil, err
	}
	if len(text) > mostList {
		return nil, nil, fmt.Errorf("the kernel cannot travel to workers: the names of its files have more than %s together", files.Size(mostList))
	}
	c := contentOf(text)
	all[c.SHA256] = text
	return &c, all, nil
}

// wanted is the request for a piece.
type wanted struct {
	SHA256 string `json:"sha256"`
	Offset int64  `json:"offset"`
}

// give answers the request for a piece; with nothing where there is none.
func give(all map[string][]byte, m *nats.Msg) {
	var w wanted
	var data []byte
	if json.Unmarshal(m.Data, &w) == nil {
		if d := all[w.SHA256]; w.Offset >= 0 && w.Offset < int64(len(d)) {
			data = d[w.Offset:min(w.Offset+piece, int64(len(d)))]
		}
	}
	_ = m.Respond(data)
}

// fetch asks who answers a subject, the coordinator or the worker, for some bytes. It asks again until ctx ends, where an answer is lost.
func fetch(ctx context.Context, nc *nats.Conn, who, subject string, c Content) ([]byte, error) {
	var b bytes.Buffer
	for int64(b.Len()) < c.Size {
		text, err := json.Marshal(wanted{c.SHA256, int64(b.Len())})
		if err != nil {
			return nil, err
		}
		look, cancel := context.WithTimeout(ctx, patience)
		m, err := nc.RequestWithContext(look, subject, text)
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			select { // who answers, or the server, is not there for now
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(telling):
			}
			continue
		}
		if len(m.Data) == 0 {
			return nil, fmt.Errorf("%s does not have a file that it lists", who)
		}
		if b.Write(m.Data); int64(b.Len()) > c.Size {
			break
		}
	}
	if !c.is(b.Bytes()) {
		return nil, fmt.Errorf("a file from %s is not the one that it lists: its checksum differs", who)
	}
	return b.Bytes(), nil
}

// store keeps what workers fetched by what it is, and unpacks kernels, in a folder that is the worker's own.
type store struct {
	folder string
	mu     sync.Mutex
	kept   int64 // bytes
}

// contents is the folder of what was fetched.
const contents = "content"

// mostKept is how many bytes are kept for runs that come again.
const mostKept = 4 * MostBytes

// get returns some bytes that were fetched before, or fetches them.
func (s *store) get(ctx context.Context, nc *nats.Conn, run string, c Content) ([]byte, error) {
	name := filepath.Join(contents, c.SHA256)
	in := files.In(s.folder)
	// What runs on this machine may have changed it.
	if data, err := in.Read(name, max(c.Size, 1)); err == nil && c.is(data) {
		return data, nil
	}
	data, err := fetch(ctx, nc, "the coordinator", subjectFile+run, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := name
	if s.kept += c.Size; s.kept > mostKept {
		s.kept, old = c.Size, contents
	}
	if err := in.Remove(old); err != nil {
		return nil, err
	}
	return data, in.Create(name, data, 0o600)
}

// list fetches the list of files of a run.
func (s *store) list(ctx context.Context, nc *nats.Conn, job Job) ([]entry, error) {
	if job.Files.Size > mostList || len(job.Files.SHA256) != 2*sha256.Size || strings.Trim(job.Files.SHA256, "0123456789abcdef") != "" {
		return nil, errors.New("the list of its files is none")
	}
	text, err := s.get(ctx, nc, job.ID, *job.Files)
	if err != nil {
		return nil, err
	}
	var list []entry
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errors.New("the list of its files cannot be read")
	}
	return list, checkEntries(list)
}

// unpack writes the files of a list into a new folder, and returns the path of the first, which is the kernel's own.
func (s *store) unpack(ctx context.Context, nc *nats.Conn, job Job, folder string, list []entry) (path string, err error) {
	in := files.In(s.folder)
	if err := in.Remove(folder); err != nil {
		return "", err
	}
	for _, e := range list {
		data, err := s.get(ctx, nc, job.ID, e.Content)
		if err != nil {
			return "", fmt.Errorf("%s: %w", e.Name, err)
		}
		if err := in.Create(filepath.Join(folder, e.Name), data, e.Mode); err != nil {
			return "", err
		}
	}
	return in.Path(filepath.Join(folder, list[0].Name)), nil
}

// remove removes a folder of a kernel.
func (s *store) remove(folder string) error { return files.In(s.folder).Remove(folder) }

// describe names the files of a list, for the owner of a worker.
func describe(list []entry) string {
	var names []string
	total := int64(0)
	for _, e := range list {
		names = append(names, fmt.Sprintf("%s (%d bytes, sha256 %.12s)", e.Name, e.Size, e.SHA256))
		total += e.Size
	}
	const most = 20
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("%d files, %d bytes: %s%s", len(list), total, strings.Join(slices.Clip(names[:min(len(names), most)]), ", "), more)
}
