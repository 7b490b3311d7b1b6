package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/registry/names"
	"airgap.dev/airgap/registry/verified"
)

// images serves the registry protocol. The engine handles names, manifests and uploads. airgap serves
// blobs itself, because the engine buffers 4 MiB for each open blob. airgap also serves referrers,
// which the engine does not support.
type images struct {
	catalog    *catalog
	copies     *copies
	storage    storage
	engine     http.Handler
	pushes     *pushes
	registries []string // HOST:PORT names of this cluster's registries
}

func newImages(ctx context.Context, c *catalog, s storage, p *pushes, registries []string) images {
	return images{catalog: c, copies: &copies{catalog: c}, storage: s, engine: specifiedErrors{newEngine(ctx, s)}, pushes: p, registries: registries}
}

// ServeHTTP maps the requested name to a repository of this registry, and dispatches the request.
func (i images) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := parseV2Path(r.URL.Path)
	if !ok {
		i.serveUnnamed(w, r)
		return
	}
	upstream := i.upstream(r)
	path.name = names.Repository(upstream, path.name)
	if _, err := reference.Named(path.name); err != nil {
		writeError(w, http.StatusBadRequest, "NAME_INVALID", fmt.Sprintf("%q: %v", path.name, err))
		return
	}
	if path.refuse(w, r.Method) {
		return
	}
	if upstream == "" && path.kind == "manifests" && reads(r) {
		path = i.copies.path(path)
	}
	r = withPath(r, path)
	user, ok := i.pushes.authorize(w, r, path)
	switch {
	case !ok:
	case path.noUpload():
		writeError(w, http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "no upload "+path.reference)
	case path.kind == "referrers":
		i.pushes.referrers.serve(w, r, path)
	case path.kind == "tags":
		i.serveTags(w, r, path)
	case path.kind == "blobs" && reads(r):
		i.serveBlob(w, r, path)
	case path.kind == "manifests" && reads(r) && i.copies.leftOut(path):
		writeError(w, http.StatusNotFound, "MANIFEST_UNKNOWN", leftOutText(path))
	case path.kind == "manifests" && reads(r):
		i.engine.ServeHTTP(w, withAccept(r))
	case reads(r):
		i.engine.ServeHTTP(w, r)
	default:
		i.pushes.serve(w, r, path, user, i.engine)
	}
}

// serveUnnamed answers requests without a repository, which must be reads.
func (i images) serveUnnamed(w http.ResponseWriter, r *http.Request) {
	if _, ok := i.pushes.authorize(w, r, v2Path{}); !ok {
		return
	}
	if !reads(r) {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "the registry accepts no writes to "+r.URL.Path)
		return
	}
	list := r.WithContext(r.Context())
	list.Method = http.MethodGet // the engine's list of repositories has no HEAD
	i.engine.ServeHTTP(w, list)
}

// upstream returns the host in the image's name, which runtimes send to mirrors. It is "" for this
// cluster's registries, which are not part of a repository's name.
func (i images) upstream(r *http.Request) string {
	host := r.URL.Query().Get("ns")
	if host == r.Host || slices.Contains(i.registries, host) {
		return ""
	}
	return host
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serveBlob serves ranges and conditional requests as a file server does. If the bytes do not match
// the digest, it ends the answer early and closes the connection.
func (i images) serveBlob(w http.ResponseWriter, r *http.Request, path v2Path) {
	d := digest.Digest(path.reference)
	wide, found := i.catalog.layer(path.name, d)
	if !found {
		wide, found = i.pushes.layer(r.Context(), path.name, d, r.Method == http.MethodHead)
	}
	if !found {
		i.engine.ServeHTTP(w, r) // it writes the error
		return
	}
	content, err := wide()
	if err == nil {
		defer content.Close()
		err = probeFrom(content, r)
	}
	if verified.Unusable(err) || errors.Is(err, fs.ErrNotExist) {
		i.engine.ServeHTTP(w, r) // as above
		return
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Docker-Content-Digest", d.String())
	header.Set("Docker-Distribution-API-Version", "registry/2.0")
	header.Set("ETag", `"`+d.String()+`"`)
	header.Set("Cache-Control", "max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, content)
}

// probeFrom reads one byte of the requested range while the answer can still be an error.
func probeFrom(content io.ReadSeeker, r *http.Request) error {
	if r.Method != http.MethodGet {
		return nil
	}
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(rangeStart(r, size), io.SeekStart)
	}
	if err != nil {
		return err
	}
	if _, err := content.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// withPath returns the request with the mapped path. It also maps the name of the repository from
// which a blob is to be mounted.
func withPath(r *http.Request, path v2Path) *http.Request {
	mapped := r.WithContext(r.Context())
	query := r.URL.Query()
	if from := query.Get("from"); from != "" {
		query.Set("from", names.Repository("", from))
	}
	mapped.URL = &url.URL{Path: path.String(), RawQuery: query.Encode()}
	return mapped
}

// manifestTypes returns the media types of manifests and indexes.
func manifestTypes() []string {
	return []string{
		string(types.OCIImageIndex), string(types.OCIManifestSchema1), string(types.DockerManifestList), string(types.DockerManifestSchema2),
	}
}

// withAccept accepts all types of manifests if the client accepts any type, as curl does. Without
// this, the engine answers 404 to clients that do not name OCI types, and one platform's manifest to
// clients that requested a Docker manifest list.
func withAccept(r *http.Request) *http.Request {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept != "" && !strings.Contains(accept, "*/*") {
		return r
	}
	wide := r.Clone(r.Context())
	wide.Header["Accept"] = slices.Clone(manifestTypes())
	return wide
}
