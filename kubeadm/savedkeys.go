package kubeadm

import (
	"fmt"
	"time"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/pki"
)

// SavedKeys reads the saved keys that control-plane hosts share, and, if encrypted is set, the
// encryption keys of Secrets. The keys must match each other: with a mix of two clusters' keys no
// client could connect. read returns a file by its path on the host.
func SavedKeys(read func(path string) ([]byte, error), encrypted bool, now time.Time) (jointoken.ControlPlaneSecrets, error) {
	names := pki.ControlPlaneKeys()
	if encrypted {
		names = append(names, encryption.EncryptionFile)
	}
	keys := jointoken.ControlPlaneSecrets{}
	for _, name := range names {
		text, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("read the control plane's keys: %w", err)
		}
		keys[name] = text
	}
	if err := keys.Check(encrypted, now); err != nil {
		return nil, fmt.Errorf("read the control plane's keys: %w", err)
	}
	return keys, nil
}
