package registry

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wait polls until another goroutine has done something. The limit is much longer than that takes.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for started := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(started) > time.Minute {
			t.Fatalf("%s: not done after a minute", what)
		}
	}
}

func (t *loginQueue) waitingFrom(from string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting[from])
}

func TestLoginQueueIsFair(t *testing.T) {
	q := newLoginQueue()
	must(t, q.acquire(t.Context(), "busy"))
	served := make(chan string, 100)
	ask := func(ctx context.Context, from string) {
		before := q.waitingFrom(from)
		go func() {
			if q.acquire(ctx, from) == nil {
				served <- from
				q.release()
			}
		}()
		wait(t, from, func() bool { return q.waitingFrom(from) > before })
	}
	for range 3 {
		ask(t.Context(), "busy")
	}
	canceled, cancel := context.WithCancel(t.Context())
	ask(canceled, "canceled")
	ask(t.Context(), "a")
	ask(t.Context(), "b")
	cancel()
	wait(t, "the canceled login", func() bool { return q.waitingFrom("canceled") == 0 })
	q.release()
	var got []string
	for range 5 {
		got = append(got, <-served)
	}
	if want := []string{"busy", "a", "b", "busy", "busy"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	wait(t, "the end of the last login", func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.free == 1 && q.total == 0 && len(q.order) == 0 })
}

func TestLoginQueueIsBounded(t *testing.T) {
	q := newLoginQueue()
	must(t, q.acquire(t.Context(), "x"))
	for range waitingPerAddress {
		if _, err := q.enqueue("x"); err != nil {
			t.Fatal(err)
		}
	}
	oldest := q.waiting["x"][0]
	if _, err := q.enqueue("x"); err != nil {
		t.Errorf("one more login of the same address: %v", err)
	}
	if err := <-oldest; !errors.Is(err, errBusy) || q.waitingFrom("x") != waitingPerAddress {
		t.Errorf("the oldest login of that address: %v, %d are waiting", err, q.waitingFrom("x"))
	}
	for i := waitingPerAddress; i < waitingInAll; i++ {
		if _, err := q.enqueue(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.enqueue("y"); !errors.Is(err, errBusy) {
		t.Errorf("one more login than waitingInAll: %v", err)
	}
}

// TestLeaveAtOwnTurn: if a caller leaves when it may continue, the next one continues.
func TestLeaveAtOwnTurn(t *testing.T) {
	q := newLoginQueue()
	must(t, q.acquire(t.Context(), "x"))
	ready, err := q.enqueue("y")
	must(t, err)
	q.release()
	q.leave("y", ready)
	must(t, q.acquire(t.Context(), "z"))
}

// TestNewestLoginOfAnAddressIsFirst: the newest login of an address comes first. A refused login that
// leaves does not call release.
func TestNewestLoginOfAnAddressIsFirst(t *testing.T) {
	q := newLoginQueue()
	must(t, q.acquire(t.Context(), "x"))
	var all []chan error
	for range waitingPerAddress + 1 {
		ready, err := q.enqueue("x")
		must(t, err)
		all = append(all, ready)
	}
	q.leave("x", all[0])
	if q.free != 0 {
		t.Error("the refused login called release")
	}
	q.release()
	select {
	case err := <-all[waitingPerAddress]:
		must(t, err)
	default:
		t.Error("the newest login does not come first")
	}
}

// TestLoginsOfOneAddressDoNotBlockAnother: 200 logins of one address do not delay a login from another.
func TestLoginsOfOneAddressDoNotBlockAnother(t *testing.T) {
	users := filepath.Join(t.TempDir(), "htpasswd")
	writeUser(t, users)
	p := newPushers(users)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := r.Header.Get("Test-From"); from != "" {
			r.RemoteAddr = from
		}
		p.ServeHTTP(w, r)
	}))
	defer server.Close()
	must(t, p.hashing.acquire(t.Context(), "test")) // no password is compared until all logins wait
	var refused, compared atomic.Int64
	for range 200 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		must(t, err)
		defer conn.Close()
		_, err = fmt.Fprint(conn, "GET /token HTTP/1.1\r\nHost: x\r\nAuthorization: Basic Y2k6d3Jvbmc=\r\n\r\n")
		must(t, err)
		go func() {
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusTooManyRequests {
				refused.Add(1)
			} else {
				compared.Add(1)
			}
		}()
	}
	wait(t, "the logins of the first address", func() bool {
		return refused.Load() == 200-waitingPerAddress && p.hashing.waitingFrom("localhost") == waitingPerAddress
	})
	if compared.Load() != 0 {
		t.Fatalf("%d passwords were compared", compared.Load())
	}
	answered := make(chan int, 1)
	go func() {
		req, _ := http.NewRequest(http.MethodGet, server.URL+tokenPath, nil)
		req.SetBasicAuth(pusher, password)
		req.Header.Set("Test-From", "10.0.0.2:1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	wait(t, "the login", func() bool { return p.hashing.waitingFrom("10.0.0.2") == 1 })
	p.hashing.mu.Lock()
	order := slices.Clone(p.hashing.order)
	p.hashing.mu.Unlock()
	if !slices.Equal(order, []string{"localhost", "10.0.0.2"}) {
		t.Errorf("the order is %v", order)
	}
	p.hashing.release()
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the login: %d", status)
	}
}

// TestIdleConnectionsDoNotBlockALogin does the same through the registry, for a login from the same
// address. The other connections are idle, send half a request, announce a body without sending it,
// or wait in the queue. They are more than one address may have.
func TestIdleConnectionsDoNotBlockALogin(t *testing.T) {
	users := filepath.Join(t.TempDir(), "htpasswd")
	must(t, Users{File: users}.Set(pusher, password)) // with the cost of a real password
	r := startWith(t, Options{Pushed: t.TempDir(), Users: users})
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(ca)
	for i := range 200 {
		conn, err := tls.Dial("tcp", r.addr, config)
		must(t, err)
		defer conn.Close()
		request := []string{"", "GET /token HTTP/1.1\r\nHost: x\r\n", "GET /token HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nAuthorization: Basic Y2k6d3Jvbmc=\r\n\r\n",
			"GET /token HTTP/1.1\r\nHost: x\r\nAuthorization: Basic Y2k6d3Jvbmc=\r\n\r\n"}[i%4]
		_, err = fmt.Fprint(conn, request)
		must(t, err)
	}
	for range connsPerAddress {
		conn, err := net.Dial("tcp", r.addr)
		must(t, err)
		defer conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url(tokenPath), nil)
	must(t, err)
	req.SetBasicAuth(pusher, password)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	started := time.Now()
	wait(t, "the login", func() bool {
		resp, err := client.Do(req)
		if err != nil { // until the idle connections are closed
			time.Sleep(100 * time.Millisecond)
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if took := time.Since(started); took > 2*headerTimeout {
		t.Errorf("the login took %s", took)
	}
	wait(t, "the log", func() bool {
		return strings.Contains(r.log.String(), `"msg":"connections refused: too many are open","from":"localhost"`)
	})
}
