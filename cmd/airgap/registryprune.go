package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/status"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
)

type pruneOptions struct {
	storeFlags

	pushed, kubeconfig       string
	dryRun, dropTags, noPods bool
	noWayBack                bool
}

// pruned is what became of one bundle.
type pruned struct {
	Name    string          `json:"name"` // of its directory in the store
	Created string          `json:"created"`
	Bytes   int64           `json:"bytes"`
	Removed bool            `json:"removed"` // with --dry-run: it would be
	Needs   []registry.Need `json:"needs,omitempty"`
}

const pruneLong = `Removes the bundles in the directories NAME of this host's store, or all that nothing
needs: of several bundles of one cluster the later ones have their ID behind the name. A
bundle stays, and what needs it is said, as long as

  tags            a name of an image would lose its content
  pushed images   an image that was pushed rests on its layers
  pods            a running pod's image is in no other bundle
  deltas          a later bundle leaves out what this one has
  rollback        it is the one before the last upgrade, to which airgap rollback goes back
  cluster         it is the newest, which has the cluster's configuration; one that no node
                  is as, since it was only imported, may be named

With --no-way-back rollback is no reason, with --drop-tags names of images may go with
the bundles that are named. The pods are asked for with the cluster's kubeconfig;
where there is a cluster that does not answer, nothing is removed, but with --no-pods.
A delta that is being made somewhere against a receipt of this host counts on what is
removed, and will be refused here.

The registry is restarted when something was removed. The store remembers the names
of the images: nobody can push to them, and an earlier push is not served again.`

func (a *app) registryPrune() *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:     "prune [NAME...]",
		Short:   "Remove bundles from this host's store that nothing needs any more",
		Long:    pruneLong,
		Example: "  airgap registry prune --dry-run\n  airgap registry prune bank-0f3c19d2a7b4 --drop-tags",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dropTags && len(args) == 0 {
				return advice.Usagef("airgap registry prune: --drop-tags wants the names of the bundles")
			}
			return a.runPrune(cmd.Context(), o, args)
		},
	}
	o.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.pushed, "pushed", site.PushedDir, "directory of what was pushed")
	f.StringVar(&o.kubeconfig, "kubeconfig", kubeadm.AdminConf, "kubeconfig of the cluster that pulls from here")
	f.BoolVar(&o.noPods, "no-pods", false, "do not ask which pods run")
	f.BoolVar(&o.dropTags, "drop-tags", false, "let the names of images go that only the named bundles have")
	f.BoolVar(&o.noWayBack, "no-way-back", false, "let the bundle go that airgap rollback would go back to")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	return cmd
}

func (a *app) runPrune(ctx context.Context, o pruneOptions, names []string) error {
	t, err := site.TrustedKeys(o.keys, site.StoredBundles(o.store)...)
	if err != nil {
		return err
	}
	store := registry.Store{Dir: o.store}
	bundles, err := store.Open(t.Keys...)
	defer bundle.NewView(bundles...).Close()
	if err != nil {
		return advice.Add(err, "what a bundle that does not open holds is not known; repair it first with airgap registry import DIR")
	}
	for _, name := range names {
		if !slices.ContainsFunc(bundles, func(b *bundle.Bundle) bool { return site.NameInStore(b) == name }) {
			return fmt.Errorf("no bundle %s in %s", name, o.store)
		}
	}
	var use registry.Use
	on := relied{}
	if use.Pushed, err = registry.PushedBlobs(ctx, o.pushed, bundles); err != nil {
		return err
	}
	if !o.noPods && site.Exists(o.kubeconfig) {
		client, err := verdict.ClusterClient(o.kubeconfig)
		if err == nil {
			use.Running, err = runningDigests(ctx, client)
		}
		if err != nil {
			return advice.Add(err, "nothing was removed, since running pods may need it; --no-pods goes on without asking")
		}
		if on.as, err = installedBundles(ctx, client); err != nil {
			on.as = nil // who may not ask for nodes does not know: the newest stays
		}
	}
	if !o.noWayBack && o.store == site.StoreDir {
		if on.last, err = upgraderecord.Read(); err != nil {
			return err
		}
	}
	list, err := prune(store, bundles, use, on, o, names)
	if !o.dryRun && (err != nil || slices.ContainsFunc(list, func(p pruned) bool { return p.Removed })) {
		err = errors.Join(err, serveAgain(context.WithoutCancel(ctx), o.store)) // or it goes on serving what is gone
	}
	return errors.Join(a.print(list, func(w io.Writer) error { return writePruned(w, list, o.dryRun) }), err, stayed(list, names))
}

