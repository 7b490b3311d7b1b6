package pki

import (
	"context"
	"errors"
	"slices"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestRenewalTakesItsTurn checks that a renewal takes its turn before it writes a file, only for
// certificates of the control plane, and again when it resumes.
func TestRenewalTakesItsTurn(t *testing.T) {
	c := newControlPlane(t)
	var asked []bool // the values of resumed
	held, refused := 0, errors.New("another host's turn")
	renew := func(ctx context.Context, due ...string) error {
		r := Renewal{Machine: c.m, Say: t.Logf, Turn: func(_ context.Context, resumed bool) (func(), error) {
			asked = append(asked, resumed)
			if c.f.Ran("kubeadm certs") > 0 && !resumed {
				t.Error("kubeadm ran before the renewal had its turn")
			}
			held++
			return func() { held-- }, refused
		}}
		_, err := r.Run(ctx, func() ([]string, error) { return due, nil })
		return err
	}
	if err := renew(t.Context()); err != nil || len(asked) > 0 {
		t.Fatalf("nothing is due: %v, asked %v", err, asked)
	}
	if err := renew(t.Context(), apiServerCertificate); !errors.Is(err, refused) || c.f.Has(RenewalFile) || c.f.Ran("kubeadm certs") > 0 {
		t.Fatalf("not its turn: %v; a renewal has started: %v", err, c.f.Has(RenewalFile))
	}
	refused, held = nil, 0
	ctx, kill := context.WithCancel(t.Context())
	renews := c.f.Answers["kubeadm certs renew all"]
	c.f.Answers["kubeadm certs renew all"] = func(host.Cmd) ([]byte, error) { kill(); return nil, context.Canceled }
	if err := renew(ctx, apiServerCertificate); !errors.Is(err, context.Canceled) || held != 0 {
		t.Fatalf("interrupted: %v, the turn is held %d times", err, held)
	}
	c.f.Answers["kubeadm certs renew all"] = renews
	if err := renew(t.Context()); err != nil || held != 0 || !slices.Equal(asked, []bool{false, false, true}) {
		t.Errorf("resumed: %v, the turn is held %d times, asked %v", err, held, asked)
	}
}
