package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// serverAt starts a registry host with a clock that is ahead by the given time. Its certificates and
// its answers use that clock.
func serverAt(t *testing.T, ahead time.Duration) (addr string, pki PKI) {
	t.Helper()
	return serverOn(t, "127.0.0.1", ahead)
}

// serverOn starts a registry host with a certificate for 127.0.0.1 on any address of this machine.
func serverOn(t *testing.T, address string, ahead time.Duration) (addr string, pki PKI) {
	t.Helper()
	pki = PKI{Dir: t.TempDir()}
	must(t, pki.Ensure([]string{"127.0.0.1"}, time.Now().Add(ahead)))
	pair, err := tls.LoadX509KeyPair(pki.CertificateFile(), pki.KeyFile())
	must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	must(t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp4", net.JoinHostPort(address, "0"))
	must(t, err)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), pki
}

func TestAhead(t *testing.T) {
	for _, ahead := range []time.Duration{0, -3 * time.Hour, 5 * time.Hour, 80 * time.Hour, -3 * 365 * 24 * time.Hour} {
		addr, pki := serverAt(t, ahead)
		ca, err := os.ReadFile(pki.CAFile())
		must(t, err)
		got, err := Ahead(t.Context(), addr, ca)
		if err != nil || (got-ahead).Abs() > 2*time.Second {
			t.Errorf("a clock ahead by %s: got %s, %v", ahead, got, err)
		}
		hash, err := CAHashOf(pki.CAFile())
		must(t, err)
		_, err = FetchCA(context.Background(), addr, hash)
		wrong, is := errors.AsType[*ClockError](err)
		if want := ahead.Abs() > clockSkew; is != want || want && (wrong.Ahead-ahead).Abs() > 2*time.Second {
			t.Errorf("join with a clock that is %s behind: %v, want a clock error: %v", ahead, err, want)
		}
	}
}

// TestAheadOfAStranger: only a registry with a certificate of the CA for its name may report the time.
func TestAheadOfAStranger(t *testing.T) {
	_, pki := serverAt(t, 0)
	ca, err := os.ReadFile(pki.CAFile())
	must(t, err)
	stranger, _ := serverAt(t, time.Hour)
	if ahead, err := Ahead(t.Context(), stranger, ca); err == nil {
		t.Errorf("a registry with another CA was trusted: %s", ahead)
	}
	other, pki := serverOn(t, "127.0.0.2", 80*time.Hour)
	ca, err = os.ReadFile(pki.CAFile())
	must(t, err)
	if ahead, err := Ahead(t.Context(), other, ca); err == nil {
		t.Errorf("a certificate for another name was trusted: %s", ahead)
	}
}

// TestPKIAfterTheClockWentBack: a certificate of the future is not valid. The error about a CA of
// the future names the clock.
func TestPKIAfterTheClockWentBack(t *testing.T) {
	pki := PKI{Dir: t.TempDir()}
	names, future := []string{"10.1.2.3"}, time.Now().Add(72*time.Hour)
	must(t, pki.Ensure(names, future))
	if valid, err := pki.Valid(names, time.Now()); err != nil || valid {
		t.Errorf("certificates of the future are valid: %v (%v)", valid, err)
	}
	err := pki.Ensure(names, time.Now())
	if err == nil {
		t.Fatal("a CA of the future issued a certificate")
	}
	for _, words := range []string{pki.CAFile(), "valid only from", "clock"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not contain %q", err, words)
		}
	}
	if valid, err := pki.Valid(names, future); err != nil || !valid {
		t.Errorf("with the clock of their creation, certificates are valid: %v (%v)", valid, err)
	}
}
