package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
)

// serveTags answers GET /v2/NAME/tags/list, with the parameters n and last. The engine reads the
// entry of each tag up to the last one of the answer, and has a Link also after the last page.
func (i images) serveTags(w http.ResponseWriter, r *http.Request, at v2Path) {
	query := r.URL.Query()
	limit := -1
	if n := query.Get("n"); n != "" {
		var err error
		if limit, err = strconv.Atoi(n); err != nil || limit < 0 {
			writeError(w, http.StatusBadRequest, "UNSUPPORTED", fmt.Sprintf("n=%q is no number of tags", n))
			return
		}
	}
	tags, err := i.tags(r, at.name)
	if missing(err) {
		writeError(w, http.StatusNotFound, "NAME_UNKNOWN", "no repository "+at.name)
		return
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	if last := query.Get("last"); last != "" {
		after, found := slices.BinarySearch(tags, last)
		if found {
			after++
		}
		tags = tags[after:]
	}
	if limit >= 0 && limit < len(tags) {
		tags = tags[:limit]
		if limit > 0 {
			next := url.Values{"n": {strconv.Itoa(limit)}, "last": {tags[limit-1]}}
			w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, at, next.Encode()))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": at.name, "tags": tags}) // the client may have closed the connection
}

// tags returns the sorted tags of a repository, which may have none if its images were pushed by digest.
func (i images) tags(r *http.Request, name string) ([]string, error) {
	at := repositoryPath(name) + "/_manifests"
	tags, err := i.storage.List(r.Context(), at+"/tags")
	if missing(err) {
		_, err = i.storage.Stat(r.Context(), at)
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(tags)) // never null, for clients
	for _, tag := range tags {
		names = append(names, path.Base(tag))
	}
	slices.Sort(names)
	return names, nil
}
