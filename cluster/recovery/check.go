package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"airgap.dev/airgap/cluster/reset"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
)

// Restoration restores a saved cluster on this host.
type Restoration struct {
	Site *site.Site
	From *SavedCluster
}

// check runs all checks before the first change, except preflight.
func (r *Restoration) check(ctx context.Context) error {
	s, k := r.Site, r.Site.Config.Kubernetes
	if !s.ServesRegistry() {
		return advice.Add(fmt.Errorf("restore on %s: it is not a control-plane host in airgap.yaml", s.Node.Name), "run airgap restore on a control-plane host, and join this host then")
	}
	differs := r.From.Matches(k)
	if name := r.From.Cluster; name != "" && name != s.Config.Name {
		differs = errors.Join(fmt.Errorf("the cluster's name was %s and is %s in airgap.yaml", name, s.Config.Name), differs)
	}
	if differs != nil {
		return advice.Add(fmt.Errorf("restore %s from bundle %s: the backup and the bundle are of different clusters:\n%w", r.From.Dir, s.Index.Name, differs), "use the bundle that installed the cluster, or one from the same airgap.yaml")
	}
	if err := r.checkHost(); err != nil {
		return err
	}
	choice, err := r.From.choice()
	if err != nil {
		return err
	}
	r.Site = s.Choosing(choice)
	founds, err := s.Machine.StartsCluster()
	if err != nil || !founds {
		return err
	}
	if kubeadm.ClusterAt(ctx, k.ControlPlaneEndpoint) {
		return advice.Add(fmt.Errorf("an API server answers at %s: the cluster, or a part of it, is still running", k.ControlPlaneEndpoint),
			"to bring a host back into a running cluster, use airgap join; to return to the backup, copy backups and pushed images from its control-plane hosts to another place, and run airgap reset --wipe-data there, which deletes them")
	}
	return nil
}

// checkHost returns an error if airgap has changed this host, unless an earlier run of this restore did.
func (r Restoration) checkHost() error {
	here, err := readRestored()
	if err != nil {
		return err
	}
	if here != nil && here.Backup == r.From.Sums {
		return nil
	}
	standing, err := step.OpenJournal(site.JournalFile).Undoable(reset.Steps(false))
	if err != nil {
		return err
	}
	if here == nil && !slices.ContainsFunc(standing, func(s step.Step) bool { return s.Name != "record" }) {
		return nil
	}
	reason := "airgap has installed this host, or started to install it"
	if here != nil {
		reason = fmt.Sprintf("this host was restored from another backup, from %s", here.Taken.Format(time.RFC3339))
	}
	return advice.Add(errors.New(reason), "undo that with airgap reset; then run the same command again")
}

// restoredFrom identifies the backup that this host was restored from.
type restoredFrom struct {
	Backup string    `json:"backup"` // SHA-256 of its SHA256SUMS
	Of     string    `json:"of"`     // host of the backup
	Taken  time.Time `json:"taken,omitzero"`
}

const restoredName = "backup.json"

func readRestored() (*restoredFrom, error) {
	path := filepath.Join(site.RestoredDir, restoredName)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var from restoredFrom
	if err == nil {
		err = json.Unmarshal(text, &from)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the restored backup: %w", err)
	}
	return &from, nil
}
