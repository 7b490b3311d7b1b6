package kubeadm

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"path"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/node"
)

func pemKey(t *testing.T) (crypto.Signer, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	hosttest.Must(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	hosttest.Must(err)
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// savedKeys are the keys of a control plane with CAs that expire at ends.
func savedKeys(t *testing.T, ends time.Time) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		key, text := pemKey(t)
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		hosttest.Must(err)
		files[path.Join(node.PKIDir, name+".key")] = text
		files[path.Join(node.PKIDir, name+".crt")] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	key, text := pemKey(t)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	hosttest.Must(err)
	files[path.Join(node.PKIDir, "sa.key")] = text
	files[path.Join(node.PKIDir, "sa.pub")] = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	ring, err := encryption.FirstKeys(encryption.Secretbox)
	hosttest.Must(err)
	files[encryption.EncryptionFile] = string(ring)
	return files
}

func TestSavedKeys(t *testing.T) {
	now := time.Now()
	files := savedKeys(t, now.Add(time.Hour))
	keys, err := SavedKeys(readFrom(files), true, now)
	if err != nil || len(keys) != len(files) {
		t.Fatalf("got %d keys, %v, want %d", len(keys), err, len(files))
	}
	if keys, err := SavedKeys(readFrom(files), false, now); err != nil || len(keys) != len(files)-1 {
		t.Errorf("without encryption: got %d keys, %v, want %d", len(keys), err, len(files)-1)
	}
	if _, err := SavedKeys(readFrom(files), true, now.Add(2*time.Hour)); err == nil || !strings.Contains(err.Error(), "ca.crt ended 20") {
		t.Errorf("with expired CAs: got %v, want an error", err)
	}
	others := savedKeys(t, now.Add(time.Hour))
	for name := range files {
		for how, text := range map[string]string{"missing": "", "spoiled": "-----BEGIN NOTHING-----", "another cluster's": others[name]} {
			if name == encryption.EncryptionFile && text == others[name] {
				continue // only the Secrets would show the difference
			}
			half := maps.Clone(files)
			if half[name] = text; text == "" {
				delete(half, name)
			}
			_, err := SavedKeys(readFrom(half), true, now)
			if err == nil || !strings.Contains(err.Error(), "read the control plane's keys: ") || strings.Contains(err.Error(), "BEGIN") {
				t.Errorf("%s is %s: got %v, want an error without key data", name, how, err)
			}
		}
	}
}
