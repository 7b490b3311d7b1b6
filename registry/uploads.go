package registry

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// serveUpload checks the range of a chunk, and passes the request to the engine. The engine checks a
// range only if the request announces its length, answers 500 to a range that it cannot read, and to a
// Content-Type other than application/octet-stream.
func (p *pushes) serveUpload(w http.ResponseWriter, r *http.Request, at v2Path, engine http.Handler) {
	r.Header = r.Header.Clone()
	r.Header.Del("Content-Type")
	span := r.Header.Get("Content-Range")
	if span == "" || r.Method != http.MethodPatch && r.Method != http.MethodPut {
		engine.ServeHTTP(w, r)
		return
	}
	info, err := p.storage.Stat(r.Context(), path.Join(repositoryPath(at.name), "_uploads", at.reference, "data"))
	if missing(err) {
		engine.ServeHTTP(w, r) // it writes the error
		return
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	if problem := checkChunk(span, r.ContentLength, info.Size()); problem != nil {
		w.Header().Set("Range", fmt.Sprintf("0-%d", max(info.Size()-1, 0)))
		problem.write(w)
		return
	}
	r.Header.Del("Content-Range")
	engine.ServeHTTP(w, r)
}

// checkChunk returns why a chunk does not continue an upload with size bytes, or nil. length is -1 if
// the request does not announce it. Some clients write the range as in HTTP: "bytes 0-9/10".
func checkChunk(span string, length, size int64) *problem {
	start, end, ok := parseSpan(span)
	switch {
	case !ok:
		message := fmt.Sprintf("Content-Range %q: write START-END", span)
		return &problem{http.StatusRequestedRangeNotSatisfiable, "BLOB_UPLOAD_INVALID", message}
	case start != size:
		message := fmt.Sprintf("the chunk starts at byte %d, the upload continues at byte %d", start, size)
		return &problem{http.StatusRequestedRangeNotSatisfiable, "BLOB_UPLOAD_INVALID", message}
	case length >= 0 && length != end-start+1:
		message := fmt.Sprintf("Content-Range %s has %d bytes, the request %d", span, end-start+1, length)
		return &problem{http.StatusBadRequest, "SIZE_INVALID", message}
	}
	return nil
}

func parseSpan(span string) (start, end int64, ok bool) {
	span, _, _ = strings.Cut(strings.TrimPrefix(span, "bytes "), "/")
	first, last, _ := strings.Cut(span, "-")
	from, err := strconv.ParseUint(first, 10, 63)
	to, errEnd := strconv.ParseUint(last, 10, 63)
	return int64(from), int64(to), err == nil && errEnd == nil && from <= to
}
