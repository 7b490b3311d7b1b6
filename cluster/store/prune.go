package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// PruneOptions selects the bundles to remove, and the data that may be lost with them.
type PruneOptions struct {
	Place

	Names           []string // of their directories; none: all unneeded bundles
	Pushed          string   // directory of pushed images
	Kubeconfig      string   // of the cluster that pulls from here
	NoPods          bool     // do not ask which pods run
	DropTags        bool     // names of images that only the named bundles have may go
	WithoutRollback bool     // the bundle may go that airgap rollback would go back to
	DryRun          bool     // remove nothing
}

// Pruned is the result for one bundle.
type Pruned struct {
	Name    string          `json:"name"` // of its directory in the store
	Created string          `json:"created"`
	Bytes   int64           `json:"bytes"`
	Removed bool            `json:"removed"` // with --dry-run: it would be
	Needs   []registry.Need `json:"needs,omitempty"`
	dryRun  bool
}

// Pruning is the result for all bundles of a store.
type Pruning []Pruned

// Prune removes unneeded bundles. With an error it returns the results so far; nil if it has
// checked no bundle.
func Prune(ctx context.Context, o PruneOptions) (Pruning, error) {
	if err := o.mustBeInstalled("registry prune"); err != nil {
		return nil, err
	}
	t, err := o.trusted()
	if err != nil {
		return nil, err
	}
	store := registry.Store{Dir: o.Dir}
	bundles, err := store.Open(t.Keys...)
	defer bundle.NewView(bundles...).Close()
	if err != nil {
		return nil, advice.Add(err, "the contents of a damaged bundle are unknown; repair it first with airgap registry import DIR")
	}
	for _, name := range o.Names {
		if !slices.ContainsFunc(bundles, func(b *bundle.Bundle) bool { return site.NameInStore(b) == name }) {
			return nil, fmt.Errorf("no bundle %s in %s", name, o.Dir)
		}
	}
	use, on, err := inUse(ctx, o, bundles)
	if err != nil {
		return nil, err
	}
	list, err := prune(store, bundles, use, on, o)
	if !o.DryRun && (err != nil || slices.ContainsFunc(list, func(p Pruned) bool { return p.Removed })) {
		err = errors.Join(err, serveAgain(context.WithoutCancel(ctx), o.Dir)) // otherwise it would serve removed bundles
	}
	return list, errors.Join(err, stayed(list, o.Names))
}

// inUse returns the users of the bundles: pushed images, pods, nodes, the last upgrade.
func inUse(ctx context.Context, o PruneOptions, bundles []*bundle.Bundle) (use registry.Use, on relied, err error) {
	if use.Pushed, err = registry.PushedBlobs(ctx, o.Pushed, bundles); err != nil {
		return use, on, err
	}
	if !o.NoPods && site.Exists(o.Kubeconfig) {
		client, err := verification.ClusterClient(o.Kubeconfig)
		if err == nil {
			use.Running, err = runningDigests(ctx, client)
		}
		if err != nil {
			return use, on, advice.Add(err, "nothing was removed, since running pods may need it; to skip this check, use --no-pods")
		}
		if on.as, err = installedBundles(ctx, client); err != nil {
			on.as = nil // without access to nodes the newest bundle stays
		}
	}
	if !o.WithoutRollback && o.Dir == site.StoreDir {
		on.last, err = upgraderecord.Read()
	}
	return use, on, err
}

// relied has the users of whole bundles.
type relied struct {
	last upgraderecord.Record // has the bundle for a rollback
	as   map[string]bool      // by ID: bundles that nodes run
}

// onlyImported reports whether no node runs a bundle, while some nodes run another
// one.
func (r relied) onlyImported(b *bundle.Bundle, all []*bundle.Bundle) bool {
	return !r.as[b.ID()] && slices.ContainsFunc(all, func(other *bundle.Bundle) bool { return r.as[other.ID()] })
}

// goesBackTo reports whether a bundle is the one before the last upgrade, or one of its
// bases: later bundles go with a rollback.
func (r relied) goesBackTo(b *bundle.Bundle, all []*bundle.Bundle) bool {
	if !r.last.RolledBack.IsZero() {
		return false
	}
	i := slices.IndexFunc(all, func(b *bundle.Bundle) bool { return b.ID() == r.last.From.ID })
	if i < 0 || b == all[i] {
		return i >= 0
	}
	rest, err := all[i].Rest(slices.DeleteFunc(bundle.NewestFirst(all), func(b *bundle.Bundle) bool { return b.Index().Created.After(all[i].Index().Created) }))
	return err == nil && slices.Contains(rest, b)
}

