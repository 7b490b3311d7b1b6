package jointoken

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

// ControlPlaneSecrets has the control-plane secrets that another control-plane host needs before it joins: keys
// and certificates by path. A Secret transfers it, encrypted with a part of the join token that the
// cluster never receives. The Secret is deleted with the token.
//
// kubeadm's upload-certs is similar, but it prints its key, and it includes neither the registry's
// CA nor the encryption key of Secrets.
type ControlPlaneSecrets map[string][]byte

// Sealed returns the parcel encrypted with AES-256-GCM: nonce, then ciphertext. The token's ID is
// additional authenticated data, so that a parcel cannot be used with another token.
func (p ControlPlaneSecrets) Sealed(c JoinToken) ([]byte, error) {
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

func openSecrets(c JoinToken, data []byte) (ControlPlaneSecrets, error) {
	box, err := c.box()
	if err != nil {
		return nil, err
	}
	if len(data) < box.NonceSize() {
		return nil, errors.New("decrypt the control-plane keys: the data is incomplete")
	}
	text, err := box.Open(nil, data[:box.NonceSize()], data[box.NonceSize():], []byte(c.ID))
	if err != nil {
		return nil, errors.New("decrypt the control-plane keys: the last part of the join token is wrong, or the data was changed")
	}
	var p ControlPlaneSecrets
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("decrypt the control-plane keys: %w", err)
	}
	return p, nil
}

// box returns the cipher. Its key is derived from the complete join token.
func (c JoinToken) box() (cipher.AEAD, error) {
	if c.seal == "" {
		return nil, errors.New("the join token is a worker's, which cannot decrypt the control-plane keys")
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

// Check returns an error if keys and certificates do not match, or if a CA is not valid at the time
// now. Errors contain no keys.
func (p ControlPlaneSecrets) Check(encrypted bool, now time.Time) error {
	var errs []error
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		errs = append(errs, p.checkCA(path.Join(node.PKIDir, name), now))
	}
	errs = append(errs, p.serviceAccounts())
	if encrypted {
		if err := encryption.Check(p[encryption.EncryptionFile]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", encryption.EncryptionFile, err))
		}
	}
	return errors.Join(errs...)
}

func (p ControlPlaneSecrets) checkCA(name string, now time.Time) error {
	pair, err := tls.X509KeyPair(p[name+".crt"], p[name+".key"])
	if err != nil {
		return fmt.Errorf("%s.crt and its key: %w", name, err)
	}
	if trouble := validity.Of(pair.Leaf).Trouble(now, 0); trouble != "" {
		return fmt.Errorf("%s.crt %s", name, trouble)
	}
	return nil
}

// serviceAccounts checks that sa.pub is the public key of sa.key.
func (p ControlPlaneSecrets) serviceAccounts() error {
	key, err := keyutil.ParsePrivateKeyPEM(p[path.Join(node.PKIDir, "sa.key")])
	if err != nil {
		return errors.New("sa.key is not a private key")
	}
	public, err := keyutil.ParsePublicKeysPEM(p[path.Join(node.PKIDir, "sa.pub")])
	if err != nil {
		return errors.New("sa.pub is not a public key")
	}
	signer, signs := key.(crypto.Signer)
	publicKey, compares := public[0].(interface{ Equal(crypto.PublicKey) bool })
	if !signs || !compares || !publicKey.Equal(signer.Public()) {
		return errors.New("sa.pub is not the public key of sa.key")
	}
	return nil
}
