package registry

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/internal/reference"
)

// images answers the registry protocol. The engine does the names, the manifests
// and the uploads; blobs are served without its buffers, which hold 4 MiB for each
// blob that is being read, and it knows nothing of referrers.
type images struct {
	catalog   *catalog
	engine    http.Handler
	referrers *referrers
	pushes    *pushes
	own       []string // HOST:PORT under which clients know this cluster's registries
}

func newImages(ctx context.Context, c *catalog, s storage, p *pushes, own []string) (images, error) {
	n, err := s.namespace(ctx)
	return images{catalog: c, engine: newEngine(ctx, s), referrers: newReferrers(n), pushes: p, own: own}, err
}

// ServeHTTP maps the name that the client asks for to ours, and finds who
// answers.
func (i images) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := parseV2Path(r.URL.Path)
	if !ok {
		i.serveUnnamed(w, r)
		return
	}
	path.name = RepositoryName(i.upstream(r), path.name)
	if _, err := reference.Named(path.name); err != nil {
		writeError(w, http.StatusBadRequest, "NAME_INVALID", fmt.Sprintf("%q: %v", path.name, err))
		return
	}
	r = withPath(r, path)
	user, ok := i.pushes.admits(w, r, path)
	switch {
	case !ok:
	case path.kind == "referrers":
		i.referrers.serve(w, r, path)
	case path.kind == "blobs" && reads(r):
		i.serveBlob(w, r, path)
	case path.kind == "manifests" && reads(r):
		i.engine.ServeHTTP(w, withAccept(r))
	case reads(r):
		i.engine.ServeHTTP(w, r)
	default:
		i.pushes.serve(w, r, path, user, i.engine)
	}
}

// serveUnnamed answers paths without a repository, where nothing is written.
func (i images) serveUnnamed(w http.ResponseWriter, r *http.Request) {
	if _, ok := i.pushes.admits(w, r, v2Path{}); !ok {
		return
	}
	if !reads(r) {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "nothing is written to "+r.URL.Path)
		return
	}
	i.engine.ServeHTTP(w, r)
}

// upstream is the host in an image's name, which runtimes tell their mirrors. Where
// it is one of this cluster's registries, the rest of the name is all there is.
func (i images) upstream(r *http.Request) string {
	host := r.URL.Query().Get("ns")
	if host == r.Host || slices.Contains(i.own, host) {
		return ""
	}
	return host
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serveBlob answers ranges and conditions as any file server does. Bytes that are
// not what their digest says end the answer early, and with it the connection.
func (i images) serveBlob(w http.ResponseWriter, r *http.Request, path v2Path) {
	d := digest.Digest(path.reference)
	open, found := i.catalog.layer(path.name, d)
	if !found {
		open, found = i.pushes.layer(r.Context(), path.name, d)
	}
	if !found {
		i.engine.ServeHTTP(w, r) // it says what is wrong
		return
	}
	content, err := open()
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

// withPath is the request for a path of ours. Where a blob is to be mounted from
// another repository, that one's name is mapped as well.
func withPath(r *http.Request, path v2Path) *http.Request {
	moved := r.WithContext(r.Context())
	query := r.URL.Query()
	if from := query.Get("from"); from != "" {
		query.Set("from", RepositoryName("", from))
	}
	moved.URL = &url.URL{Path: path.String(), RawQuery: query.Encode()}
	return moved
}

// manifestTypes are the kinds of manifests there are.
func manifestTypes() []string {
	return []string{
		string(types.OCIImageIndex), string(types.OCIManifestSchema1), string(types.DockerManifestList), string(types.DockerManifestSchema2),
	}
}

// withAccept lets a client that takes anything, as curl does, have what is there:
// the engine answers 404 to those who do not name OCI's types, and gives one
// platform's manifest where it was asked for Docker's list.
func withAccept(r *http.Request) *http.Request {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept != "" && !strings.Contains(accept, "*/*") {
		return r
	}
	open := r.Clone(r.Context())
	open.Header["Accept"] = slices.Clone(manifestTypes())
	return open
}