// prune removes one bundle after another, the oldest first. It checks the needs of the
// others again each time.
func prune(store registry.Store, bundles []*bundle.Bundle, use registry.Use, on relied, o PruneOptions) (Pruning, error) {
	bundles = bundlesOf([]*bundle.View{bundle.NewView(bundles...)})
	list := Pruning{}
	if !o.DryRun {
		if err := store.Sweep(); err != nil {
			return list, err
		}
	}
	for i := 0; i < len(bundles); {
		b := bundles[i]
		described := Describe(b.Index())
		p := Pruned{dryRun: o.DryRun, Name: site.NameInStore(b), Created: described.Created, Bytes: described.Bytes, Needs: registry.Needs(bundles, use)[i]}
		if on.goesBackTo(b, bundles) {
			p.Needs = append(p.Needs, registry.Need{By: "rollback", What: []string{"airgap rollback goes back to it"}})
		}
		named := slices.Contains(o.Names, p.Name)
		if i == len(bundles)-1 && (!named || !on.onlyImported(b, bundles)) {
			p.Needs = append(p.Needs, registry.Need{By: "cluster", What: []string{"its configuration is in the newest bundle"}})
		}
		standing := slices.DeleteFunc(slices.Clone(p.Needs), func(n registry.Need) bool { return n.By == "tags" && o.DropTags && named })
		p.Removed = len(standing) == 0 && (named || len(o.Names) == 0)
		if !p.Removed {
			list = append(list, p)
			i++
			continue
		}
		if !o.DryRun {
			err := o.act("prune", "Remove bundle "+p.Name+" from the store", func() error { return store.Remove(b) })
			if err != nil {
				return list, err
			}
		}
		list = append(list, p)
		bundles = slices.Delete(bundles, i, i+1)
	}
	return list, nil
}

// runningDigests are the images of every pod, by the digests that the runtimes tell.
func runningDigests(ctx context.Context, client kubernetes.Interface) (map[string][]digest.Digest, error) {
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask the cluster which pods run: %w", err)
	}
	running := map[string][]digest.Digest{}
	for _, p := range pods.Items {
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses) {
			if d, ok := imageDigest(s); ok {
				name := p.Namespace + "/" + p.Name
				running[name] = append(running[name], d)
			}
		}
	}
	return running, nil
}

// installedBundles returns the bundles that nodes run, by ID.
func installedBundles(ctx context.Context, client kubernetes.Interface) (map[string]bool, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the bundles of the nodes: %w", err)
	}
	as := map[string]bool{}
	for _, n := range nodes.Items {
		as[n.Annotations[site.BundleNote]] = true
	}
	return as, nil
}

func imageDigest(s corev1.ContainerStatus) (digest.Digest, bool) {
	text, ok := reference.DigestOf(s.ImageID)
	d, err := digest.Parse(text)
	return d, ok && err == nil
}

// stayed returns an error if a named bundle had to stay.
func stayed(list Pruning, names []string) error {
	for _, p := range list {
		if !p.Removed && slices.Contains(names, p.Name) {
			return fmt.Errorf("bundle %s is still needed", p.Name)
		}
	}
	return nil
}

// Write lists the bundles with their users.
func (all Pruning) Write(w io.Writer) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no bundle in the store")
		return err
	}
	for _, p := range all {
		fate := "stays"
		switch {
		case p.Removed && p.dryRun:
			fate = "would be removed"
		case p.Removed:
			fate = "removed"
		}
		if _, err := fmt.Fprintf(w, "%-24s %s  %9s  %s\n", p.Name, p.Created, ui.Size(p.Bytes), fate); err != nil {
			return err
		}
		for _, n := range p.Needs {
			fmt.Fprintf(w, "    %-14s %s\n", n.By, someOf(n.What))
		}
	}
	return nil
}

// someOf names a few.
func someOf(what []string) string {
	const few = 4
	if len(what) <= few {
		return strings.Join(what, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(what[:few], ", "), len(what)-few)
}
