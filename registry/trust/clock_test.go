package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// hubAt is a registry host whose clock is ahead by so much: its certificates
// were made by it, and its answers carry it.
func hubAt(t *testing.T, ahead time.Duration) (addr string, pki PKI) {
	t.Helper()
	pki = PKI{Dir: t.TempDir()}
	must(t, pki.Ensure([]string{"127.0.0.1"}, time.Now().Add(ahead)))
	pair, err := tls.LoadX509KeyPair(pki.CertificateFile(), pki.KeyFile())
	must(t, err)
	hub := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
	}))
	hub.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	hub.StartTLS()
	t.Cleanup(hub.Close)
	return hub.Listener.Addr().String(), pki
}

func TestAhead(t *testing.T) {
	for _, ahead := range []time.Duration{0, -3 * time.Hour, 5 * time.Hour, 80 * time.Hour, -3 * 365 * 24 * time.Hour} {
		addr, pki := hubAt(t, ahead)
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

// The time is taken from the authority's own registry only.
func TestAheadOfAStranger(t *testing.T) {
	_, pki := hubAt(t, 0)
	ca, err := os.ReadFile(pki.CAFile())
	must(t, err)
	stranger, _ := hubAt(t, time.Hour)
	if ahead, err := Ahead(t.Context(), stranger, ca); err == nil {
		t.Errorf("another authority's registry was believed: %s", ahead)
	}
}

// A certificate of tomorrow is none: it is reissued, or the authority's own
// error says what the clock has to do with it.
func TestPKIAfterTheClockWentBack(t *testing.T) {
	pki := PKI{Dir: t.TempDir()}
	names, future := []string{"10.1.2.3"}, time.Now().Add(72*time.Hour)
	must(t, pki.Ensure(names, future))
	if holds, err := pki.Holds(names, time.Now()); err != nil || holds {
		t.Errorf("certificates of in three days hold: %v, %v", holds, err)
	}
	err := pki.Ensure(names, time.Now())
	if err == nil {
		t.Fatal("an authority of in two days issued a certificate")
	}
	for _, words := range []string{pki.CAFile(), "valid only from", "clock"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
	if holds, err := pki.Holds(names, future); err != nil || !holds {
		t.Errorf("by the clock that made them: %v, %v", holds, err)
	}
}
