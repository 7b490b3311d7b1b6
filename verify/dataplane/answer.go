package dataplane

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// What pods send each other: a little, and more than fits into one packet of
// any network that pods travel through (jumbo frames have 9000 bytes).
const (
	small = 64
	large = 64 << 10
)

// Headers by which a pod tells the caller where it is.
const (
	nodeHeader = "Airgap-Node"
	hostHeader = "Airgap-Host" // address of the node
)

// answer gives every caller its bytes back, up to large of them, and tells the
// kubelet whether the pod's own tries go on.
func answer(self Self, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, large))
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			http.Error(w, fmt.Sprintf("at most %d bytes", large), http.StatusRequestEntityTooLarge)
		}
		if err != nil {
			return // the caller is gone, or its bytes are
		}
		w.Header().Set(nodeHeader, self.Node)
		w.Header().Set(hostHeader, self.Host)
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(body) // a caller who has gone will say so
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}
