package web

import (
	"net/http"
	"slices"
	"sync"
)

// Fault changes the answers to requests to one repository.
type Fault struct {
	Repository string // HOST/REPO
	Digest     string // only requests for this digest or tag; "" means all requests
	Times      int    // number of requests that it affects; 0 means all

	// Exactly one of these is the effect.
	Status     int   // the answer has this status (401, 404, 503 ...)
	CloseAfter int64 // the server closes the connection after so many bytes of a blob
	WrongBytes bool  // every byte of a blob is wrong; the length is correct
}

// hits reports whether a request is affected. CloseAfter and WrongBytes affect only GET
// requests for blobs, so that a fault without a digest breaks the transfer, not the resolution
// of the tag.
func (f Fault) hits(method, repository, kind, ref string) bool {
	if f.Repository != repository || f.Digest != "" && f.Digest != ref {
		return false
	}
	return f.Status != 0 || kind == "blobs" && method == http.MethodGet
}

// apply returns the writer for the answer, or nil after it has answered the request.
func (f Fault) apply(w http.ResponseWriter) http.ResponseWriter {
	switch {
	case f.Status == http.StatusUnauthorized:
		refuse(w, f.Status, "UNAUTHORIZED", "injected fault")
		return nil
	case f.Status == http.StatusNotFound:
		refuse(w, f.Status, "NAME_UNKNOWN", "injected fault")
		return nil
	case f.Status != 0:
		refuse(w, f.Status, "UNKNOWN", "injected fault")
		return nil
	case f.WrongBytes:
		return &corrupter{ResponseWriter: w}
	}
	return &breaker{ResponseWriter: w, left: f.CloseAfter}
}

// breaker closes the connection after left more bytes.
type breaker struct {
	http.ResponseWriter
	left int64
}

func (b *breaker) Write(data []byte) (int, error) {
	if int64(len(data)) <= b.left {
		b.left -= int64(len(data))
		return b.ResponseWriter.Write(data)
	}
	_, _ = b.ResponseWriter.Write(data[:b.left])
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	panic(http.ErrAbortHandler) // makes net/http close the connection
}

// corrupter inverts every bit.
type corrupter struct{ http.ResponseWriter }

func (s *corrupter) Write(data []byte) (int, error) {
	wrong := slices.Clone(data)
	for i := range wrong {
		wrong[i] ^= 0xff
	}
	return s.ResponseWriter.Write(wrong)
}

type faults struct {
	mu     sync.Mutex
	active []*Fault
}

// take returns the first fault that affects the request, and counts the request.
func (a *faults) take(method, repository, kind, ref string) (Fault, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, f := range a.active {
		if !f.hits(method, repository, kind, ref) {
			continue
		}
		hit := *f
		if f.Times == 1 {
			a.active = slices.Delete(a.active, i, i+1)
		} else if f.Times > 1 {
			f.Times--
		}
		return hit, true
	}
	return Fault{}, false
}

// Inject adds a fault for later requests.
func (s *Server) Inject(f Fault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.active = append(s.faults.active, &f)
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.active = nil
}
