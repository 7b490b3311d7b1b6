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
)

// besides are the files next to the parts that hosts without airgap fetch.
func besides() []string { return []string{"airgap.rpm", bundle.RPMKeyName} }

// own serves bundles' own files, verified at every read.
type own struct {
	bundles []*bundle.Bundle
	log     *slog.Logger
	damage  *damageBook
}

// whole serves every own file of each bundle, by the bundle's name or ID, for the
// store of another host.
func (o own) whole(w http.ResponseWriter, r *http.Request) {
	name, called := r.PathValue("file"), r.PathValue("name")
	i := slices.IndexFunc(o.bundles, func(b *bundle.Bundle) bool {
		return (called == b.Index().Name || called == b.ID()) && slices.Contains(b.Names(), name)
	})
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	o.serve(w, r, o.bundles[i], name)
}

// beside serves one file of the newest bundle.
func (o own) beside(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if len(o.bundles) == 0 {
			http.NotFound(w, r)
			return
		}
		o.serve(w, r, o.bundles[0], name)
	}
}

func (o own) serve(w http.ResponseWriter, r *http.Request, b *bundle.Bundle, name string) {
	f, err := b.Own(name)
	if err == nil {
		defer f.Close()
		err = readsAt(f, begin(r), f.Size())
	}
	if err != nil {
		o.refuse(w, r, b, name, err)
		return
	}
	w.Header().Set("ETag", `"sha256:`+f.Entry().SHA256+`"`)
	content := &logged{ReadSeeker: f, failed: func(err error) { o.note(b, name, err) }}
	http.ServeContent(w, r, name, time.Time{}, content)
}

// begin is where the range begins that is asked for.
func begin(r *http.Request) int64 {
	var at int64
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &at) // without one, it is the file's begin
	return at
}

// readsAt reads a byte while the answer may still be an error. A range beyond the end
// is refused by net/http.
func readsAt(f io.ReaderAt, at, size int64) error {
	if at < 0 || at >= size {
		return nil
	}
	_, err := f.ReadAt(make([]byte, 1), at)
	return err
}

// refusal is what a client is answered instead of a file that is not what was signed.
type refusal struct {
	Damage *Damage `json:"damage,omitempty"`
	Error  string  `json:"error"`
}

func (o own) refuse(w http.ResponseWriter, r *http.Request, b *bundle.Bundle, name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	o.note(b, name, err)
	said := refusal{Error: err.Error()}
	if d := (*bundle.DamageError)(nil); errors.As(err, &d) {
		said.Damage = &Damage{Bundle: b.Index().Name, Part: d.Part, Chunk: d.Chunk, Path: d.Path}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(said) // as in health
}

func (o own) note(b *bundle.Bundle, name string, err error) {
	o.log.Error("read from bundle", "bundle", b.Index().Name, "file", name, "error", err.Error())
	if d := (*bundle.DamageError)(nil); errors.As(err, &d) {
		at := max(0, int64(d.Chunk)) * bundle.ChunkSize
		o.damage.note(Damage{Bundle: b.Index().Name, Part: d.Part, Chunk: d.Chunk, Path: name}, func() error {
			f, err := b.Own(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return readsAt(f, at, f.Size())
		})
	}
}

// logged reports a read that failed: the client only sees its connection end.
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
