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

// wait polls for what another goroutine does; the limit is far above what it takes.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%s: not after a minute", what)
		}
	}
}

func (t *turns) waits(from string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting[from])
}

func TestTurnsAreFair(t *testing.T) {
	q := newTurns()
	must(t, q.take(t.Context(), "busy"))
	served := make(chan string, 100)
	ask := func(ctx context.Context, from string) {
		before := q.waits(from)
		go func() {
			if q.take(ctx, from) == nil {
				served <- from
				q.give()
			}
		}()
		wait(t, from, func() bool { return q.waits(from) > before })
	}
	for range 3 {
		ask(t.Context(), "busy")
	}
	gone, cancel := context.WithCancel(t.Context())
	ask(gone, "gone")
	ask(t.Context(), "a")
	ask(t.Context(), "b")
	cancel()
	wait(t, "the one that left", func() bool { return q.waits("gone") == 0 })
	q.give()
	var got []string
	for range 5 {
		got = append(got, <-served)
	}
	if want := []string{"busy", "a", "b", "busy", "busy"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	wait(t, "the last one's turn", func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.free == 1 && q.count == 0 && len(q.order) == 0 })
}

func TestTurnsAreBounded(t *testing.T) {
	q := newTurns()
	must(t, q.take(t.Context(), "x"))
	for range waitingPerAddress {
		if _, err := q.queue("x"); err != nil {
			t.Fatal(err)
		}
	}
	oldest := q.waiting["x"][0]
	if _, err := q.queue("x"); err != nil {
		t.Errorf("one more of the same address: %v", err)
	}
	if err := <-oldest; !errors.Is(err, errBusy) || q.waits("x") != waitingPerAddress {
		t.Errorf("the oldest of that address: %v, and %d wait", err, q.waits("x"))
	}
	for i := waitingPerAddress; i < waitingInAll; i++ {
		if _, err := q.queue(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.queue("y"); !errors.Is(err, errBusy) {
		t.Errorf("one more than all: %v", err)
	}
}

// A turn that comes to a caller which leaves at the same moment is not lost.
func TestTurnOfOneThatLeft(t *testing.T) {
	q := newTurns()
	must(t, q.take(t.Context(), "x"))
	turn, err := q.queue("y")
	must(t, err)
	q.give()
	q.leave("y", turn)
	must(t, q.take(t.Context(), "z"))
}

// The newest login of an address is judged first, and one that was refused for it gives
// no turn away.
func TestNewestLoginOfAnAddressIsFirst(t *testing.T) {
	q := newTurns()
	must(t, q.take(t.Context(), "x"))
	var all []chan error
	for range waitingPerAddress + 1 {
		turn, err := q.queue("x")
		must(t, err)
		all = append(all, turn)
	}
	q.leave("x", all[0])
	if q.free != 0 {
		t.Error("the refused login gave a turn away")
	}
	q.give()
	select {
	case err := <-all[waitingPerAddress]:
		must(t, err)
	default:
		t.Error("it is not the newest one's turn")
	}
}

// 200 logins of one address, whose clients say nothing more, wait behind those of another one.
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
	must(t, p.hashing.take(t.Context(), "test")) // no password is compared until all of them wait
	var refused, judged atomic.Int64
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
				judged.Add(1)
			}
		}()
	}
	wait(t, "the others", func() bool {
		return refused.Load() == 200-waitingPerAddress && p.hashing.waits("localhost") == waitingPerAddress
	})
	if judged.Load() != 0 {
		t.Fatalf("%d were judged", judged.Load())
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
	wait(t, "the login", func() bool { return p.hashing.waits("10.0.0.2") == 1 })
	p.hashing.mu.Lock()
	order := slices.Clone(p.hashing.order)
	p.hashing.mu.Unlock()
	if !slices.Equal(order, []string{"localhost", "10.0.0.2"}) {
		t.Errorf("the turns are %v", order)
	}
	p.hashing.give()
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the login: %d", status)
	}
}

// The same through the registry, for a login from that very address: connections that are
// idle, say half a request, announce a body that does not come or wait for their turn, and
// more of them than one address may have.
func TestIdleConnectionsDoNotBlockALogin(t *testing.T) {
	users := filepath.Join(t.TempDir(), "htpasswd")
	must(t, Users{File: users}.Set(pusher, password)) // with the cost that the registry has
	r := startWith(t, Options{Pushed: t.TempDir(), Users: users})
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(ca)
	for i := range 200 {
		conn, err := tls.Dial("tcp", r.addr, config)
		must(t, err)
		defer conn.Close()
		say := []string{"", "GET /token HTTP/1.1\r\nHost: x\r\n", "GET /token HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nAuthorization: Basic Y2k6d3Jvbmc=\r\n\r\n",
			"GET /token HTTP/1.1\r\nHost: x\r\nAuthorization: Basic Y2k6d3Jvbmc=\r\n\r\n"}[i%4]
		_, err = fmt.Fprint(conn, say)
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
	began := time.Now()
	wait(t, "the login", func() bool {
		resp, err := client.Do(req)
		if err != nil { // until the connections that say nothing are closed
			time.Sleep(100 * time.Millisecond)
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if took := time.Since(began); took > 2*headerTimeout {
		t.Errorf("the login took %s", took)
	}
	wait(t, "the journal", func() bool {
		return strings.Contains(r.log.String(), `"msg":"connections refused: too many are open","from":"localhost"`)
	})
}
