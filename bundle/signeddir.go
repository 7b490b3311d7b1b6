package bundle

import (
	"crypto"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
)

// WriteSigned writes files and the public key into dir, which must not exist. It also
// writes SHA256SUMS and SHA256SUMS.sig, as for a bundle, for sha256sum and openssl. The
// same files and key give the same bytes.
func WriteSigned(dir string, files []StickFile, key crypto.Signer) error {
	public, err := MarshalPublicKey(PublicOf(key))
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o755), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	all := sums{}
	for _, f := range append(files, StickBytes(PublicKeyName, public)) {
		if _, twice := all[f.Name]; twice || !isPlainName(f.Name) {
			return fmt.Errorf("write %q: duplicate or invalid name", f.Name)
		}
		if all[f.Name], err = f.writeTo(dir); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	if err := all.write(dir, key); err != nil {
		return err
	}
	return host.SyncDir(dir)
}
