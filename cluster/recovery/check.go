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

// Restoration brings a saved cluster to this host.
type Restoration struct {
	Site *site.Site
	From *SavedCluster
}

// check is all that can be known before anything is changed, but for preflight.
func (r *Restoration) check(ctx context.Context) error {
	s, k := r.Site, r.Site.Config.Kubernetes
	if !s.ServesRegistry() {
		return advice.Add(fmt.Errorf("restore on %s: by airgap.yaml it is no control-plane host", s.Node.Name), "run airgap restore on one of those; this host joins then")
	}
	differs := r.From.Agrees(k)
	if name := r.From.Cluster; name != "" && name != s.Config.Name {
		differs = errors.Join(fmt.Errorf("the cluster's name was %s, and is %s in airgap.yaml", name, s.Config.Name), differs)
	}
	if differs != nil {
		return advice.Add(fmt.Errorf("restore %s from bundle %s: it is not the same cluster:\n%w", r.From.Dir, s.Index.Name, differs), "use the bundle that the cluster was installed from, or one that was made of the same airgap.yaml")
	}
	if err := r.hostIsFree(); err != nil {
		return err
	}
	choice, err := r.From.choice()
	if err != nil {
		return err
	}
	r.Site = s.Choosing(choice)
	founds, err := s.Machine.Founds()
	if err != nil || !founds {
		return err
	}
	if kubeadm.ClusterAt(ctx, k.ControlPlaneEndpoint) {
		return advice.Add(fmt.Errorf("an API server answers at %s: the cluster is not lost, or a part of it lives on", k.ControlPlaneEndpoint),
			"airgap join brings a host back into a cluster that lives; to go back to the backup all the same, copy backups and pushed images away from its control-plane hosts, and run airgap reset --wipe-data there, which deletes them")
	}
	return nil
}

// hostIsFree wants a host on which nobody has begun anything but this very restore.
func (r Restoration) hostIsFree() error {
	here, err := restoredHere()
	if err != nil {
		return err
	}
	if here != nil && here.Backup == r.From.Sums {
		return nil
	}
	standing, err := step.OpenJournal(site.JournalFile).Standing(reset.Steps(false))
	if err != nil {
		return err
	}
	if here == nil && !slices.ContainsFunc(standing, func(s step.Step) bool { return s.Name != "record" }) {
		return nil
	}
	what := "airgap has installed, or begun to install, this host already"
	if here != nil {
		what = fmt.Sprintf("this host was restored from another backup, that of %s", here.Taken.Format(time.RFC3339))
	}
	return advice.Add(errors.New(what), "airgap reset takes that back; then run the same command again")
}

// restoredFrom is what a host keeps in mind of the backup that it was restored from.
type restoredFrom struct {
	Backup string    `json:"backup"` // SHA-256 of its SHA256SUMS
	Of     string    `json:"of"`     // the host that it was taken on
	Taken  time.Time `json:"taken,omitzero"`
}

const restoredName = "backup.json"

func restoredHere() (*restoredFrom, error) {
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
		return nil, fmt.Errorf("read which backup this host is restored from: %w", err)
	}
	return &from, nil
}
