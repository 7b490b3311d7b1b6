package kubeadm

import "airgap.dev/airgap/kubeadm/encryption"

// SharedSecrets are the files that a further control-plane host needs, byte
// for byte and secretly, before it runs kubeadm join.
func SharedSecrets(c Config) []string {
	if c.EncryptionAtRest == encryption.NoEncryption {
		return nil
	}
	return []string{encryption.EncryptionFile}
}
