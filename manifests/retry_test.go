package manifests_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
	"k8s.io/client-go/rest"
)

// retriesConnections: Apply repeats a request if its connection fails, and no other one.
func retriesConnections(t *testing.T, server *apitest.Server) {
	for _, test := range []struct {
		name  string
		err   error
		tries int32
	}{
		{"a timeout", os.ErrDeadlineExceeded, 2},
		{"the end of the connection", io.EOF, 2},
		{"a reset", syscall.ECONNRESET, 2},
		{"another error", errors.New("x509: certificate signed by unknown authority"), 1},
	} {
		config := rest.CopyConfig(server.Config)
		var requests, failed atomic.Int32
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return transport(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPatch && requests.Add(1) == 1 {
					failed.Add(1)
					return nil, test.err
				}
				return next.RoundTrip(r)
			})
		})
		_, err := manifests.Apply(t.Context(), config, objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: retried, namespace: default}\n"))
		if failed.Load() != 1 || (err == nil) != (test.tries > 1) || test.tries == 1 && requests.Load() != 1 {
			t.Errorf("%s: error %v after %d requests", test.name, err, requests.Load())
		}
	}
}
