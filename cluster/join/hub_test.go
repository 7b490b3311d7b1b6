package join

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/httpclient"
)

// TestEndlessJoinFiles: a joining host does not take a part of a file for all of it.
func TestEndlessJoinFiles(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for blanks := bytes.Repeat([]byte{' '}, 1<<20); ; {
			if _, err := w.Write(blanks); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	h := &Server{Addr: strings.TrimPrefix(server.URL, "https://"), client: server.Client()}
	if _, err := h.readChoice(t.Context()); !errors.Is(err, httpclient.ErrTooLarge) {
		t.Errorf("the network choice: %v", err)
	}
	if _, err := h.readRemoved(t.Context()); !errors.Is(err, httpclient.ErrTooLarge) {
		t.Errorf("the removed nodes: %v", err)
	}
	if err := h.readIndex(t.Context(), nil); !errors.Is(err, httpclient.ErrTooLarge) {
		t.Errorf("the index: %v", err)
	}
}
