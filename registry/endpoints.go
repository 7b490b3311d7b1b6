package registry

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/opencontainers/go-digest"
)

// methods returns the methods of the endpoint, as in "Endpoints" of the specification.
func (p v2Path) methods() []string {
	switch {
	case p.kind == "manifests":
		return []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}
	case p.kind == "blobs":
		return []string{http.MethodGet, http.MethodHead, http.MethodDelete}
	case p.kind == uploads && p.reference == "":
		return []string{http.MethodPost}
	case p.kind == uploads:
		return []string{http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPut, http.MethodDelete}
	}
	return []string{http.MethodGet, http.MethodHead}
}

// tagName is the pattern of tags in the specification.
var tagName = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)

// check returns the answer to a request that the endpoint does not take, or nil.
func (p v2Path) check(method string) *problem {
	if !slices.Contains(p.methods(), method) {
		message := fmt.Sprintf("%s is not possible here, only %s", method, strings.Join(p.methods(), ", "))
		return &problem{http.StatusMethodNotAllowed, "UNSUPPORTED", message}
	}
	switch {
	case p.kind == "blobs" || p.kind == "referrers" || p.kind == "manifests" && strings.Contains(p.reference, ":"):
		if _, err := digest.Parse(p.reference); err != nil {
			return &problem{http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("%q: %v", p.reference, err)}
		}
	case p.kind == "tags" && p.reference != "list":
		return &problem{http.StatusNotFound, "UNSUPPORTED", "the list of tags is at /v2/" + p.name + "/tags/list"}
	case p.kind == "manifests" && !tagName.MatchString(p.reference) && method == http.MethodPut:
		message := fmt.Sprintf("%q is no tag: a tag has at most 128 letters, digits, dots, hyphens and underscores", p.reference)
		return &problem{http.StatusBadRequest, "MANIFEST_INVALID", message}
	case p.kind == "manifests" && !tagName.MatchString(p.reference):
		return &problem{http.StatusNotFound, "MANIFEST_UNKNOWN", fmt.Sprintf("%q is no tag", p.reference)}
	}
	return nil
}

// refuse writes the answer of check, and reports whether there is one.
func (p v2Path) refuse(w http.ResponseWriter, method string) bool {
	problem := p.check(method)
	if problem == nil {
		return false
	}
	if problem.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", strings.Join(p.methods(), ", "))
	}
	problem.write(w)
	return true
}

// noUpload reports whether the path names an upload that cannot exist: the engine gives each a UUID.
func (p v2Path) noUpload() bool {
	return p.kind == uploads && p.reference != "" && uuid.Validate(p.reference) != nil
}
