package kubeadm

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"airgap.dev/airgap/internal/host"
)

// Authority is one of kubeadm's that lives on control-plane hosts alone: who is
// signed by it, and who trusts it, are programs there.
type Authority struct {
	Name   string   // "etcd"
	file   string   // its certificate; during a replacement those of both
	key    string   // of the first certificate in file
	leaves []string // files with certificates that it has signed
	trusts []Part   // programs that read file when they are started, in the order in which they restart
}

// Authorities are those that can be replaced.
func Authorities() []Authority {
	return []Authority{
		{
			Name: "etcd", file: pkiDir + "/etcd/ca.crt", key: pkiDir + "/etcd/ca.key",
			leaves: []string{pkiDir + "/etcd/server.crt", pkiDir + "/etcd/peer.crt", pkiDir + "/etcd/healthcheck-client.crt", pkiDir + "/apiserver-etcd-client.crt"},
			trusts: []Part{Etcd, APIServer},
		},
	}
}

// nextDir has the authorities that replace others, while they do.
const nextDir = pkiDir + "/next"

func (a Authority) nextFile() string { return nextDir + "/" + a.Name + ".crt" }
func (a Authority) nextKey() string  { return nextDir + "/" + a.Name + ".key" }

// successor reads the authority that is to replace this one, and makes it unless
// it is there. The key is written first: a key alone has signed nothing.
func (m Machine) successor(a Authority) (certificate, key []byte, err error) {
	if m.recorded(a.nextFile()) {
		certificate, err = os.ReadFile(m.path(a.nextFile()))
		if err == nil {
			key, err = os.ReadFile(m.path(a.nextKey()))
		}
		return certificate, key, err
	}
	text, err := os.ReadFile(m.path(a.file))
	if err != nil {
		return nil, nil, err
	}
	old, err := firstCertificate(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", a.file, err)
	}
	if certificate, key, err = newAuthority(old); err != nil {
		return nil, nil, fmt.Errorf("make a new authority of %s: %w", a.Name, err)
	}
	if err := os.MkdirAll(m.path(nextDir), 0o700); err != nil {
		return nil, nil, err
	}
	if err := host.WriteFile(m.path(a.nextKey()), key, 0o600); err != nil {
		return nil, nil, err
	}
	return certificate, key, host.WriteFile(m.path(a.nextFile()), certificate, 0o600)
}

// newAuthority has the name of the old one and a key of its kind, as PEM, and is
// good for ten years.
func newAuthority(old *x509.Certificate) (certificate, key []byte, err error) {
	private, err := keyLike(old.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	config := cert.Config{CommonName: old.Subject.CommonName, Organization: old.Subject.Organization, NotBefore: time.Now().Add(-5 * time.Minute)}
	made, err := cert.NewSelfSignedCACert(config, private)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Raw}), key, err
}

func keyLike(public any) (crypto.Signer, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return rsa.GenerateKey(rand.Reader, k.N.BitLen())
	case *ecdsa.PublicKey:
		return ecdsa.GenerateKey(k.Curve, rand.Reader)
	}
	return nil, fmt.Errorf("its key is of the kind %T", public)
}

// trust has the programs trust what text says: they are restarted unless they
// were started with it already.
func (r Replacement) trust(ctx context.Context, text []byte) error {
	m := r.Machine
	if err := m.writeAuthority(r.Authority, text); err != nil {
		return err
	}
	info, err := os.Stat(m.path(r.Authority.file))
	if err != nil {
		return err
	}
	node, err := m.nodeName()
	if err != nil {
		return err
	}
	for _, part := range r.Authority.trusts {
		_, err := m.restartOlder(ctx, part, node, info.ModTime(), r.Say)
		if err == nil {
			err = await(ctx, comeBack, func(ctx context.Context) error { return m.trusting(ctx, part, node, info.ModTime()) })
		}
		if err != nil {
			return stuck(string(part)+" trusts the authorities in "+r.Authority.file, err)
		}
	}
	return nil
}

// trusting is nil when a program was started after the time and answers.
func (m Machine) trusting(ctx context.Context, part Part, node string, after time.Time) error {
	if part == Etcd {
		if err := m.etcdServesItsFiles(ctx); err != nil {
			return err
		}
	}
	return m.partReady(ctx, part, node, after)
}

func (m Machine) writeAuthority(a Authority, text []byte) error {
	now, err := os.ReadFile(m.path(a.file))
	if err != nil || bytes.Equal(now, text) {
		return err
	}
	return host.WriteFile(m.path(a.file), text, 0o600)
}

// unsigned are the files whose certificate is not signed by the authority.
func (m Machine) unsigned(files []string, by []byte) ([]string, error) {
	parent, err := firstCertificate(by)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, name := range files {
		text, err := os.ReadFile(m.path(name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		leaf, err := firstCertificate(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if leaf.CheckSignatureFrom(parent) != nil {
			others = append(others, name)
		}
	}
	return others, nil
}

// replacing are the authorities that are being replaced on this host.
func (m Machine) replacing() []string {
	var names []string
	for _, a := range Authorities() {
		if m.recorded(a.nextFile()) {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return names
}

// refuseAmidReplacement is for what would carry an authority away that goes.
func (m Machine) refuseAmidReplacement(what string) error {
	if names := m.replacing(); len(names) > 0 {
		return &Failure{What: what, Err: errors.New("the authority of " + strings.Join(names, " and of ") + " is being replaced"), Next: "airgap certs rotate-ca --only " + names[0] + " ends that first"}
	}
	return nil
}
