package registry

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"airgap.dev/airgap/internal/httpclient"
)

// TestEndlessAnswers: if a registry sends an endless report, the client stops reading. It uses
// little memory and time.
func TestEndlessAnswers(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for blanks := bytes.Repeat([]byte{' '}, 1<<20); ; {
			if _, err := w.Write(blanks); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	c := &Client{base: server.URL, http: server.Client()}
	if _, err := c.Health(t.Context()); !errors.Is(err, httpclient.ErrTooLarge) {
		t.Errorf("Health: %v", err)
	}
	if _, _, err := c.Pushed(t.Context(), ""); !errors.Is(err, httpclient.ErrTooLarge) {
		t.Errorf("Pushed: %v", err)
	}
}
