package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"airgap.dev/airgap/registry/trust"
)

// TestAuthorityStep gives a second host the CA of the first. Both then issue certificates that the
// same clients trust.
func TestAuthorityStep(t *testing.T) {
	first := trust.PKI{Dir: t.TempDir()}
	must(t, first.Ensure([]string{"10.1.2.3"}, time.Now()))
	ca, err := os.ReadFile(first.CAFile())
	must(t, err)
	key, err := os.ReadFile(first.CAKeyFile())
	must(t, err)

	second := trust.PKI{Dir: filepath.Join(t.TempDir(), "pki")}
	fetches := 0
	s := AuthorityStep(second, ca, func(context.Context) ([]byte, error) { fetches++; return key, nil })
	for _, want := range []bool{false, true} {
		if done, err := s.Done(t.Context()); err != nil || done != want {
			t.Fatalf("Done is %v (%v), want %v", done, err, want)
		}
		if !want {
			must(t, s.Run(t.Context()))
		}
	}
	if info, err := os.Stat(second.CAKeyFile()); err != nil || info.Mode().Perm() != 0o600 || fetches != 1 {
		t.Errorf("key: %v, %v, fetched %d times", info, err, fetches)
	}
	certificates := CertificatesStep(second, []string{"10.1.2.4"})
	must(t, certificates.Run(t.Context()))
	if kept, err := os.ReadFile(second.CAFile()); err != nil || string(kept) != string(ca) {
		t.Errorf("the CA was replaced: %v", err)
	}

	must(t, os.Remove(second.CAKeyFile()))
	if done, err := s.Done(t.Context()); err != nil || done {
		t.Errorf("without its key: %v, %v", done, err)
	}
	must(t, s.Undo(t.Context()))
	if _, err := os.Stat(second.Dir); err == nil {
		t.Error("the directory still exists after Undo")
	}
}

func TestAuthorityStepRefuses(t *testing.T) {
	one, other := trust.PKI{Dir: t.TempDir()}, trust.PKI{Dir: t.TempDir()}
	must(t, one.Ensure(nil, time.Now()))
	must(t, other.Ensure(nil, time.Now()))
	ca, err := os.ReadFile(one.CAFile())
	must(t, err)
	key, err := os.ReadFile(other.CAKeyFile())
	must(t, err)
	used := errors.New("the join token was used")
	for name, answer := range map[string]func(context.Context) ([]byte, error){
		"key of another CA": func(context.Context) ([]byte, error) { return key, nil },
		"no key":            func(context.Context) ([]byte, error) { return nil, nil },
		"no token":          func(context.Context) ([]byte, error) { return nil, used },
	} {
		to := trust.PKI{Dir: filepath.Join(t.TempDir(), "pki")}
		if err := AuthorityStep(to, ca, answer).Run(t.Context()); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if _, err := os.Stat(to.Dir); err == nil {
			t.Errorf("%s left files", name)
		}
	}
}
