package kubeadm

import "airgap.dev/airgap/kubeadm/encryption"

// SharedSecrets returns the secret files, in addition to kubeadm's keys, that are identical on
// all control-plane hosts. A host needs them before it runs kubeadm join.
func SharedSecrets(c Config) []string {
	if c.EncryptionAtRest == encryption.NoEncryption {
		return nil
	}
	return []string{encryption.EncryptionFile}
}
