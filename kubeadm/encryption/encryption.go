// Package encryption keeps the keys that Secrets are encrypted with in etcd, and replaces them.
//
// In flow the file of keys on this host (EncryptionFile), and the Cluster. Out flow the step that
// creates or copies the first key (Encryption), and Rotation, which gives all control-plane hosts a new
// key, waits until the API servers have loaded it, and rewrites every Secret. A step never replaces
// an existing file of keys: without it the Secrets are lost.
package encryption

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/node"
)

// EncryptionFile holds the keys that Secrets are encrypted with in etcd. Every
// control-plane host has the very same; without it the Secrets are lost.
const EncryptionFile = node.APIServerDir + "/encryption.yaml"

// Encryption creates the keys for the encryption of Secrets. given
// returns the file of the cluster's other control-plane hosts; nil creates the
// first key of a new cluster. An existing file is never replaced here, since
// Secrets may depend on it. Join replaces it, since no Secret depends on it yet.
func Encryption(m host.Machine, provider string, given func(context.Context) ([]byte, error)) step.Step {
	if given == nil {
		given = func(context.Context) ([]byte, error) { return FirstKeys(provider) }
	}
	return step.Step{
		Name: "encryption", Title: "Keep the key that Secrets are encrypted with",
		Done: func(context.Context) (bool, error) { return keysHold(m) },
		Plan: func(context.Context) ([]string, error) { return planKeys(m) },
		Run:  func(ctx context.Context) error { return placeKeys(ctx, m, given) },
		Undo: func(context.Context) error { return leaveKeys(m) },
	}
}

// FirstKeys returns the file of a new cluster, with one key of a provider (AESCBC or Secretbox).
func FirstKeys(provider string) ([]byte, error) {
	return keyring{keyring{}.newKey(provider)}.file()
}

func keysHold(m host.Machine) (bool, error) {
	if _, err := readKeyring(m); err != nil {
		return false, host.IgnoreMissing(err)
	}
	info, err := os.Lstat(m.Path(EncryptionFile))
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		return false, err
	}
	return node.PrivateDir(m, node.APIServerDir)
}

func planKeys(m host.Machine) ([]string, error) {
	if _, err := readKeyring(m); err == nil {
		return []string{"close " + EncryptionFile + " (0600, in a directory of 0700)"}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return []string{"write " + m.Path(EncryptionFile) + " (new)"}, nil
}

func placeKeys(ctx context.Context, m host.Machine, given func(context.Context) ([]byte, error)) error {
	if err := node.MakePrivateDir(m, node.APIServerDir); err != nil {
		return err
	}
	if _, err := readKeyring(m); err == nil {
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

// leaveKeys removes the keys. If etcd's data is kept, the keys are stored next to it.
func leaveKeys(m host.Machine) error {
	if err := host.Remove(m.Path(rotationFile)); err != nil { // of a rotation that does not continue
		return err
	}
	return node.RemoveFrom(m, node.APIServerDir, EncryptionFile)
}

// CopyKeys puts the keys into a directory with a copy of etcd's data: without
// them its Secrets could not be read.
func CopyKeys(m host.Machine, dir string) error {
	text, err := os.ReadFile(m.Path(EncryptionFile))
	if err != nil {
		return host.IgnoreMissing(err) // nothing is encrypted
	}
	return host.WriteFile(m.Path(path.Join(dir, path.Base(EncryptionFile))), text, 0o600)
}

// readKeyring reads the keys of this host.
func readKeyring(m host.Machine) (keyring, error) {
	text, err := os.ReadFile(m.Path(EncryptionFile))
	if err != nil {
		return nil, fmt.Errorf("read the encryption keys: %w", err)
	}
	ring, err := parseKeyring(text)
	if err != nil {
		return nil, &host.Failure{What: "read " + EncryptionFile, Err: err, Next: "restore the file from a backup or from another control-plane host: airgap does not create it again, because Secrets may depend on it"}
	}
	return ring, nil
}
