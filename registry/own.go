package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/registry/damage"
)

// publicFiles returns the names of the files next to the parts, which hosts without airgap download.
func publicFiles() []string { return []string{"airgap.rpm", bundle.RPMKeyName} }

// bundleFiles serves the files of bundles. Each read verifies them.
type bundleFiles struct {
	bundles []*bundle.Bundle
	log     *slog.Logger
	damage  *damage.Log
}

// serveByName serves each file of each bundle, by the bundle's name or ID, for the store of another
// host.
func (o bundleFiles) serveByName(w http.ResponseWriter, r *http.Request) {
	name, bundleName := r.PathValue("file"), r.PathValue("name")
	i := slices.IndexFunc(o.bundles, func(b *bundle.Bundle) bool {
		return (bundleName == b.Index().Name || bundleName == b.ID()) && slices.Contains(b.Names(), name)
	})
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	o.serve(w, r, o.bundles[i], name)
}

// serveNewest serves one file of the newest bundle.
func (o bundleFiles) serveNewest(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if len(o.bundles) == 0 {
			http.NotFound(w, r)
			return
		}
		o.serve(w, r, o.bundles[0], name)
	}
}

func (o bundleFiles) serve(w http.ResponseWriter, r *http.Request, b *bundle.Bundle, name string) {
	f, err := b.Own(name)
	if err == nil {
		defer f.Close()
		err = probeAt(f, rangeStart(r, f.Size()), f.Size())
	}
	if err != nil {
		o.refuse(w, r, b, name, err)
		return
	}
	w.Header().Set("ETag", `"sha256:`+f.Entry().SHA256+`"`)
	content := &logged{ReadSeeker: f, failed: func(err error) { o.note(b, name, err) }}
	http.ServeContent(w, r, name, time.Time{}, content)
}

// rangeStart returns the start of the requested range of size bytes. "bytes=-5" are the last five.
func rangeStart(r *http.Request, size int64) int64 {
	var at int64
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d", &at) // without a range, it is 0
	if at < 0 {
		at = max(size+at, 0)
	}
	return at
}

// probeAt reads one byte while the answer can still be an error. net/http refuses a range after the
// end of the file.
func probeAt(f io.ReaderAt, at, size int64) error {
	if at < 0 || at >= size {
		return nil
	}
	_, err := f.ReadAt(make([]byte, 1), at)
	return err
}

// refusal is the answer instead of a file that does not match its signed hash.
type refusal struct {
	Damage *Damage `json:"damage,omitempty"`
	Error  string  `json:"error"`
}

func (o bundleFiles) refuse(w http.ResponseWriter, r *http.Request, b *bundle.Bundle, name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	o.note(b, name, err)
	answer := refusal{Error: err.Error()}
	if d := (*bundle.DamageError)(nil); errors.As(err, &d) {
		answer.Damage = &Damage{Bundle: b.Index().Name, Part: d.Part, Chunk: d.Chunk, Path: d.Path}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(answer) // the client may have closed the connection
}

func (o bundleFiles) note(b *bundle.Bundle, name string, err error) {
	o.log.Error("read bundle", "bundle", b.Index().Name, "file", name, "error", err.Error())
	d, known := damage.Of(err, name)
	if !known {
		d = Damage{Part: name, Chunk: -1, Path: name, Cause: err.Error()}
	}
	d.Bundle = b.Index().Name
	at := max(0, int64(d.Chunk)) * bundle.ChunkSize
	o.damage.Note(d, func() error {
		f, err := b.Own(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return probeAt(f, at, f.Size())
	})
}

// logged reports a failed read: the client only sees a closed connection.
type logged struct {
	io.ReadSeeker
	failed func(error)
}

func (l *logged) Read(p []byte) (int, error) {
	n, err := l.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		l.failed(err)
	}
	return n, err
}
