package dataplane

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// The sizes of requests between pods, in bytes. large does not fit into one packet of any network
// (jumbo frames have 9000 bytes).
const (
	small = 64
	large = 64 << 10
)

// Headers of an answer, with the node of the pod that answers.
const (
	nodeHeader = "Airgap-Node"
	hostHeader = "Airgap-Host" // address of the node
)

// answer returns the handler of a pod. /echo returns the request's body, of at most large bytes.
// /ready is the kubelet's readiness probe: it fails if the pod's own tries have stopped.
func answer(self Self, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, large))
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			http.Error(w, fmt.Sprintf("at most %d bytes", large), http.StatusRequestEntityTooLarge)
		}
		if err != nil {
			return // the caller closed the connection or sent too much
		}
		w.Header().Set(nodeHeader, self.Node)
		w.Header().Set(hostHeader, self.Host)
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(body) // the caller reports a broken connection
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}
