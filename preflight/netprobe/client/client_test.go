package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/internal/porttest"
	"airgap.dev/airgap/preflight/netprobe/client"
)

// api is a server with the answers and the time limits of an API server, but shorter ones.
func api(t *testing.T, change func(*httptest.Server)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Audit-Id", "x")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "forbidden: cannot get path "+r.URL.Path)
	}))
	s.EnableHTTP2 = true
	s.Config.IdleTimeout, s.Config.ReadHeaderTimeout = time.Second, time.Second
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	if change != nil {
		change(s)
	}
	if s.TLS != nil {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// relay carries connections to a server, each with a function.
func relay(t *testing.T, to string, carry func(conn, back net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if back, err := net.Dial("tcp4", to); err == nil {
					defer back.Close()
					carry(conn, back)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// limited copies data for a time, and then ends the connection or forgets it.
func limited(after time.Duration, end func(conn, back net.Conn)) func(conn, back net.Conn) {
	return func(conn, back net.Conn) {
		var both sync.WaitGroup
		for _, pair := range [][2]net.Conn{{conn, back}, {back, conn}} {
			both.Go(func() {
				buf := make([]byte, 1<<16)
				for {
					_ = pair[1].SetReadDeadline(time.Now().Add(after))
					n, err := pair[1].Read(buf)
					if err != nil {
						return
					}
					if _, err := pair[0].Write(buf[:n]); err != nil {
						return
					}
				}
			})
		}
		both.Wait()
		_ = conn.SetReadDeadline(time.Time{})
		end(conn, back)
	}
}

func tested(t *testing.T, target client.Target, idle time.Duration) (text string, passed bool) {
	t.Helper()
	r, err := client.Run(t.Context(), client.Options{Targets: []client.Target{target}, Idle: idle})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String(), r.Passed()
}

// TestClient tests servers that work, and ones with a fault.
func TestClient(t *testing.T) {
	t.Parallel()
	plain := func(s *httptest.Server) { s.TLS = nil }
	noClient := func(s *httptest.Server) { s.TLS = &tls.Config{} }
	silent := relay(t, api(t, nil), func(conn, _ net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	closed := "127.0.0.1:" + porttest.Reserve(t)
	for name, test := range map[string]struct {
		kind    client.Kind
		address string
		want    []string // in the text
		passed  bool
	}{
		"API": {client.API, api(t, nil), []string{
			"8 of 8 connections open", "TLS 1.3, first message of 1", "certificate O=Acme Co", "HTTP 403 Forbidden", "64 KiB arrive in packets of",
		}, true},
		"terminated TLS":        {client.API, api(t, noClient), []string{"failed  TLS", "does not ask for a client certificate"}, false},
		"API without TLS":       {client.API, api(t, plain), []string{"failed  TLS         the answer is not TLS: another service"}, false},
		"no handshake":          {client.API, silent, []string{"failed  TLS         no handshake: "}, false},
		"closed":                {client.API, closed, []string{"failed  connection  0 of 8 connections open; 8: connection refused"}, false},
		"unknown name":          {client.API, "k8s.invalid:6443", []string{"failed  name", "ask the DNS team for an A record of k8s.invalid"}, false},
		"ingress":               {client.Ingress, api(t, noClient), []string{"ok      answer"}, true},
		"NodePort with HTTP":    {client.NodePort, api(t, plain), []string{"none: the service answers without TLS", "ok      answer", "64 KiB arrive"}, true},
		"NodePort of a program": {client.NodePort, silent, []string{"note    TLS"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, passed := tested(t, client.Target{Kind: test.kind, Address: test.address}, 0)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if passed != test.passed {
				t.Errorf("passed %t\n%s", passed, text)
			}
		})
	}
}

// TestClientIdle: a connection without a packet outlives the server's limit for connections without a
// request, and the end of a connection has an owner.
func TestClientIdle(t *testing.T) {
	t.Parallel()
	server := api(t, nil)
	short := func(s *httptest.Server) { s.Config.WriteTimeout = time.Second }
	for name, test := range map[string]struct {
		address, want string
		passed        bool
	}{
		"kept":               {server, "ok      idle        a connection still works after 3s without a packet", true},
		"closed by a device": {relay(t, server, limited(time.Second, func(net.Conn, net.Conn) {})), "failed  idle        a device on the way closed the connection after 1s without a packet", false},
		"forgotten": {relay(t, server, limited(time.Second, func(conn, _ net.Conn) { _, _ = io.Copy(io.Discard, conn) })),
			"failed  idle        the connection no longer works after 3s without a packet", false},
		"closed by the server": {api(t, short), "note    idle        the server itself closed the connection after 1s", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, passed := tested(t, client.Target{Kind: client.API, Address: test.address}, 3*time.Second)
			if !strings.Contains(text, test.want) || passed != test.passed {
				t.Errorf("passed %t, no %q in\n%s", passed, test.want, text)
			}
		})
	}
}

// TestClientInterrupted: the end of the context ends the idle time.
func TestClientInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	waited := 0
	began := time.Now()
	_, err := client.Run(ctx, client.Options{Targets: []client.Target{{Kind: client.API, Address: api(t, nil)}}, Idle: time.Hour, Waited: func() {
		if waited++; waited == 2 {
			cancel()
		}
	}})
	if err == nil || time.Since(began) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// reset ends a connection with a reset.
func reset(conn net.Conn) {
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// carried copies the answers to a client, and at most some bytes from it. Then it resets the connection.
func carried(most int64) func(conn, back net.Conn) {
	return func(conn, back net.Conn) {
		go func() { _, _ = io.Copy(conn, back) }()
		if n, _ := io.CopyN(back, conn, most); n == most {
			reset(conn)
		}
	}
}

// TestClientResets: a device that resets connections with much data, or further connections, is a failure.
func TestClientResets(t *testing.T) {
	t.Parallel()
	var answered atomic.Bool // the request before those of the test of data
	reads := func(s *httptest.Server) {
		inner := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			inner.ServeHTTP(w, r)
			answered.Store(true)
		})
	}
	refuses := relay(t, api(t, reads), func(conn, back net.Conn) {
		if answered.Load() {
			reset(conn)
			return
		}
		carried(1<<20)(conn, back)
	})
	uploads := relay(t, api(t, reads), carried(16<<10))
	for address, want := range map[string]string{
		refuses: "failed  data        a further connection failed: connection reset by peer",
		uploads: "failed  data        the connection ended while 64 KiB were sent: ",
	} {
		text, passed := tested(t, client.Target{Kind: client.API, Address: address}, 0)
		if passed || !strings.Contains(text, want) || strings.Contains(text, "arrive") {
			t.Errorf("passed %t, no %q in\n%s", passed, want, text)
		}
		answered.Store(false)
	}
}

// TestClientInterruptedDuringData: the end of the context during the test of data is an error, not a panic.
func TestClientInterruptedDuringData(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		ctx, cancel := context.WithCancel(t.Context())
		address := api(t, func(s *httptest.Server) {
			inner := s.Config.Handler
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == method && r.URL.Path != "/version" || r.Method == http.MethodPost && method == http.MethodPost {
					cancel()
					time.Sleep(50 * time.Millisecond)
				}
				inner.ServeHTTP(w, r)
			})
		})
		_, err := client.Run(ctx, client.Options{Targets: []client.Target{{Kind: client.API, Address: address}}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
