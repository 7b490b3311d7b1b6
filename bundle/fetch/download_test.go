package fetch

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestWholeDownloadNeedsNoConnection: if the connection breaks after the last byte, the
// download is complete and no new connection is opened.
func TestWholeDownloadNeedsNoConnection(t *testing.T) {
	const content = "the last bytes"
	d := &download{
		ctx: context.Background(), Patience: Patience{Attempts: 3, Stall: time.Minute}, url: "http://192.0.2.1/none",
		size: int64(len(content)), want: -1, stop: func() {}, alarm: time.NewTimer(time.Minute),
		body: io.NopCloser(io.MultiReader(iotest.OneByteReader(strings.NewReader(content)), iotest.ErrReader(errStalled))),
	}
	defer d.Close()
	got, err := io.ReadAll(d)
	if err != nil || string(got) != content {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestSkippingIsNoStall: a server without range support sends from the beginning. The
// skipped bytes count as received.
func TestSkippingIsNoStall(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 8 {
			io.WriteString(w, "12345678")
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	}))
	defer server.Close()
	c := &Client{Patience: Patience{Attempts: 1, Stall: 400 * time.Millisecond}}
	d, err := c.download(t.Context(), &login{client: server.Client()}, server.URL, Extent{60, -1}, c.contentTime())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err := io.ReadAll(d); err != nil || string(got) != "5678" {
		t.Errorf("got %q, %v", got, err)
	}
}
