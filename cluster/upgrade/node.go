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

// NodeOptions are the flags of airgap upgrade node.
type NodeOptions struct {
	join.Options
	Prepare bool // only copy the files for the upgrade to this host
}

// NodeResult is the result of airgap upgrade node.
type NodeResult struct {
	Node      string `json:"node"`
	Changed   int    `json:"changed"`   // steps that ran
	Unchanged int    `json:"unchanged"` // steps that had nothing to do
	prepared  bool
	leader    string // host where airgap upgrade runs
}

// Write prints the result, and the host where the upgrade continues.
func (r NodeResult) Write(w io.Writer) error {
	done := "upgraded"
	if r.prepared {
		done = "prepared"
	}
	_, err := fmt.Fprintf(w, "%s: %s (%d steps ran, %d were up to date); airgap upgrade on %s continues\n", r.Node, done, r.Changed, r.Unchanged, r.leader)
	return err
}

// Node upgrades or rolls back this host, which has joined the cluster. airgap upgrade on the first
// control-plane host decides when it is the turn of this host.
func Node(ctx context.Context, o NodeOptions) (NodeResult, error) {
	if err := site.MustBeInstalled("upgrade node"); err != nil {
		return NodeResult{}, err
	}
	c, err := join.Find(ctx, "upgrade node", o.Options)
	if err != nil {
		return NodeResult{}, err
	}
	s := c.Site
	if joined, err := s.Machine.Joined(); err != nil || !joined {
		return NodeResult{}, cmp.Or(err, advice.Add(errors.New("upgrade this host: it is not a node"), "join the cluster first: airgap join"))
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
		return NodeResult{}, advice.Add(err, "fix the error and run the same command again: completed steps do not run again")
	}
	return NodeResult{Node: s.Node.Name, Changed: done.Changed, Unchanged: done.Unchanged, prepared: o.Prepare, leader: s.Config.Master().Name}, nil
}

// node is this host during an upgrade of the cluster.
type node struct {
	NodeOptions
	*join.Candidate
}

// itsTurn returns an error if this host is not drained, or if the API servers are not upgraded yet.
func (n *node) itsTurn(ctx context.Context) error {
	turn, err := n.Site.OwnNote(ctx, site.UpgradeNote)
	if err != nil || turn == n.Site.Index.ID() {
		return err
	}
	return advice.Add(fmt.Errorf("upgrade %s: it is not this host's turn", n.Site.Node.Name),
		"run airgap upgrade on %s, the first control-plane host: it upgrades one host after the other, and asks for this host at its turn", n.Site.Config.Master().Name)
}

// upgrade upgrades this host to the bundle.
func (n *node) upgrade(ctx context.Context, p ui.Progress) (step.Result, error) {
	s, h := n.Site, n.Hub
	if err := repairTorn(ctx, s, p); err != nil {
		return step.Result{}, err
	}
	part, err := upgradePart(ctx, s, h)
	if err != nil {
		return step.Result{}, err
	}
	steps, left, err := join.Steps(ctx, s, h, join.NoAdmission(s), part, p)
	if err != nil {
		return step.Result{}, err
	}
	if err := hostcheck.Pass(ctx, s.Storing(left), n.Skip, left == 0, join.DryRunAt(s, h), p); err != nil {
		return step.Result{}, err
	}
	return journal.Run(ctx, steps, p)
}

// prepare copies the files for the upgrade to this host and changes nothing else.
func (n *node) prepare(ctx context.Context, p ui.Progress) (step.Result, error) {
	s, h := n.Site, n.Hub
	images, err := imagesStep(s, p)
	if err != nil {
		return step.Result{}, err
	}
	prepared := nodesteps.NoteStep(s, "prepared", "Mark this host as prepared", site.PreparedNote)
	if !s.ServesRegistry() {
		return journal.Run(ctx, []step.Step{images, prepared}, p)
	}
	v, err := h.View(ctx)
	if err != nil {
		return step.Result{}, err
	}
	record, err := recordToPrepare(ctx, s, h)
	if err != nil {
		return step.Result{}, err
	}
	steps := append([]step.Step{upgraderecord.RecordStep(record)}, nodesteps.RegistrySteps(s, v, h.Trusted, p)...)
	return journal.Run(ctx, append(steps, upgraderecord.BackupBefore(s.Index.ID()), images, prepared), p)
}

// upgradePart returns the steps of the upgrade that run between the steps of a join. There are none if
// this host has the Kubernetes version of the bundle.
func upgradePart(ctx context.Context, s *site.Site, h *join.Server) (join.UpgradePart, error) {
	before, err := stepsBefore(ctx, s, h.Open, h.Addr, false)
	if err != nil || len(before) == 0 {
		return join.UpgradePart{}, err
	}
	return join.UpgradePart{Before: before, Kubelet: []step.Step{kubeadmPart(s, false).Kubelet()}}, nil
}

// stepsBefore returns the steps of the upgrade that run before the steps of a join. There are none if
// the host has the Kubernetes version of the bundle. The kubelet's package is not among them: a
// kubelet must not be newer than the API server.
func stepsBefore(ctx context.Context, s *site.Site, from nodesteps.Source, addr string, first bool) ([]step.Step, error) {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return nil, err
	}
	var l step.List
	l.Try(kubeadmPackages(s, from, addr))
	if s.ServesRegistry() {
		l.Add(kubeadm.APIServerFiles(s.Machine, s.Config.Kubernetes))
	}
	l.Add(kubeadmPart(s, first).ControlPlane())
	return l.Steps()
}

// kubeadmPart returns the part of this host's upgrade that kubeadm does. first is true on the first
// control-plane host.
func kubeadmPart(s *site.Site, first bool) kubeadm.Upgrade {
	return kubeadm.Upgrade{Machine: s.Machine, Config: s.Config.Kubernetes, Node: s.KubeNode(), Facts: s.Facts, First: first}
}

// kubeadmPackages returns the step that installs kubeadm and the packages that it may require.
func kubeadmPackages(s *site.Site, from nodesteps.Source, addr string) (step.Step, error) {
	made, err := nodesteps.PackagesOf(s, from, addr, func(p nevra.NEVRA) bool {
		return slices.Contains([]string{"kubeadm", "kubectl", "cri-tools", "kubernetes-cni"}, p.Name)
	})
	made.Name, made.Title = "packages-kubeadm", "Install the new kubeadm with dnf"
	return made, err
}

// recordToPrepare returns the record of the upgrade on another control-plane host, for a rollback.
func recordToPrepare(ctx context.Context, s *site.Site, h *join.Server) (upgraderecord.Record, error) {
	record, err := upgraderecord.Read()
	if err != nil || record.InProgress() && record.To.ID == s.Index.ID() {
		return record, err
	}
	old, err := s.InstalledIndex(ctx, h.Trusted)
	if err != nil {
		return record, err
	}
	return upgraderecord.New(old, s.Index)
}

// imagesStep returns the step that pulls the images of the new bundle that the node needs to start.
func imagesStep(s *site.Site, p ui.Progress) (step.Step, error) {
	names, err := nodesteps.BootstrapImages(s.Config, s.Node, s.Index.Lock)
	if err != nil {
		return step.Step{}, err
	}
	digests := map[string][]string{}
	for _, i := range s.Index.Lock.Images {
		if slices.Contains(names, i.Name) {
			digests[i.Name] = slices.Compact([]string{i.Digest, i.Manifest().Digest})
		}
	}
	return runtime.ImagesStep(s.Machine.Machine, digests, p.Now), nil
}
