package registry

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/trust"
)

// StoreStep copies bundles to this host's store: the stick's bundle with its bases, or the bundles of
// another registry host. A base comes before its delta. The step has no Undo: a bundle is data, and
// another copy would take an hour.
func StoreStep(s Store, v *bundle.View, trusted []*ecdsa.PublicKey, progress ui.Progress) step.Step {
	return step.Step{
		Name:  "store",
		Title: "Copy the bundle to this host",
		Done: func(context.Context) (bool, error) {
			left, err := s.left(v, trusted)
			if err != nil || len(left) > 0 {
				return false, err
			}
			unsigned, err := s.unsigned(v, trusted)
			return len(unsigned) == 0, err
		},
		Plan: func(context.Context) ([]string, error) { return s.plan(v, trusted) },
		Run: func(ctx context.Context) error {
			left, err := s.left(v, trusted)
			if err != nil {
				return err
			}
			for _, b := range left {
				if _, err := s.Import(ctx, b, progress, trusted...); err != nil {
					return err
				}
			}
			unsigned, err := s.unsigned(v, trusted)
			for _, b := range unsigned {
				err = errors.Join(err, s.addSignatures(b, trusted))
			}
			return err
		},
	}
}

// unsigned returns the bundles of the view that the store has with fewer signatures.
func (s Store) unsigned(v *bundle.View, trusted []*ecdsa.PublicKey) ([]*bundle.Bundle, error) {
	var all []*bundle.Bundle
	for _, b := range v.Bundles() {
		lacks, err := s.LacksSignatures(b, trusted...)
		if err != nil {
			return nil, err
		}
		if lacks {
			all = append(all, b)
		}
	}
	return all, nil
}

// Left returns the size in bytes of the view's bundles that the store does not have.
func (s Store) Left(v *bundle.View, trusted ...*ecdsa.PublicKey) (int64, error) {
	left, err := s.left(v, trusted)
	var size int64
	for _, b := range left {
		size += b.Index().Summary().Size
	}
	return size, err
}

// left returns the bundles of the view that the store does not have, oldest first.
func (s Store) left(v *bundle.View, trusted []*ecdsa.PublicKey) ([]*bundle.Bundle, error) {
	var left []*bundle.Bundle
	for _, b := range slices.Backward(v.Bundles()) {
		current, err := s.Has(b, trusted...)
		if err != nil {
			return nil, err
		}
		if !current {
			left = append(left, b)
		}
	}
	return left, nil
}

// CertificatesStep makes the CA, or uses the CA that is already in the directory (ca.crt and ca.key),
// and issues this host's certificate for names (DNS names and IP addresses). Undo removes all four
// files.
func CertificatesStep(p trust.PKI, names []string) step.Step {
	return step.Step{
		Name:  "certificates",
		Title: "Create the registry's certificates",
		Done:  func(context.Context) (bool, error) { return p.Valid(names, time.Now()) },
		Plan:  func(context.Context) ([]string, error) { return planCertificates(p, names), nil },
		Run:   func(context.Context) error { return p.Ensure(names, time.Now()) },
		Undo:  func(context.Context) error { return p.Remove() },
	}
}

// AuthorityStep installs the CA of a running registry, with the certificate ca (PEM). The step gets
// the key only when it needs it. Undo removes the same files as Undo of CertificatesStep.
func AuthorityStep(p trust.PKI, ca []byte, key func(context.Context) ([]byte, error)) step.Step {
	return step.Step{
		Name:  "authority",
		Title: "Install the registry's CA",
		Done:  func(context.Context) (bool, error) { return p.HasCA(ca) },
		Plan: func(context.Context) ([]string, error) {
			return []string{"certificate " + p.CAFile(), "key " + p.CAKeyFile()}, nil
		},
		Run: func(ctx context.Context) error {
			secret, err := key(ctx)
			if err != nil {
				return err
			}
			return p.Install(ca, secret)
		},
		Undo: func(context.Context) error { return p.Remove() },
	}
}

// Service is the registry's systemd unit on a host.
type Service struct {
	Host        host.Host
	OptionsFile string // /etc/sysconfig/airgap-registry
	UsersFile   string // of Users; Undo removes it
	Pushed      string // directory of pushed images; Undo removes it if it is empty
	Port        int
	Peers       []string // ADDRESS:PORT of the other registries; this registry copies their pushes
	Addr        string   // HOST:PORT for the health check: one of the certificate's names, and the port
	CAFile      string
	Bundles     []*bundle.Bundle // that the registry must serve after the start; it may serve others, too
	Wait        time.Duration    // time limit for the first answer; 0 is 30 s
}

// ServiceStep starts the registry, and waits until it answers over TLS and serves the bundles. Undo
// stops and disables it.
func ServiceStep(s Service) step.Step {
	return step.Step{
		Name:  "registry",
		Title: "Start the registry", Settle: 10 * time.Second,
		Done: s.done,
		Plan: s.plan,
		Run:  s.start,
		Undo: s.stop,
	}
}

func (s Service) options() []byte {
	words := []string{"--port", strconv.Itoa(s.Port)}
	for _, p := range s.Peers {
		words = append(words, "--peer", p)
	}
	return fmt.Appendf(nil, "OPTIONS=%q\n", strings.Join(words, " "))
}

func (s Service) done(ctx context.Context) (bool, error) {
	if same, err := host.FileMatches(s.OptionsFile, s.options(), 0o644); err != nil || !same {
		return false, err
	}
	if _, err := s.systemctl(ctx, "is-enabled", "--quiet", UnitName); err != nil {
		return false, ctx.Err()
	}
	return s.answers(ctx) == nil, ctx.Err()
}

// start restarts the unit, so that a running registry opens the new bundle.
func (s Service) start(ctx context.Context) error {
	if err := host.WriteFile(s.OptionsFile, s.options(), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", UnitName}, {"restart", UnitName}} {
		if _, err := s.systemctl(ctx, args...); err != nil {
			return err
		}
	}
	return s.await(ctx)
}

func (s Service) stop(ctx context.Context) error {
	if _, err := s.systemctl(ctx, "disable", "--now", UnitName); err != nil {
		return err
	}
	if err := errors.Join(host.Remove(s.OptionsFile), host.Remove(s.UsersFile)); err != nil {
		return fmt.Errorf("remove registry's files: %w", err)
	}
	_ = syscall.Rmdir(s.Pushed) // its content, and the target of a link, are data
	return nil
}

func (s Service) systemctl(ctx context.Context, args ...string) ([]byte, error) {
	return s.Host.Run(ctx, host.Cmd{Name: "systemctl", Args: args})
}

func (s Service) await(ctx context.Context) error {
	wait := s.Wait
	if wait == 0 {
		wait = 30 * time.Second
	}
	deadline := time.Now().Add(wait)
	for {
		err := s.answers(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("wait %s for the registry: %w (see journalctl -u %s)", wait, err, UnitName)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// answers returns nil if the registry serves all required bundles.
func (s Service) answers(ctx context.Context) error {
	ca, err := os.ReadFile(s.CAFile)
	if err != nil {
		return err
	}
	client, err := NewClient(s.Addr, ca)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	health, err := client.Health(ctx)
	if err != nil {
		return err
	}
	for _, b := range s.Bundles {
		if !slices.ContainsFunc(health.Bundles, servedBundle(b).equal) {
			return fmt.Errorf("the registry does not serve bundle %s of %s", b.Index().Name, b.Index().Created.Format(time.DateTime))
		}
	}
	return nil
}

func (b ServedBundle) equal(o ServedBundle) bool {
	return b.Name == o.Name && b.Created.Equal(o.Created)
}
