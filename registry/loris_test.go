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

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// TestSlowLoris: the registry closes connections of clients that send nothing, or send a header one
// byte at a time. Meanwhile it answers other clients.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	r := start(t)
	const each = 50
	var all sync.WaitGroup
	var stillOpen, closed atomic.Int64
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
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) { // the server may send an error before it closes
				stillOpen.Add(1)
			}
			closed.Add(1)
		})
	}
	plain := func() (net.Conn, error) { return net.Dial("tcp", r.addr) }
	trust, err := utilnet.TLSClientConfig(r.client.Transport)
	must(t, err)
	secure := func() (net.Conn, error) { return tls.Dial("tcp", r.addr, trust) }
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
	answeredEarly := 0
	for range 20 {
		resp, err := r.client.Get(r.url("/v2/"))
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("other client: %s", resp.Status)
		}
		if closed.Load() == 0 {
			answeredEarly++
		}
		time.Sleep(headerTimeout / 20)
	}
	if answeredEarly == 0 {
		t.Error("no client was answered before the slow connections were closed")
	}
	all.Wait()
	if n := stillOpen.Load(); n > 0 {
		t.Errorf("%d of %d slow connections are still open", n, 3*each)
	}
}
