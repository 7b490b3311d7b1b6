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

// Reference is a tag or a digest in a repository of pushed images.
type Reference struct{ Repository, Reference string }

// isDigest reports whether the reference is a digest. A tag has no colon.
func (r Reference) isDigest() bool { return strings.Contains(r.Reference, ":") }

// String returns NAME:TAG or NAME@DIGEST.
func (r Reference) String() string {
	if r.isDigest() {
		return r.Repository + "@" + r.Reference
	}
	return r.Repository + ":" + r.Reference
}

// Record is the last change of a Reference, on any host. Of two records the later one counts on every
// host. So all hosts agree in the end, in any order of the records.
type Record struct {
	Digest digest.Digest `json:"digest,omitempty"` // of the manifest; "": it was deleted
	Time   time.Time     `json:"time"`
}

func (r Record) deleted() bool { return r.Digest == "" }

func (r Record) same(o Record) bool { return r.Digest == o.Digest && r.Time.Equal(o.Time) }

func (r Record) after(o Record) bool {
	return r.Time.After(o.Time) || r.Time.Equal(o.Time) && r.Digest > o.Digest
}

// Records maps repository and reference to a record, as in ledger.json and /pushed.
type Records map[string]map[string]Record

// all iterates over the records.
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

// set stores the record if it is newer than the existing one.
func (r Records) set(at Reference, record Record) {
	if old, known := r[at.Repository][at.Reference]; known && !record.after(old) {
		return
	}
	if r[at.Repository] == nil {
		r[at.Repository] = map[string]Record{}
	}
	r[at.Repository][at.Reference] = record
}

// missing returns the records of r that o does not have, or has only in an older version.
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

// ledger lists the pushes and deletions that this host knows.
type ledger struct {
	file string

	mu      sync.Mutex
	records Records
	text    []byte   // content of the file
	hidden  []string // reserved repositories with pushed images, which are not served
}

// pushedPath is the path at which the other registries read the ledger.
const pushedPath = "/pushed"

// ledgerName is the name of the ledger file, next to the engine's tree.
const ledgerName = "ledger.json"

// openLedger compares the ledger with the engine's files. It adds a push that is missing in the ledger
// after a crash. It removes a record without its manifest, so that another host sends the manifest
// again. It replaces a ledger that cannot be read. Images that were deleted only on this host may
// then come back.
func openLedger(s storage, log *slog.Logger) (*ledger, error) {
	l := &ledger{file: s.file(ledgerName), records: Records{}}
	content, err := os.ReadFile(l.file)
	if host.IgnoreMissing(err) != nil {
		return nil, fmt.Errorf("open registry's ledger: %w", err)
	}
	written := Records{}
	if err == nil {
		if err := json.Unmarshal(content, &written); err != nil {
			log.Error("the ledger is damaged; the registry makes a new one", "file", l.file, "error", err.Error())
			written = Records{}
		}
	}
	onDisk, hidden, err := scanLinks(s, func(path string, err error) {
		log.Error("a link is damaged", "path", path, "error", err.Error()) // another host may send it again
	})
	if err != nil {
		return nil, fmt.Errorf("open registry's ledger: %w", err)
	}
	l.hidden = hidden
	for at, record := range written.allowed(s.reserved).all() {
		if _, scanLinks := onDisk[at.Repository][at.Reference]; scanLinks || record.deleted() {
			l.records.set(at, record)
		}
	}
	for at, record := range onDisk.all() {
		if l.records[at.Repository][at.Reference].Digest != record.Digest {
			l.records.set(at, record)
		}
	}
	if len(l.records) == 0 && len(written) == 0 {
		l.text = []byte("{}") // without pushes, the host has no data to keep
		return l, nil
	}
	return l, l.write()
}

// allowed returns the records outside of reserved repositories.
func (r Records) allowed(names reserved) Records {
	left := Records{}
	for repository, references := range r {
		if !names.has(repository) {
			left[repository] = references
		}
	}
	return left
}

// maxLink is a size limit for link files. A digest is shorter.
const maxLink = 1 << 10

// scanLinks returns the engine's links to manifests, with the times of their files. hidden are the
// reserved repositories that contain links. damaged is called for each invalid link, and for each
// file that the engine does not write.
func scanLinks(s storage, damaged func(path string, err error)) (found Records, hidden []string, err error) {
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
			damaged(path, errors.New("it is not a file or directory"))
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
	return found, slices.Compact(hidden), nil // WalkDir sorts
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

// parseLink parses NAME/_manifests/tags/TAG/current/link and
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

// push records a pushed manifest, under its digest and, if the client named one, under a tag. reapply
// repeats the change of the engine, because an older push of another host may have come in between.
func (l *ledger) push(at Reference, d digest.Digest, reapply func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, reference := range []string{at.Reference, d.String()} {
		l.record(Reference{at.Repository, reference}, d)
	}
	return errors.Join(reapply(), l.write())
}

// remove records the deletion of a tag, or of a manifest with its tags. reapply is as for push.
func (l *ledger) remove(at Reference, reapply func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record(at, "")
	for reference, record := range l.records[at.Repository] {
		if record.Digest.String() == at.Reference {
			l.record(Reference{at.Repository, reference}, "")
		}
	}
	return errors.Join(reapply(), l.write())
}

// record stores a record that is later than the existing one, even if the clock went back.
func (l *ledger) record(at Reference, d digest.Digest) {
	record := Record{Digest: d, Time: time.Now().UTC()}
	if old := l.records[at.Repository][at.Reference]; !record.Time.After(old.Time) {
		record.Time = old.Time.Add(time.Microsecond)
	}
	l.records.set(at, record)
}

// follow applies a change of another host with do, and records it. It does nothing if this host has
// a newer record by now: copying an image takes minutes.
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

// pending returns the records of another host that this host has not applied yet.
func (l *ledger) pending(theirs Records) Records {
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
	_, _ = io.Copy(w, bytes.NewReader(text)) // the client may have closed the connection
}

func etag(text []byte) string { return fmt.Sprintf(`"%x"`, sha256.Sum256(text)) }

// Pushed returns the records of the registry and their ETag. If the records still have the ETag
// known, it returns none. A registry without pushes returns an empty list.
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
