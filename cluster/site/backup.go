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

// Backups are those of this host: of a control plane, what is needed to have it
// back.
func Backups() backup.Store {
	m := ThisMachine()
	return backup.Store{
		Host: m.Host, Root: m.Root, Dir: BackupDir, Keep: 7, Keys: BackupKeys, Stage: BackupDir,
		Etcd: func() (backup.Snapshotter, error) { return m.LocalEtcd() },
		Paths: []string{
			"/etc/kubernetes", "/etc/airgap", JournalFile, UndoDir, NetworkDir,
			"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/instance-config.yaml", "/var/lib/kubelet/kubeadm-flags.env",
		},
		// Where kubeadm keeps copies of etcd's data when it upgrades.
		Except:  []string{"/etc/kubernetes/tmp"},
		Cluster: clusterHere,
	}
}

// clusterHere is the cluster's name by what this host lays out for those that
// join; "" where there is nothing yet. It is a note for people, and for restore's
// comparison: whose signature the index has is nobody's concern here.
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

// BackupKey is the fingerprint of the key that this host signs its backups with; "" where there
// is none, or the user may not read it.
func BackupKey() string {
	key, err := backup.KeyDir(BackupKeys).Public()
	if err != nil || key == nil {
		return ""
	}
	return bundle.Fingerprint(key)
}

// WriteBackupKey asks for the fingerprint to be kept, once a host has been installed.
func WriteBackupKey(w io.Writer, node, key string) {
	if key != "" {
		fmt.Fprintf(w, "%s signs its backups with key %s: keep that where the servers are not, airgap restore asks for it\n", node, key)
	}
}
