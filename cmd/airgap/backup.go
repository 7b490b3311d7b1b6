package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
)

// backups are those of this host: of a control plane, what is needed to have it
// back.
func backups() backup.Store {
	m := thisMachine()
	return backup.Store{
		Host: m.Host, Root: m.Root, Dir: backupDir, Keep: 7,
		Etcd: func() (backup.Snapshotter, error) { return m.LocalEtcd() },
		Paths: []string{
			"/etc/kubernetes", "/etc/airgap", journalFile, undoDir, networkDir,
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
	index, err := host.ReadJSON[bundle.Index](filepath.Join(joinDir, bundle.IndexName))
	if err != nil || index.Config == "" {
		return ""
	}
	c, err := config.ParseStored("airgap.yaml", []byte(index.Config))
	if err != nil {
		return ""
	}
	return c.Name
}

func (a *app) backup() *cobra.Command {
	store := backups()
	cmd := &cobra.Command{
		Use: "backup", Short: "Keep what it takes to have the control plane back", Args: noArgs,
		Long: `Takes a snapshot of etcd, checks it against etcd's own checksum, and puts it into a
new directory under ` + backupDir + ` together with the configuration and keys of
Kubernetes and of the registry, and with airgap's journal. The newest seven stay.
` + backup.Timer + ` does this every day on each control-plane host;
airgap verify says when the newest one is older than two days.

The directory needs no airgap to be read: etcd.db is what etcdutl restores, the
other files lie under the paths that they had, SHA256SUMS is for sha256sum -c.
Copy it to another machine from time to time: it lies on the disk that it is a
backup of. Whoever can read it owns the cluster: root alone may.`,
		Example: "  airgap backup\n  airgap backup --dir /mnt/nas/bank --keep 30",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mustBeRoot("backup"); err != nil {
				return err
			}
			return a.runBackup(cmd.Context(), store)
		},
	}
	cmd.Flags().StringVar(&store.Dir, "dir", store.Dir, "directory of the backups")
	cmd.Flags().IntVar(&store.Keep, "keep", store.Keep, "how many stay, the newest ones; 0: all")
	return cmd
}

func (a *app) runBackup(ctx context.Context, store backup.Store) error {
	if store.Keep < 0 {
		return usage("--keep %d: want 0 or more", store.Keep)
	}
	b, err := store.Take(ctx)
	if errors.Is(err, kubeadm.ErrNoEtcd) {
		return hint(err, "run airgap backup on a control-plane host")
	}
	if err != nil {
		return err
	}
	return a.print(b, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %s\n", b.Dir, ui.Size(b.Bytes))
		return err
	})
}
