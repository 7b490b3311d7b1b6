package registry

import (
	"net/http"
	"net/url"
	"time"

	"github.com/opencontainers/go-digest"
)

// images answers the registry protocol. The engine does the names and the
// manifests; blobs are served from the parts without its buffers, which hold
// 4 MiB for each blob that is being read.
type images struct {
	catalog *catalog
	engine  http.Handler
}

func (i images) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := parseV2Path(r.URL.Path)
	if !ok {
		i.engine.ServeHTTP(w, r)
		return
	}
	path.name = RepositoryName(r.URL.Query().Get("ns"), path.name)
	if path.kind == "blobs" {
		d := digest.Digest(path.reference)
		if b, found := i.catalog.layer(path.name, d); found {
			b.serve(w, r, d)
			return
		}
	}
	i.engine.ServeHTTP(w, withPath(r, path.String()))
}

func withPath(r *http.Request, path string) *http.Request {
	moved := r.WithContext(r.Context())
	moved.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	return moved
}

// serve answers ranges and conditions as any file server does. A chunk that is
// not what was signed ends the answer early, and with it the connection.
func (b blob) serve(w http.ResponseWriter, r *http.Request, d digest.Digest) {
	content, err := b.open()
	if err != nil {
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	defer content.Close()
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Docker-Content-Digest", d.String())
	header.Set("Docker-Distribution-API-Version", "registry/2.0")
	header.Set("ETag", `"`+d.String()+`"`)
	header.Set("Cache-Control", "max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, content)
}
