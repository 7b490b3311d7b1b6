// Package encryption keeps the keys that Secrets are encrypted with in etcd, and replaces them.
//
// In flow the file of keys on this host (EncryptionFile), and the Cluster. Out flow the step that
// makes or takes the first key (Encryption), and Rotation, which gives all control-plane hosts a new
// key, has the API servers load it, and has every Secret written again. A file of keys that is there
// is never replaced by a step: without it the Secrets are lost.
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

// Encryption brings about the keys that Secrets are encrypted with. given
// brings the file of the cluster's other control-plane hosts; nil makes the
// first key of a new cluster. A file that is there is never replaced here, since
// Secrets may depend on it; Join does, which knows that none does yet.
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

// leaveKeys takes the keys away. Where etcd's data was kept they are beside it.
func leaveKeys(m host.Machine) error {
	if err := host.Remove(m.Path(rotationFile)); err != nil { // of one that will not go on
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
		return nil, &host.Failure{What: "read " + EncryptionFile, Err: err, Next: "put the file back from a backup or from another control-plane host: it is never made anew, because Secrets may depend on it"}
	}
	return ring, nil
}
