package site

import (
	"fmt"
	"io"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/backup"
)

// Backups returns the store of this host's backups. They contain everything that a restore of the
// control plane needs.
func Backups() backup.Store {
	m := ThisMachine()
	return backup.Store{
		Host: m.Host, Root: m.Root, Dir: BackupDir, Keep: 7, Keys: BackupKeys, Stage: BackupDir,
		Etcd: func() (backup.Snapshotter, error) { return m.LocalEtcd() },
		Paths: []string{
			"/etc/kubernetes", "/etc/airgap", JournalFile, UndoDir, NetworkDir,
			"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/instance-config.yaml", "/var/lib/kubelet/kubeadm-flags.env",
		},
		// kubeadm copies etcd's data to this directory when it upgrades.
		Except:  []string{"/etc/kubernetes/tmp"},
		Cluster: clusterHere,
	}
}

// clusterHere returns the cluster's name from the index in JoinDir, or "" if there is no index yet.
// The name is informational, and airgap restore compares it. The signature of the index is therefore not checked.
func clusterHere() string {
	index, err := host.ReadJSON[bundle.Index](filepath.Join(JoinDir, bundle.IndexName))
	if err != nil || index.Config == "" {
		return ""
	}
	c, err := config.ParseStored("airgap.yaml", []byte(index.Config))
	if err != nil {
		return ""
	}
	return c.Name
}

// BackupKey returns the fingerprint of the key that signs this host's backups. It is "" if there is
// no key or the user cannot read it.
func BackupKey() string {
	key, err := backup.KeyDir(BackupKeys).Public()
	if err != nil || key == nil {
		return ""
	}
	return bundle.Fingerprint(key)
}

// WriteBackupKey asks the user to keep the fingerprint of a host's backup key. It writes nothing if key is "".
func WriteBackupKey(w io.Writer, node, key string) {
	if key != "" {
		fmt.Fprintf(w, "%s signs its backups with key %s: keep this fingerprint in a place outside of the servers, airgap restore asks for it\n", node, key)
	}
}
