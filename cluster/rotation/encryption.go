package rotation

import (
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/encryption"
)

// KeyOptions say whose key is replaced.
type KeyOptions struct {
	Keys    []string // of --require-key
	Node    string   // which of airgap.yaml this host is; "": by its addresses
	Console ui.Console
}

// NewKey is the key that Secrets are encrypted with now.
type NewKey struct{ encryption.Rotated }

// EncryptionKey has all Secrets encrypted with a new key, or follows the host that does.
func EncryptionKey(ctx context.Context, o KeyOptions) (NewKey, error) {
	if err := hostcheck.MustBeRoot("encryption rotate"); err != nil {
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
		return NewKey{}, advice.Add(err, "run it on a control-plane host")
	}
	rotation := encryption.Rotation{Machine: s.Machine.Machine, Node: s.Node.Name, Provider: provider, Cluster: cluster, Say: o.Console.Progress().Say}
	done, err := rotation.Run(ctx)
	return NewKey{done}, err
}

// Write says what became of the old key. No run that brought no new key speaks of one.
func (r NewKey) Write(w io.Writer) error {
	text := r.Key + " encrypts all Secrets now, and the old key is gone"
	switch {
	case !r.Changed:
		text = "the interrupted rotation to " + r.Key + " is finished, and the old key is gone; run the same command again for a new key"
	case r.Leader != "":
		text = r.Leader + " led the rotation to its end: the old key is gone here, too"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
