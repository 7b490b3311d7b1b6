package kubeadm

import (
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"path"
	"time"

	"k8s.io/client-go/util/keyutil"

	"airgap.dev/airgap/internal/validity"
)

// SavedKeys reads the keys that control-plane hosts share from where they were
// saved, with those of the Secrets where Secrets are encrypted. They have to fit
// each other: a cluster that is started with half of another one's would lock
// everybody out. read gives a file by its path on the host.
func SavedKeys(read func(path string) ([]byte, error), encrypted bool, now time.Time) (Parcel, error) {
	names := controlPlaneKeys()
	if encrypted {
		names = append(names, EncryptionFile)
	}
	keys := Parcel{}
	for _, name := range names {
		text, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("read the control plane's keys: %w", err)
		}
		keys[name] = text
	}
	if err := keys.fit(encrypted, now); err != nil {
		return nil, fmt.Errorf("read the control plane's keys: %w", err)
	}
	return keys, nil
}

// fit compares keys with certificates. No error repeats a key.
func (p Parcel) fit(encrypted bool, now time.Time) error {
	var errs []error
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		errs = append(errs, p.authority(path.Join(pkiDir, name), now))
	}
	errs = append(errs, p.serviceAccounts())
	if encrypted {
		if _, err := parseKeyring(p[EncryptionFile]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", EncryptionFile, err))
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
	key, err := keyutil.ParsePrivateKeyPEM(p[path.Join(pkiDir, "sa.key")])
	if err != nil {
		return errors.New("sa.key is no private key")
	}
	public, err := keyutil.ParsePublicKeysPEM(p[path.Join(pkiDir, "sa.pub")])
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
