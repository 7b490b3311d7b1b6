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
	var mu sync.Mutex
	held := 0
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
				mu.Lock()
				held++
				mu.Unlock()
			}
		})
	}
	plain := func() (net.Conn, error) { return net.Dial("tcp", r.addr) }
	secure := func() (net.Conn, error) {
		return tls.Dial("tcp", r.addr, r.client.Transport.(*http.Transport).TLSClientConfig)
	}
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
	for range 20 {
		began := time.Now()
		resp, err := r.client.Get(r.url("/v2/"))
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || time.Since(began) > headerTimeout/2 {
			t.Errorf("beside them: %s after %s", resp.Status, time.Since(began))
		}
		time.Sleep(headerTimeout / 20)
	}
	all.Wait()
	if held > 0 {
		t.Errorf("%d of %d slow clients still hold their connections", held, 3*each)
	}
}
