package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
)

// Reference is a tag or a digest of a repository of the pushes.
type Reference struct{ Repository, Reference string }

// isDigest: a tag has no colon.
func (r Reference) isDigest() bool { return strings.Contains(r.Reference, ":") }

// String is NAME:TAG or NAME@DIGEST.
func (r Reference) String() string {
	if r.isDigest() {
		return r.Repository + "@" + r.Reference
	}
	return r.Repository + ":" + r.Reference
}

// Record is the last that happened to a Reference, on whichever host. Of two
// records the later one counts on every host, so all of them come to the same
// whatever the order in which they hear of each other.
type Record struct {
	Digest digest.Digest `json:"digest,omitempty"` // of the manifest; "" when it was deleted
	Time   time.Time     `json:"time"`
}

func (r Record) deleted() bool { return r.Digest == "" }

func (r Record) same(o Record) bool { return r.Digest == o.Digest && r.Time.Equal(o.Time) }

func (r Record) after(o Record) bool {
	return r.Time.After(o.Time) || r.Time.Equal(o.Time) && r.Digest > o.Digest
}

// Records are by repository and reference, as ledger.json and /pushed have them.
type Records map[string]map[string]Record

// all goes through the records.
func (r Records) all() iter.Seq2[Reference, Record] {
	return func(yield func(Reference, Record) bool) {
		for repository, references := range r {
			for reference, record := range references {
				if !yield(Reference{repository, reference}, record) {
					return
				}
			}
		}
	}
}

// set writes what is newer than what is there.
func (r Records) set(at Reference, record Record) {
	if old, known := r[at.Repository][at.Reference]; known && !record.after(old) {
		return
	}
	if r[at.Repository] == nil {
		r[at.Repository] = map[string]Record{}
	}
	r[at.Repository][at.Reference] = record
}

// missing are the records of r that o does not have.
func (r Records) missing(o Records) Records {
	left := Records{}
	for at, record := range r.all() {
		if old, known := o[at.Repository][at.Reference]; !known || record.after(old) {
			left.set(at, record)
		}
	}
	return left
}

func (r Records) count() (n int) {
	for _, references := range r {
		n += len(references)
	}
	return n
}

// ledger is what this host knows of the pushes.
type ledger struct {
	file string

	mu      sync.Mutex
	records Records
	text    []byte   // the file's content
	hidden  []string // reserved repositories with pushed images, which are not served
}

// pushedPath is where the other registries ask for the ledger.
const pushedPath = "/pushed"

// ledgerName is the file beside the engine's tree.
const ledgerName = "ledger.json"

// openLedger compares the ledger with what the engine's files say: a push whose
// record a crash swallowed is written down, and a record whose manifest is gone is
// forgotten, so that another host gives it back. A ledger that cannot be read is
// made anew; what was deleted here alone may come back then.
func openLedger(s storage, log *slog.Logger) (*ledger, error) {
	l := &ledger{file: s.file(ledgerName), records: Records{}}
	content, err := os.ReadFile(l.file)
	if host.IgnoreMissing(err) != nil {
		return nil, fmt.Errorf("open registry's ledger: %w", err)
	}
	written := Records{}
	if err == nil {
		if err := json.Unmarshal(content, &written); err != nil {
			log.Error("the ledger is damaged, and made anew", "file", l.file, "error", err.Error())
			written = Records{}
		}
	}
	there, hidden, err := linked(s, func(path string, err error) {
		log.Error("a link is damaged", "path", path, "error", err.Error()) // another host may give it back
	})
	if err != nil {
		return nil, fmt.Errorf("open registry's ledger: %w", err)
	}
	l.hidden = hidden
	for at, record := range written.allowed(s.reserved).all() {
		if _, linked := there[at.Repository][at.Reference]; linked || record.deleted() {
			l.records.set(at, record)
		}
	}
	for at, record := range there.all() {
		if l.records[at.Repository][at.Reference].Digest != record.Digest {
			l.records.set(at, record)
		}
	}
	if len(l.records) == 0 && len(written) == 0 {
		l.text = []byte("{}") // a host to which nothing was pushed has no data to keep
		return l, nil
	}
	return l, l.write()
}

// allowed are the records outside reserved repositories.
func (r Records) allowed(names reserved) Records {
	left := Records{}
	for repository, references := range r {
		if !names.has(repository) {
			left[repository] = references
		}
	}
	return left
}

// maxLink is more than a digest takes.
const maxLink = 1 << 10

