package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// apiServerDir holds the files that the API server starts with beside its
// certificates. The static pod mounts the directory, not the files: a file
// that is replaced would be the old one to a pod that mounted it.
const apiServerDir = "/etc/kubernetes/apiserver"

// EncryptionFile holds the keys that Secrets are encrypted with in etcd. Every
// control-plane host has the very same; without it the Secrets are lost.
const EncryptionFile = apiServerDir + "/encryption.yaml"

// SharedSecrets are the files that a further control-plane host needs, byte
// for byte and secretly, before it runs kubeadm join.
func SharedSecrets(c Config) []string {
	if c.EncryptionAtRest == NoEncryption {
		return nil
	}
	return []string{EncryptionFile}
}

// Encryption brings about the keys that Secrets are encrypted with. given
// brings the file of the cluster's other control-plane hosts; nil makes the
// first key of a new cluster. A file that is there is never replaced here, since
// Secrets may depend on it; Join does, which knows that none does yet.
func Encryption(m Machine, provider string, given func(context.Context) ([]byte, error)) step.Step {
	if given == nil {
		given = func(context.Context) ([]byte, error) { return FirstKeys(provider) }
	}
	return step.Step{
		Name: "encryption", Title: "Keep the key that Secrets are encrypted with",
		Done: func(context.Context) (bool, error) { return m.keysHold() },
		Plan: func(context.Context) ([]string, error) { return m.planKeys() },
		Run:  func(ctx context.Context) error { return m.placeKeys(ctx, given) },
		Undo: func(context.Context) error { return m.leaveKeys() },
	}
}

// FirstKeys returns the file of a new cluster, with one key of a provider (AESCBC or Secretbox).
func FirstKeys(provider string) ([]byte, error) {
	return keyring{keyring{}.newKey(provider)}.file()
}

func (m Machine) keysHold() (bool, error) {
	if _, err := m.keyring(); err != nil {
		return false, host.IgnoreMissing(err)
	}
	info, err := os.Lstat(m.Path(EncryptionFile))
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		return false, err
	}
	return m.privateDir(apiServerDir)
}

func (m Machine) planKeys() ([]string, error) {
	if _, err := m.keyring(); err == nil {
		return []string{"close " + EncryptionFile + " (0600, in a directory of 0700)"}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return []string{"write " + m.Path(EncryptionFile) + " (new)"}, nil
}

func (m Machine) placeKeys(ctx context.Context, given func(context.Context) ([]byte, error)) error {
	if err := m.makePrivateDir(apiServerDir); err != nil {
		return err
	}
	if _, err := m.keyring(); err == nil {
		return os.Chmod(m.Path(EncryptionFile), 0o600)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := given(ctx)
	if err != nil {
		return err
	}
	if _, err := parseKeyring(text); err != nil {
		return fmt.Errorf("take the encryption keys of the other hosts: %w", err)
	}
	return host.WriteFile(m.Path(EncryptionFile), text, 0o600)
}

// leaveKeys takes the keys away. Where etcd's data was kept they are beside it.
func (m Machine) leaveKeys() error {
	if err := host.Remove(m.Path(rotationFile)); err != nil { // of one that will not go on
		return err
	}
	return m.removeFrom(apiServerDir, EncryptionFile)
}

// copyKeys puts the keys into a directory with a copy of etcd's data: without
// them its Secrets could not be read.
func (m Machine) copyKeys(dir string) error {
	text, err := os.ReadFile(m.Path(EncryptionFile))
	if err != nil {
		return host.IgnoreMissing(err) // nothing is encrypted
	}
	return host.WriteFile(m.Path(path.Join(dir, path.Base(EncryptionFile))), text, 0o600)
}

// keyring reads the keys of this host.
func (m Machine) keyring() (keyring, error) {
	text, err := os.ReadFile(m.Path(EncryptionFile))
	if err != nil {
		return nil, fmt.Errorf("read the encryption keys: %w", err)
	}
	ring, err := parseKeyring(text)
	if err != nil {
		return nil, &host.Failure{What: "read " + EncryptionFile, Err: err, Next: "put the file back from a backup or from another control-plane host: it is never made anew, because Secrets may depend on it"}
	}
	return ring, nil
}

// privateDir reports whether a directory is root's alone.
func (m Machine) privateDir(dir string) (bool, error) {
	info, err := os.Lstat(m.Path(dir))
	if err != nil {
		return false, host.IgnoreMissing(err)
	}
	return info.IsDir() && info.Mode().Perm() == 0o700, nil
}

func (m Machine) makePrivateDir(dir string) error {
	if err := os.MkdirAll(m.Path(dir), 0o700); err != nil {
		return err
	}
	return os.Chmod(m.Path(dir), 0o700)
}

// removeFrom removes files, and then their directory if nothing else is in it.
func (m Machine) removeFrom(dir string, files ...string) error {
	for _, file := range files {
		if err := host.Remove(m.Path(file)); err != nil {
			return err
		}
	}
	if err := os.Remove(m.Path(dir)); host.IgnoreMissing(err) != nil && !errors.Is(err, fs.ErrExist) { // not empty
		return err
	}
	return nil
}
