package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/runtime"
)

// NodeOptions are those of airgap upgrade node.
type NodeOptions struct {
	join.Options
	Prepare bool // only get onto this host what its upgrade takes
}

// NodeResult is the result of airgap upgrade node.
type NodeResult struct {
	Node      string `json:"node"`
	Changed   int    `json:"changed"`   // steps that ran
	Unchanged int    `json:"unchanged"` // steps whose result held already
	prepared  bool
	leader    string // the host that airgap upgrade runs on
}

// Write says what was done, and where the upgrade goes on.
func (r NodeResult) Write(w io.Writer) error {
	done := "upgraded"
	if r.prepared {
		done = "prepared"
	}
	_, err := fmt.Fprintf(w, "%s: %s (%d steps ran, %d held already); airgap upgrade on %s goes on\n", r.Node, done, r.Changed, r.Unchanged, r.leader)
	return err
}

// Node does one host's part of an upgrade, or of the way back from one, on a host that has
// joined: airgap upgrade on the first control-plane host says when it is this one's turn.
func Node(ctx context.Context, o NodeOptions) (NodeResult, error) {
	c, err := join.Find(ctx, "upgrade node", o.Options)
	if err != nil {
		return NodeResult{}, err
	}
	s := c.Site
	if joined, err := s.Machine.Joined(); err != nil || !joined {
		return NodeResult{}, cmp.Or(err, advice.Add(errors.New("upgrade this host: it is no node"), "airgap join makes it one"))
	}
	n := &node{NodeOptions: o, Candidate: c}
	if !o.Prepare {
		if err := n.itsTurn(ctx); err != nil {
			return NodeResult{}, err
		}
		if err := hostcheck.ClockAgrees(s, o.Skip); err != nil {
			return NodeResult{}, err
		}
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return NodeResult{}, err
	}
	defer release()
	p := o.Console.Progress()
	run := n.upgrade
	if o.Prepare {
		run = n.prepare
	}
	done, err := run(ctx, p)
	if err != nil {
		return NodeResult{}, advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return NodeResult{Node: s.Node.Name, Changed: done.Changed, Unchanged: done.Unchanged, prepared: o.Prepare, leader: s.Config.Master().Name}, nil
}

// node is a host of a cluster that is being upgraded.
type node struct {
	NodeOptions
	*join.Candidate
}

// itsTurn refuses a host whose pods are still there, or which comes before the API servers
// are upgraded.
func (n *node) itsTurn(ctx context.Context) error {
	turn, err := n.Site.OwnNote(ctx, site.UpgradeNote)
	if err != nil || turn == n.Site.Index.ID() {
		return err
	}
	return advice.Add(fmt.Errorf("upgrade %s: it is not this host's turn", n.Site.Node.Name),
		"airgap upgrade on %s, the first control-plane host, upgrades one host after the other, and says when it is this one's turn", n.Site.Config.Master().Name)
}

// upgrade brings this host to the bundle.
func (n *node) upgrade(ctx context.Context, p ui.Progress) (step.Result, error) {
	s, h := n.Site, n.Hub
	if err := mendTorn(ctx, s, p); err != nil {
		return step.Result{}, err
	}
	part, err := partOf(ctx, s, h)
	if err != nil {
		return step.Result{}, err
	}
	steps, left, err := join.Steps(ctx, s, h, join.Nobody(s), part, p)
	if err != nil {
		return step.Result{}, err
	}
	if err := hostcheck.Pass(ctx, s.Storing(left), n.Skip, left == 0, join.DryRunAt(s, h), p); err != nil {
		return step.Result{}, err
	}
	return journal.Run(ctx, steps, p)
}

// prepare gets onto this host everything that its upgrade takes, while it goes on as it was.
func (n *node) prepare(ctx context.Context, p ui.Progress) (step.Result, error) {
	s, h := n.Site, n.Hub
	images, err := imagesStep(s)
	if err != nil {
		return step.Result{}, err
	}
	prepared := nodesteps.NoteStep(s, "prepared", "Say that this host is prepared", site.PreparedNote)
	if !s.ServesRegistry() {
		return journal.Run(ctx, []step.Step{images, prepared}, p)
	}
	v, err := h.View(ctx)
	if err != nil {
		return step.Result{}, err
	}
	record, err := preparing(ctx, s, h)
	if err != nil {
		return step.Result{}, err
	}
	steps := append([]step.Step{upgraderecord.RecordStep(record)}, nodesteps.RegistrySteps(s, v, h.Trusted, p)...)
	return journal.Run(ctx, append(steps, upgraderecord.BackupBefore(s.Index.ID()), images, prepared), p)
}

// partOf returns the steps of the upgrade that come between those of a join; none where
// this host's Kubernetes is as the bundle has it.
func partOf(ctx context.Context, s *site.Site, h *join.Hub) (join.UpgradePart, error) {
	before, err := stepsBefore(ctx, s, h.Open, h.Addr, false)
	if err != nil || len(before) == 0 {
		return join.UpgradePart{}, err
	}
	return join.UpgradePart{Before: before, Kubelet: []step.Step{kubeadmPart(s, false).Kubelet()}}, nil
}

// stepsBefore returns the steps of a host that is to be upgraded which come before all
// that a joining host does; none where its Kubernetes is as the bundle has it. The kubelet's
// package is not among them: a kubelet must not be newer than the API server.
func stepsBefore(ctx context.Context, s *site.Site, from nodesteps.Source, addr string, first bool) ([]step.Step, error) {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return nil, err
	}
	var l step.List
	l.Try(packagesFirst(s, from, addr))
	if s.ServesRegistry() {
		l.Add(kubeadm.APIServerFiles(s.Machine, s.Config.Kubernetes))
	}
	l.Add(kubeadmPart(s, first).ControlPlane())
	return l.Steps()
}

// kubeadmPart returns kubeadm's part of this host's upgrade; first is for the first control-plane host.
func kubeadmPart(s *site.Site, first bool) kubeadm.Upgrade {
	return kubeadm.Upgrade{Machine: s.Machine, Config: s.Config.Kubernetes, Node: s.KubeNode(), Facts: s.Facts, First: first}
}

// packagesFirst are kubeadm's package and those that it may want with it.
func packagesFirst(s *site.Site, from nodesteps.Source, addr string) (step.Step, error) {
	made, err := nodesteps.PackagesOf(s, from, addr, func(p nevra.NEVRA) bool {
		return slices.Contains([]string{"kubeadm", "kubectl", "cri-tools", "kubernetes-cni"}, p.Name)
	})
	made.Name, made.Title = "packages-kubeadm", "Install the new kubeadm with dnf"
	return made, err
}

// preparing is what another control-plane host writes down of an upgrade, for the way
// back.
func preparing(ctx context.Context, s *site.Site, h *join.Hub) (upgraderecord.Record, error) {
	record, err := upgraderecord.Read()
	if err != nil || record.Under() && record.To.ID == s.Index.ID() {
		return record, err
	}
	old, err := s.InstalledIndex(ctx, h.Trusted)
	if err != nil {
		return record, err
	}
	return upgraderecord.New(old, s.Index)
}

// imagesStep pulls what this host needs to come back, by the new bundle.
func imagesStep(s *site.Site) (step.Step, error) {
	names, err := nodesteps.BootstrapImages(s.Config, s.Node, s.Index.Lock)
	if err != nil {
		return step.Step{}, err
	}
	digests := map[string]string{}
	for _, i := range s.Index.Lock.Images {
		if slices.Contains(names, i.Name) {
			digests[i.Name] = i.Digest
		}
	}
	return runtime.ImagesStep(s.Machine.Machine, digests), nil
}
