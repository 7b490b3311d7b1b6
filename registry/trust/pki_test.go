package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestCertificates(t *testing.T) {
	p := PKI{Dir: t.TempDir() + "/pki"}
	names := []string{"10.1.2.3", "cp1.bank.example"}
	now := time.Now()
	wantValid := func(names []string, at time.Time, want bool) {
		t.Helper()
		if got, err := p.Valid(names, at); err != nil || got != want {
			t.Errorf("Valid(%v, %s) = %v, %v, want %v", names, at.Format(time.DateOnly), got, err, want)
		}
	}
	wantValid(names, now, false)
	must(t, p.Ensure(names, now))
	wantValid(names, now, true)
	wantValid(append(names, "10.9.9.9"), now, false)
	wantValid(names, now.AddDate(2, 0, -20), false)
	for file, mode := range map[string]os.FileMode{p.CAKeyFile(): 0o600, p.KeyFile(): 0o640, p.CAFile(): 0o644, p.CertificateFile(): 0o644} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want mode %o", file, info, err, mode)
		}
	}

	before, err := CAHashOf(p.CAFile())
	must(t, err)
	must(t, p.Ensure(append(names, "10.9.9.9"), now))
	wantValid(append(names, "10.9.9.9"), now, true)
	if after, _ := CAHashOf(p.CAFile()); after != before {
		t.Error("a new server certificate changed the CA")
	}

	must(t, os.Remove(p.CertificateFile())) // a crash after the key and before the certificate
	wantValid(names, now, false)
	must(t, p.Ensure(names, now))
	wantValid(names, now, true)

	must(t, os.Remove(p.CAKeyFile()))
	if err := p.Ensure(names, now); err == nil {
		t.Error("a certificate was issued without the CA's key")
	}
	must(t, p.Remove())
	if _, err := os.Stat(p.Dir); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}

func TestFetchCA(t *testing.T) {
	addr, pki := serverAt(t, 0)
	want, err := os.ReadFile(pki.CAFile())
	must(t, err)
	hash, err := CAHashOf(pki.CAFile())
	must(t, err)
	got, err := FetchCA(context.Background(), addr, hash)
	if err != nil || string(got) != string(want) {
		t.Fatalf("FetchCA: %v", err)
	}
	_, err = FetchCA(context.Background(), addr, "sha256:"+strings.Repeat("0", 64))
	if err == nil || !strings.Contains(err.Error(), "presents "+hash) {
		t.Errorf("wrong hash: %v", err)
	}
	if _, err := FetchCA(context.Background(), "127.0.0.1:1", hash); err == nil {
		t.Error("FetchCA succeeded without a server")
	}
}

// TestFetchCAFromAnImpostor: an impostor can copy the real CA certificate, but cannot sign with it.
func TestFetchCAFromAnImpostor(t *testing.T) {
	victim, impostor := PKI{Dir: t.TempDir()}, PKI{Dir: t.TempDir()}
	must(t, victim.Ensure(nil, time.Now()))
	must(t, impostor.Ensure(nil, time.Now()))
	pair, err := tls.LoadX509KeyPair(impostor.CertificateFile(), impostor.KeyFile())
	must(t, err)
	ca, err := readCertificate(victim.CAFile())
	must(t, err)
	pair.Certificate = [][]byte{pair.Certificate[0], ca.Raw}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	must(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	_, err = FetchCA(context.Background(), listener.Addr().String(), CAHash(ca))
	if err == nil || !strings.Contains(err.Error(), "verify registry") {
		t.Errorf("got %v", err)
	}
}

// TestRenew: Renew keeps a certificate until 30 days before it expires. Then, and after it has
// expired, Renew issues a new one for the same names.
func TestRenew(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		made time.Time
		want bool
	}{
		"fresh":               {now, false},
		"expires in 40 days":  {now.AddDate(-serverYears, 0, 40), false},
		"expires in 20 days":  {now.AddDate(-serverYears, 0, 20), true},
		"expired 20 days ago": {now.AddDate(-serverYears, 0, -20), true},
	} {
		p := PKI{Dir: t.TempDir()}
		must(t, p.Ensure([]string{"cp1.bank.example", "10.1.2.3"}, tc.made))
		renewed, ends, err := p.Renew(now)
		if err != nil || renewed != tc.want || tc.want && ends.Before(now.AddDate(serverYears, 0, -1)) {
			t.Errorf("%s: renewed %t, expires %s, %v", name, renewed, ends, err)
		}
		if good, err := p.Valid([]string{"cp1.bank.example", "10.1.2.3"}, now); !good || err != nil {
			t.Errorf("%s: valid %t, %v", name, good, err)
		}
	}
	p, other := PKI{Dir: t.TempDir()}, PKI{Dir: t.TempDir()}
	must(t, errors.Join(p.Ensure(nil, now), other.Ensure(nil, now), os.Rename(other.KeyFile(), p.KeyFile())))
	if renewed, _, err := p.Renew(now); !renewed || err != nil {
		t.Errorf("with the key of another server: %t, %v", renewed, err)
	}
	if _, _, err := (PKI{Dir: t.TempDir()}).Renew(now); err == nil {
		t.Error("without a certificate: no error")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
