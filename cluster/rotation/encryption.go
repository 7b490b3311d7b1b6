package rotation

import (
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/encryption"
)

// KeyOptions are the flags of airgap encryption rotate.
type KeyOptions struct {
	Keys    []string // of --require-key
	Node    string   // name of this host in airgap.yaml; "": by its addresses
	Console ui.Console
}

// NewKey is the current encryption key of Secrets.
type NewKey struct{ encryption.Rotated }

// EncryptionKey encrypts all Secrets with a new key, or follows the host that leads the rotation.
func EncryptionKey(ctx context.Context, o KeyOptions) (NewKey, error) {
	if err := hostcheck.MustBeInstalled("encryption rotate"); err != nil {
		return NewKey{}, err
	}
	s, err := site.Stored(o.Keys, o.Node)
	if err != nil {
		return NewKey{}, err
	}
	provider := s.Config.Kubernetes.EncryptionAtRest
	if provider == encryption.NoEncryption {
		return NewKey{}, advice.Add(errors.New("rotate the encryption key: airgap.yaml has kubernetes.encryptionAtRest: none"), "there is no key to rotate")
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return NewKey{}, err
	}
	defer release()
	cluster, err := kubeadm.LiveCluster(s.Machine)
	if err != nil {
		return NewKey{}, advice.Add(err, "run the command on a control-plane host")
	}
	rotation := encryption.Rotation{Machine: s.Machine.Machine, Node: s.Node.Name, Provider: provider, Cluster: cluster, Say: o.Console.Progress().Say}
	var done encryption.Rotated
	err = journal.Act("rotate-encryption", "Encrypt all Secrets with a new key", func() (err error) {
		lock := clusterlock.Command{Machine: s.Machine.Machine, Name: "airgap encryption rotate", Node: s.Node.Name, Follows: true, Say: rotation.Say}
		done, err = clusterlock.During(ctx, lock, rotation.Run)
		return err
	})
	return NewKey{done}, err
}

// Write prints the result for the old key. It mentions a new key only if this run has created one.
func (r NewKey) Write(w io.Writer) error {
	text := r.Key + " now encrypts all Secrets, and the old key is deleted"
	switch {
	case !r.Changed:
		text = "the interrupted rotation to " + r.Key + " is finished, and the old key is deleted; run the same command again for a new key"
	case r.Leader != "":
		text = r.Leader + " led the rotation and finished it, and the old key is deleted here too"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
