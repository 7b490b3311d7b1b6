package web

import (
	"net/http"
	"slices"
	"sync"
)

// Fault is a misbehaviour ordered for requests to one repository.
type Fault struct {
	Repository string // HOST/REPO
	Digest     string // only requests for this digest or tag; "" means all of the repository
	Times      int    // how many requests it hits; 0 means all

	// One of these says what happens.
	Status     int   // the answer has this status (401, 404, 503 ...) instead
	CloseAfter int64 // the connection of a blob breaks after so many bytes of the body
	WrongBytes bool  // every byte of a blob is another one; its length is right
}

// hits tells blobs from manifests, and GET from HEAD: only a blob's body is
// spoilt, so that a fault without a digest breaks the transfer, not the
// resolution.
func (f Fault) hits(method, repository, kind, what string) bool {
	if f.Repository != repository || f.Digest != "" && f.Digest != what {
		return false
	}
	return f.Status != 0 || kind == "blobs" && method == http.MethodGet
}

// apply returns the writer to go on with, or nil when the request is answered.
func (f Fault) apply(w http.ResponseWriter) http.ResponseWriter {
	switch {
	case f.Status == http.StatusUnauthorized:
		refuse(w, f.Status, "UNAUTHORIZED", "ordered by a fault")
		return nil
	case f.Status == http.StatusNotFound:
		refuse(w, f.Status, "NAME_UNKNOWN", "ordered by a fault")
		return nil
	case f.Status != 0:
		refuse(w, f.Status, "UNKNOWN", "ordered by a fault")
		return nil
	case f.WrongBytes:
		return &spoiler{ResponseWriter: w}
	}
	return &breaker{ResponseWriter: w, left: f.CloseAfter}
}

// breaker drops the connection when it has written what is left.
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
	panic(http.ErrAbortHandler) // net/http's way to cut a connection
}

type spoiler struct{ http.ResponseWriter }

func (s *spoiler) Write(data []byte) (int, error) {
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

// take returns the first fault for the request and counts the hit.
func (a *faults) take(method, repository, kind, what string) (Fault, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, f := range a.active {
		if !f.hits(method, repository, kind, what) {
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

// Inject orders a fault for the requests to come.
func (s *Server) Inject(f Fault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.active = append(s.faults.active, &f)
}

// Heal takes every fault back.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.active = nil
}
