package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// serve answers a request for path below /v2/. The name of the repository in it may have any
// number of slashes.
func (a *images) serve(w http.ResponseWriter, r *http.Request, path string, faults *faults) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if path == "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	name, kind, ref := splitPath(path)
	if fault, ok := faults.take(r.Method, name, kind, ref); ok {
		w = fault.apply(w)
		if w == nil {
			return
		}
	}
	repo := a.repositories[name]
	if repo == nil {
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN", "no repository "+name)
		return
	}
	switch kind {
	case "manifests":
		repo.manifest(w, r, ref)
	case "blobs":
		repo.blob(w, r, ref)
	case "tags":
		answer(w, http.StatusOK, map[string]any{"name": name, "tags": slices.Sorted(maps.Keys(repo.tags))})
	default:
		refuse(w, http.StatusNotFound, "UNSUPPORTED", "not a path of the distribution API")
	}
}

// splitPath splits "HOST/REPO/KIND/REFERENCE" at its last two slashes.
func splitPath(path string) (name, kind, ref string) {
	rest, ref := cutLast(path)
	name, kind = cutLast(rest)
	return name, kind, ref
}

func cutLast(path string) (before, after string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func (r *repository) manifest(w http.ResponseWriter, request *http.Request, ref string) {
	digest, tagged := r.tags[ref]
	if !tagged {
		digest, _ = v1.NewHash(ref)
	}
	m, ok := r.manifests[digest]
	if !ok {
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "no manifest "+ref)
		return
	}
	w.Header().Set("Content-Type", m.mediaType)
	w.Header().Set("Docker-Content-Digest", digest.String())
	w.Header().Set("Etag", `"`+digest.String()+`"`)
	http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(m.data))
}

func (r *repository) blob(w http.ResponseWriter, request *http.Request, ref string) {
	digest, err := v1.NewHash(ref)
	path, ok := r.blobs[digest]
	if err != nil || !ok {
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", "no blob "+ref)
		return
	}
	f, err := os.Open(path)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", digest.String())
	w.Header().Set("Etag", `"`+digest.String()+`"`)
	http.ServeContent(w, request, "", time.Time{}, f)
}

// refuse answers with the error document of the distribution API.
func refuse(w http.ResponseWriter, status int, code, message string) {
	if status == http.StatusUnauthorized {
		w.Header().Set("Www-Authenticate", `Basic realm="lab"`)
	}
	answer(w, status, map[string]any{"errors": []map[string]string{{"code": code, "message": message}}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		fmt.Fprintln(w) // the client has closed the connection
	}
}
