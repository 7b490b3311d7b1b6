package kubeadm

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"airgap.dev/airgap/internal/host"
)

// Parcel is what a further control-plane host has to have before it joins:
// keys and certificates by path. It crosses the cluster sealed with a part of
// the code that the cluster never sees, in a Secret that goes with the code.
//
// kubeadm has the like (upload-certs), but prints its key, and knows neither
// the registry's authority nor the key that Secrets are encrypted with.
type Parcel map[string][]byte

const pkiDir = "/etc/kubernetes/pki"

// controlPlaneKeys are the files that all control-plane hosts share, by
// https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/high-availability/.
func controlPlaneKeys() []string {
	var all []string
	for _, name := range []string{"ca.crt", "ca.key", "sa.pub", "sa.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key"} {
		all = append(all, path.Join(pkiDir, name))
	}
	return all
}

// Pack reads the cluster's shared keys on a control-plane host, and more files
// by path.
func Pack(m Machine, more ...string) (Parcel, error) {
	if err := m.RefuseAmidReplacement("pack the control plane's keys"); err != nil {
		return nil, err
	}
	p := Parcel{}
	for _, name := range append(controlPlaneKeys(), more...) {
		data, err := os.ReadFile(m.Path(name))
		if err != nil {
			return nil, fmt.Errorf("pack the control plane's keys: %w", err)
		}
		p[name] = data
	}
	return p, nil
}

// takeOver writes the cluster's keys and the other files that the control-plane
// hosts share, and nothing else, whatever the parcel holds. What an earlier join
// left is replaced, the keys of the Secrets too: they may have changed since,
// and no Secret depends on the file of a host that has not joined.
func (m Machine) takeOver(p Parcel, shared []string) error {
	for _, name := range append(controlPlaneKeys(), shared...) {
		data, is := p[name]
		if !is {
			return fmt.Errorf("take over the control plane's keys: %s is not in the parcel", name)
		}
		if err := host.WriteFile(m.Path(name), data, modeOf(name)); err != nil {
			return err
		}
	}
	return nil
}

func modeOf(name string) os.FileMode {
	if slices.Contains([]string{".crt", ".pub"}, path.Ext(name)) {
		return 0o644
	}
	return 0o600
}

// sealed is the parcel under AES-256-GCM: nonce, then ciphertext. The token's
// id is authenticated along, so that parcels cannot be exchanged.
func (p Parcel) sealed(c Code) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	box, err := c.box()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return box.Seal(nonce, nonce, text, []byte(c.id)), nil
}

func openParcel(c Code, data []byte) (Parcel, error) {
	box, err := c.box()
	if err != nil {
		return nil, err
	}
	if len(data) < box.NonceSize() {
		return nil, errors.New("open the parcel of keys: it is cut")
	}
	text, err := box.Open(nil, data[:box.NonceSize()], data[box.NonceSize():], []byte(c.id))
	if err != nil {
		return nil, errors.New("open the parcel of keys: the last part of the code is not right, or the parcel was changed")
	}
	var p Parcel
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("open the parcel of keys: %w", err)
	}
	return p, nil
}

// box encrypts with a key that only who has the whole code can make.
func (c Code) box() (cipher.AEAD, error) {
	if c.seal == "" {
		return nil, errors.New("this code is a worker's: it opens no parcel")
	}
	key, err := hkdf.Key(sha256.New, []byte(c.seal), []byte(c.id), "airgap parcel v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
