package gates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/scenario"
)

// secondPerson makes a key, and returns the files of its private and its public half.
func secondPerson(dir string) (private, public string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	half, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", "", err
	}
	private, public = filepath.Join(dir, "second.key"), filepath.Join(dir, "second.pub")
	return private, public, errors.Join(
		os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600),
		os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: half}), 0o644))
}

// packedWithTwoSignatures: the signature of the second person passes the gate with the bundle.
func packedWithTwoSignatures(ctx context.Context, s *stage) (scenario.Result, error) {
	dir, err := s.copied()
	if err != nil {
		return scenario.Result{}, err
	}
	private, public, err := secondPerson(s.dir)
	if err != nil {
		return scenario.Result{}, err
	}
	packed, to := filepath.Join(s.dir, "pieces"), filepath.Join(s.dir, "unpacked")
	for _, args := range [][]string{
		{"sign", dir, "--sign-key", private, "--require-key", s.key()},
		{"pack", "--size", "50MiB", "--ext", ".zip", dir, packed},
		{"unpack", packed, to},
	} {
		if r, err := s.Airgap(ctx, args...); err != nil || r.Code != 0 {
			return r, err
		}
	}
	return s.Airgap(ctx, "inspect", "--full", to, "--require-key", s.key(), "--require-key", public, "--require-keys", "2")
}
