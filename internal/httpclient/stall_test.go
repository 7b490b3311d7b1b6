package httpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestUnstalled: a server that stops in the middle of a body ends the read; a slow server and a slow
// reader do not.
func TestUnstalled(t *testing.T) {
	const limit = time.Second
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 4 {
			_, _ = io.WriteString(w, "part ")
			w.(http.Flusher).Flush()
			time.Sleep(limit / 3)
		}
		if r.URL.Path == "/stops" {
			<-end
		}
	}))
	defer server.Close()
	defer close(end)
	client := New(Unstalled(&http.Transport{DisableKeepAlives: true}, limit))
	for path, want := range map[string]error{"/slow": nil, "/stops": ErrStalled} {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * limit)
		text, err := io.ReadAll(response.Body)
		if string(text) != "part part part part " || !errors.Is(err, want) {
			t.Errorf("%s: %q, %v; want %v", path, text, err, want)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
