package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSlowLoris: clients that open connections and say nothing, or a header a letter at a
// time, are let go, and meanwhile others are answered.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	r := start(t)
	const each = 50
	var all sync.WaitGroup
	var held, gone atomic.Int64
	hold := func(dial func() (net.Conn, error), say func(net.Conn)) {
		all.Go(func() {
			conn, err := dial()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			go say(conn)
			if err := conn.SetReadDeadline(time.Now().Add(3 * headerTimeout)); err != nil {
				t.Error(err)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) { // an error may be said before the end
				held.Add(1)
			}
			gone.Add(1)
		})
	}
	plain := func() (net.Conn, error) { return net.Dial("tcp", r.addr) }
	below := r.client.Transport.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper()
	secure := func() (net.Conn, error) { return tls.Dial("tcp", r.addr, below.(*http.Transport).TLSClientConfig) }
	for range each {
		hold(plain, func(net.Conn) {}) // no handshake
		hold(secure, func(net.Conn) {})
		hold(secure, func(conn net.Conn) {
			for _, letter := range "GET /v2/ HTTP/1.1\r\nHost: registry\r\nX-Slow: " + fmt.Sprint(make([]int, 1000)) {
				if _, err := conn.Write([]byte(string(letter))); err != nil {
					return
				}
				time.Sleep(headerTimeout / 20)
			}
		})
	}
	beside := 0
	for range 20 {
		resp, err := r.client.Get(r.url("/v2/"))
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("beside them: %s", resp.Status)
		}
		if gone.Load() == 0 {
			beside++
		}
		time.Sleep(headerTimeout / 20)
	}
	if beside == 0 {
		t.Error("nobody was answered before slow clients were let go")
	}
	all.Wait()
	if n := held.Load(); n > 0 {
		t.Errorf("%d of %d slow clients still hold their connections", n, 3*each)
	}
}
