package lab

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bundleKey is the file with the key of a bundle's signature.
const bundleKey = "airgap.pub"

// config returns the airgap.yaml of the hosts.
func (r *Racks) config() string {
	var b strings.Builder
	b.WriteString("apiVersion: airgap.dev/v1alpha1\nkind: Cluster\nname: racks\nkubernetes:\n  version: \"1.36.3\"\n")
	if r.Balanced {
		fmt.Fprintf(&b, "  controlPlaneEndpoint: %s:6443\n", r.VIP())
	}
	b.WriteString("nodes:\n")
	for i := 1; i <= r.Hosts; i++ {
		role := "worker"
		if i <= r.ControlPlanes {
			role = "control-plane"
		}
		fmt.Fprintf(&b, "  - {name: %s, address: %s, roles: [%s]}\n", Node(i), r.Addr(i), role)
	}
	b.WriteString("packages:\n  os: el9\n  repositories: [{name: base, baseURL: \"https://rpms.example/\", gpgKeys: [\"https://rpms.example/key.asc\"]}]\n")
	if r.Balanced {
		b.WriteString("preflight:\n  checks:\n    lb-idle: {watch: 8s}\n")
	}
	return b.String() + r.Config
}

// writeBundle writes a signed bundle that has airgap.yaml and no images and packages: a
// measurement reads nothing else of it.
func (r *Racks) writeBundle() error {
	r.bundled = filepath.Join(r.dir, "bundle")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	var part bytes.Buffer
	if err := tar.NewWriter(&part).Close(); err != nil {
		return err
	}
	sum := sha256.Sum256(part.Bytes())
	index, err := json.Marshal(map[string]any{
		"formatVersion": 1, "name": "racks", "created": time.Now().UTC(), "config": r.config(), "lock": map[string]any{"platform": "linux/amd64", "os": "el9"},
		"parts": []any{map[string]any{"name": "bundle.tar.000", "size": part.Len(), "sha256": hex.EncodeToString(sum[:]), "chunks": sum[:]}},
	})
	if err != nil {
		return err
	}
	files := map[string][]byte{"bundle.json": index, "bundle.tar.000": part.Bytes(), bundleKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}
	var sums strings.Builder
	for _, name := range []string{bundleKey, "bundle.json", "bundle.tar.000"} {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	digest := sha256.Sum256([]byte(sums.String()))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return err
	}
	files["SHA256SUMS"], files["SHA256SUMS.sig"] = []byte(sums.String()), signature
	errs := []error{os.MkdirAll(r.bundled, 0o755)}
	for name, data := range files {
		errs = append(errs, os.WriteFile(filepath.Join(r.bundled, name), data, 0o644))
	}
	return errors.Join(errs...)
}