// relied is what counts on bundles as a whole.
type relied struct {
	last upgraderecord.Record // says which one is the way back
	as   map[string]bool      // by ID: some node is as this one
}

// onlyImported reports whether a bundle is one that no node is as, beside another one that
// some are as.
func (r relied) onlyImported(b *bundle.Bundle, all []*bundle.Bundle) bool {
	return !r.as[b.ID()] && slices.ContainsFunc(all, func(other *bundle.Bundle) bool { return r.as[other.ID()] })
}

// goesBackTo reports whether a bundle is the one before the last upgrade, or one that this is a
// delta against: what came later goes when the upgrade is taken back.
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

// prune removes one bundle after the other, the oldest first: each time what the
// others need is asked anew.
func prune(store registry.Store, bundles []*bundle.Bundle, use registry.Use, on relied, o pruneOptions, names []string) ([]pruned, error) {
	bundles = bundlesOf([]*bundle.View{bundle.NewView(bundles...)})
	list := []pruned{}
	if !o.dryRun {
		if err := store.Sweep(); err != nil {
			return list, err
		}
	}
	for i := 0; i < len(bundles); {
		b := bundles[i]
		described := status.Describe(b.Index())
		p := pruned{Name: site.NameInStore(b), Created: described.Created, Bytes: described.Bytes, Needs: registry.Needs(bundles, use)[i]}
		if on.goesBackTo(b, bundles) {
			p.Needs = append(p.Needs, registry.Need{By: "rollback", What: []string{"airgap rollback goes back to it"}})
		}
		named := slices.Contains(names, p.Name)
		if i == len(bundles)-1 && (!named || !on.onlyImported(b, bundles)) {
			p.Needs = append(p.Needs, registry.Need{By: "cluster", What: []string{"its configuration is in the newest bundle"}})
		}
		standing := slices.DeleteFunc(slices.Clone(p.Needs), func(n registry.Need) bool { return n.By == "tags" && o.dropTags && named })
		p.Removed = len(standing) == 0 && (named || len(names) == 0)
		if !p.Removed {
			list = append(list, p)
			i++
			continue
		}
		if !o.dryRun {
			if err := store.Remove(b); err != nil {
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

// installedBundles are those that nodes say they are as, by ID.
func installedBundles(ctx context.Context, client kubernetes.Interface) (map[string]bool, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask the nodes which bundle they are as: %w", err)
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

// serveAgain has this host's registry open its store anew, where it runs.
func serveAgain(ctx context.Context, store string) error {
	if store != site.StoreDir {
		return nil
	}
	_, err := host.Local{}.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"try-restart", registry.UnitName}})
	return err
}

// stayed is an error where somebody named a bundle that had to stay.
func stayed(list []pruned, names []string) error {
	for _, p := range list {
		if !p.Removed && slices.Contains(names, p.Name) {
			return fmt.Errorf("bundle %s is still needed", p.Name)
		}
	}
	return nil
}

func writePruned(w io.Writer, list []pruned, dryRun bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no bundle in the store")
		return err
	}
	for _, p := range list {
		verdict := "stays"
		switch {
		case p.Removed && dryRun:
			verdict = "would be removed"
		case p.Removed:
			verdict = "removed"
		}
		if _, err := fmt.Fprintf(w, "%-24s %s  %9s  %s\n", p.Name, p.Created, ui.Size(p.Bytes), verdict); err != nil {
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