// linked are the engine's links to manifests, with the times of their files; hidden are
// the reserved repositories that have some. damaged hears of each that is none, and of
// what the engine would not have written.
func linked(s storage, damaged func(path string, err error)) (found Records, hidden []string, err error) {
	found = Records{}
	root, err := fs.Sub(s.files.FS(), local(engineRoot+"/repositories"))
	if err != nil {
		return nil, nil, err
	}
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			damaged(path, errors.New("it is neither a file nor a directory"))
			return nil
		}
		at, ok := parseLink(path)
		if !ok {
			return nil
		}
		if s.reserved.has(at.Repository) {
			hidden = append(hidden, at.Repository)
			return nil
		}
		record, err := readLink(s.files, local(engineRoot+"/repositories/"+path))
		if err != nil {
			damaged(path, err)
			return nil
		}
		found.set(at, record)
		return nil
	})
	if host.IgnoreMissing(err) != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.file(engineRoot+"/repositories"), err)
	}
	return found, slices.Compact(hidden), nil // the walk is in order
}

func readLink(files *host.Owned, name string) (Record, error) {
	content, err := files.ReadFile(name, maxLink)
	if err != nil {
		return Record{}, err
	}
	info, err := files.Stat(name)
	if err != nil {
		return Record{}, err
	}
	to, err := parseDigest(string(content))
	return Record{Digest: to, Time: info.ModTime().UTC()}, err
}

// parseLink reads NAME/_manifests/tags/TAG/current/link and
// NAME/_manifests/revisions/sha256/HEX/link.
func parseLink(path string) (Reference, bool) {
	name, rest, _ := strings.Cut(path, "/_manifests/")
	parts := strings.Split(rest, "/")
	switch {
	case len(parts) != 4 || parts[3] != "link":
	case parts[0] == "tags" && parts[2] == "current":
		return Reference{name, parts[1]}, true
	case parts[0] == "revisions":
		return Reference{name, parts[1] + ":" + parts[2]}, true
	}
	return Reference{}, false
}

// push notes a manifest that came, under its digest and, if that is what the
// client named, under a tag. again does once more what the engine has done: another
// host's older push may have come between.
func (l *ledger) push(at Reference, d digest.Digest, again func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, reference := range []string{at.Reference, d.String()} {
		l.now(Reference{at.Repository, reference}, d)
	}
	return errors.Join(again(), l.write())
}

// remove notes that a tag, or a manifest with its tags, was deleted; again as for push.
func (l *ledger) remove(at Reference, again func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now(at, "")
	for reference, record := range l.records[at.Repository] {
		if record.Digest.String() == at.Reference {
			l.now(Reference{at.Repository, reference}, "")
		}
	}
	return errors.Join(again(), l.write())
}

// now is later than what is there, whatever the clock says.
func (l *ledger) now(at Reference, d digest.Digest) {
	record := Record{Digest: d, Time: time.Now().UTC()}
	if old := l.records[at.Repository][at.Reference]; !record.Time.After(old.Time) {
		record.Time = old.Time.Add(time.Microsecond)
	}
	l.records.set(at, record)
}

// follow does here what another host did, and notes it, unless something newer has been
// done here since it was asked for: copying an image takes minutes.
func (l *ledger) follow(at Reference, record Record, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, known := l.records[at.Repository][at.Reference]; known && !record.after(old) {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	l.records.set(at, record)
	return l.write()
}

// lacks are the records of another host that this one has not followed yet.
func (l *ledger) lacks(theirs Records) Records {
	l.mu.Lock()
	defer l.mu.Unlock()
	return theirs.missing(l.records)
}

func (l *ledger) write() error {
	text, err := json.Marshal(l.records)
	if err != nil {
		return err
	}
	l.text = text
	return host.WriteFile(l.file, text, 0o640)
}

// ServeHTTP answers /pushed, for the other registry hosts.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	text := l.text
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", etag(text))
	if r.Header.Get("If-None-Match") == etag(text) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = io.Copy(w, bytes.NewReader(text)) // a client that left is no error of ours
}

func etag(text []byte) string { return fmt.Sprintf(`"%x"`, sha256.Sum256(text)) }

// Pushed asks for the records of the registry, unless they are those with this
// ETag; then it returns none. A registry without pushes has an empty list.
func (c *Client) Pushed(ctx context.Context, known string) (Records, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+pushedPath, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("If-None-Match", known)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return nil, known, nil
	case http.StatusNotFound:
		return Records{}, "", nil
	case http.StatusOK:
	default:
		return nil, "", errors.New(resp.Status)
	}
	records := Records{}
	text, err := httpclient.ReadAll(resp.Body, maxRecords)
	if err == nil {
		err = json.Unmarshal(text, &records)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read pushes of %s: %w", c.base, err)
	}
	return records, resp.Header.Get("ETag"), nil
}
