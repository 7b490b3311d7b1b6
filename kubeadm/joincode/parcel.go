package joincode

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"k8s.io/client-go/util/keyutil"

	"airgap.dev/airgap/internal/validity"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/node"
)

// Parcel is what a further control-plane host has to have before it joins:
// keys and certificates by path. It crosses the cluster sealed with a part of
// the code that the cluster never sees, in a Secret that goes with the code.
//
// kubeadm has the like (upload-certs), but prints its key, and knows neither
// the registry's authority nor the key that Secrets are encrypted with.
type Parcel map[string][]byte

// Sealed is the parcel under AES-256-GCM: nonce, then ciphertext. The token's
// id is authenticated along, so that parcels cannot be exchanged.
func (p Parcel) Sealed(c Code) ([]byte, error) {
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
	return box.Seal(nonce, nonce, text, []byte(c.ID)), nil
}

func openParcel(c Code, data []byte) (Parcel, error) {
	box, err := c.box()
	if err != nil {
		return nil, err
	}
	if len(data) < box.NonceSize() {
		return nil, errors.New("open the parcel of keys: it is cut")
	}
	text, err := box.Open(nil, data[:box.NonceSize()], data[box.NonceSize():], []byte(c.ID))
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
	key, err := hkdf.Key(sha256.New, []byte(c.seal), []byte(c.ID), "airgap parcel v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Fit compares keys with certificates. No error repeats a key.
func (p Parcel) Fit(encrypted bool, now time.Time) error {
	var errs []error
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		errs = append(errs, p.authority(path.Join(node.PKIDir, name), now))
	}
	errs = append(errs, p.serviceAccounts())
	if encrypted {
		if err := encryption.Check(p[encryption.EncryptionFile]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", encryption.EncryptionFile, err))
		}
	}
	return errors.Join(errs...)
}

func (p Parcel) authority(name string, now time.Time) error {
	pair, err := tls.X509KeyPair(p[name+".crt"], p[name+".key"])
	if err != nil {
		return fmt.Errorf("%s.crt and its key: %w", name, err)
	}
	if trouble := validity.Of(pair.Leaf).Trouble(now, 0); trouble != "" {
		return fmt.Errorf("%s.crt %s", name, trouble)
	}
	return nil
}

// serviceAccounts wants sa.pub to be the public half of sa.key.
func (p Parcel) serviceAccounts() error {
	key, err := keyutil.ParsePrivateKeyPEM(p[path.Join(node.PKIDir, "sa.key")])
	if err != nil {
		return errors.New("sa.key is no private key")
	}
	public, err := keyutil.ParsePublicKeysPEM(p[path.Join(node.PKIDir, "sa.pub")])
	if err != nil {
		return errors.New("sa.pub is no public key")
	}
	signer, signs := key.(crypto.Signer)
	half, compares := public[0].(interface{ Equal(crypto.PublicKey) bool })
	if !signs || !compares || !half.Equal(signer.Public()) {
		return errors.New("sa.pub is not the public half of sa.key")
	}
	return nil
}
