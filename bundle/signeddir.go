package bundle

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
)

// WriteSigned writes files into dir, which must not be there yet, with the key's
// public half, and vouches for all of them as for a bundle's: SHA256SUMS and
// SHA256SUMS.sig, which sha256sum and openssl check. The same files and key give
// the same bytes.
func WriteSigned(dir string, files []StickFile, key *ecdsa.PrivateKey) error {
	public, err := MarshalPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o755), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	all := sums{}
	for _, f := range append(files, StickBytes(PublicKeyName, public)) {
		if _, twice := all[f.Name]; twice || !isPlainName(f.Name) {
			return fmt.Errorf("write %q: the name is taken or not allowed", f.Name)
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
