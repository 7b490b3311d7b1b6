// Package hostcheck runs the preflight checks of this host and between hosts, before airgap changes anything.
package hostcheck

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"airgap.dev/airgap/bundle/dnf"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
)

// Judge gathers this host's facts and runs the checks. stored means that the store already has the bundle. If dry is
// nil, dnf runs later.
func Judge(ctx context.Context, s *site.Site, choice preflight.Choice, stored bool, dry func(context.Context) error) (preflight.Report, error) {
	want, err := Want(s, stored)
	if err != nil {
		return preflight.Report{}, err
	}
	if want.NewEndpoint, err = founds(s); err != nil {
		return preflight.Report{}, err
	}
	transaction, end := begin(ctx, &want, choice, dry)
	defer end()
	gathered, err := facts.Gather(ctx, host.Local{})
	if err != nil {
		return preflight.Report{}, err
	}
	gathered.Asked = ask(ctx, s, &want, choice, gathered, transaction)
	return preflight.Run(ctx, gathered, want, choice)
}

// begin begins the dry run of dnf, which takes most of the time of preflight, next to the reading of facts. A host with
// etcd tests its disk first, because dnf would slow it down. end ends the dry run and waits for it.
func begin(ctx context.Context, w *preflight.Want, choice preflight.Choice, dry func(context.Context) error) (transaction func() facts.Outcome, end func()) {
	switch {
	case dry == nil:
		return func() facts.Outcome {
			return facts.Outcome{Skipped: "airgap join runs dnf after the registry is available"}
		}, func() {}
	case !choice.Judges("packages", w):
		return func() facts.Outcome { return facts.Outcome{} }, func() {}
	case choice.Judges("etcd-fsync", w):
		return func() facts.Outcome { return facts.OutcomeOf(dry(ctx)) }, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var outcome facts.Outcome
	go func() {
		defer close(done)
		outcome = facts.OutcomeOf(dry(ctx))
	}()
	return func() facts.Outcome { <-done; return outcome }, func() { cancel(); <-done }
}

// AtRest waits for dnf and kubeadm, which continue when the airgap that started them is killed. Until they exit, the
// facts of the host still change.
func AtRest(ctx context.Context, s *site.Site, p ui.Progress) error {
	left := func(what string) func() {
		return func() { p.Say("waiting for %s, which an interrupted run left running", what) }
	}
	if err := (dnf.Transaction{StateDir: site.DnfDir}).Await(ctx, left("dnf")); err != nil {
		return err
	}
	return node.Await(ctx, s.Machine.Machine, left("kubeadm"))
}

// JudgeAtRest calls AtRest and then Judge.
func JudgeAtRest(ctx context.Context, s *site.Site, skip []string, stored bool, dry func(context.Context) error, p ui.Progress) (preflight.Report, error) {
	if err := AtRest(ctx, s, p); err != nil {
		return preflight.Report{}, err
	}
	return Judge(ctx, s, preflight.Choice{Skip: skip}, stored, dry)
}

// Pass returns an error unless all checks pass.
func Pass(ctx context.Context, s *site.Site, skip []string, stored bool, dry func(context.Context) error, p ui.Progress) error {
	report, err := JudgeAtRest(ctx, s, skip, stored, dry, p)
	if err != nil {
		return err
	}
	if err := Failed(report); err != nil {
		return err
	}
	p.Say("preflight: %s", report.Summary())
	return nil
}

// Failed returns a preflight.ReportError unless the host passed.
func Failed(r preflight.Report) error {
	if r.Passed() {
		return nil
	}
	return advice.Add(&preflight.ReportError{Report: r}, "nothing was changed; fix the failed checks (airgap docs NAME shows the page of a check) and run the command again")
}

// MustBeRoot returns an error unless the user is root.
func MustBeRoot(verb string) error {
	if os.Geteuid() != 0 {
		return advice.Add(fmt.Errorf("airgap %s changes this host and requires root", verb), "run the command with sudo")
	}
	return nil
}

// MustBeInstalled returns an error if airgap is not installed on this host, or the user is not root.
func MustBeInstalled(command string) error {
	return cmp.Or(site.MustBeInstalled(command), MustBeRoot(command))
}

// Want returns the requirements of the site for this host. stored means that the store already has the bundle.
func Want(s *site.Site, stored bool) (preflight.Want, error) {
	began, lastRun, err := begunHere()
	if err != nil {
		return preflight.Want{}, err
	}
	c := s.Config
	holds := s.Index.Summary()
	w := preflight.Want{
		Roles: c.PreflightRoles(s.Node.Name), OS: s.Index.Lock.OS, KubernetesVersion: c.Kubernetes.Version, ProxyMode: c.Kubernetes.ProxyMode(s.Facts),
		AllowCgroupV1: c.Kubernetes.AllowsCgroupV1(),
		NodeName:      s.Node.Name, NodeAddress: s.Node.Address, PodSubnet: c.Kubernetes.PodSubnet, ServiceSubnet: c.Kubernetes.ServiceSubnet,
		AuditBytes: c.Kubernetes.Audit.Bytes(), LogBytes: kubeadm.PodLogBytes(c.Kubernetes, s.Facts),
		SysctlFile: settings.SysctlFile, KubeletSysctls: settings.KubeletSysctls(), Nodes: len(c.Nodes), MediumDevices: s.Medium,
		Network:    cni.NeedsOf(c.Network),
		ImageBytes: holds.Images.Bytes, BundleCreated: s.Index.Created, Managed: began,
		LastRun: lastRun, Peer: s.Peer, Ports: nodesteps.PortsToHold(s), SwapOff: c.HostSettings.Swap == settings.DisableSwap,
		CRIO: c.Runtime.CRIO(), RuntimePackage: c.Runtime.Package(), NoDNS: c.Kubernetes.DNS == kubeadm.NoDNS, Site: c.Preflight,
	}
	w.ResolvConf, w.SiteRanges = c.Kubernetes.ResolvConf(), c.Network.SiteRanges
	if c.HostSettings.Firewalld == settings.LeaveFirewalld {
		w.FirewallLeft = nodesteps.PortsToOpen(s)
	}
	for _, addon := range c.Addons {
		w.Addons = append(w.Addons, addon.Name)
	}
	w.StorageNeeds = s.Index.Lock.Storage
	w.NodePorts, w.PortsFile = nodesteps.NodePorts(s), settings.NetworkLimitsFile
	for _, p := range append(settings.NodeSysctls(), nodesteps.NetworkLimits(s).Neighbours()...) {
		w.Sysctls = append(w.Sysctls, preflight.BootSysctl{Name: p.Key, Value: p.Value, Floor: p.Floor})
	}
	w.EndpointHost, _, _ = net.SplitHostPort(c.Kubernetes.ControlPlaneEndpoint) // "" if it has no port
	if existing := c.Registry.Existing; existing != nil {
		w.SiteRegistry = existing.Address
	}
	for _, n := range c.Nodes {
		w.OtherAddresses = append(w.OtherAddresses, n.Address)
	}
	if host := Balancer(c); host != "" {
		w.OtherAddresses = append(w.OtherAddresses, host)
	}
	packages, _, err := nodesteps.Packages(s)
	if err != nil {
		return w, err
	}
	for _, p := range packages {
		w.Packages = append(w.Packages, p.NEVRA.Name)
		w.PackageBytes += p.Size
		switch p.NEVRA.Name {
		case "kernel-devel", "kernel-uek-devel":
			w.Headers = append(w.Headers, p.NEVRA.Kernel())
		case "kernel-modules-extra", "kernel-uek-modules-extra":
			w.ModulesExtra = append(w.ModulesExtra, p.NEVRA.Kernel())
		}
	}
	w.NouveauOff, w.Installer = s.Config.GPU.Source != gpu.Site, s.Config.GPU.Source == gpu.Runfile
	if s.ServesRegistry() {
		w.Roles = append(w.Roles, preflight.Registry)
	}
	if s.ServesRegistry() && !stored {
		w.StoreBytes = cmp.Or(s.ToStore, holds.Size)
	}
	etcd, err := s.Machine.EtcdBytes()
	if etcd > 0 {
		w.BackupBytes = backup.Takes(etcd)
	}
	return w, err
}

// founds returns the endpoint of the cluster that this host will create: it is the first host, does not join, and
// has no cluster yet. Otherwise it returns "".
func founds(s *site.Site) (string, error) {
	if s.Node.Name != s.Config.Master().Name || s.Peer.Name != "" {
		return "", nil
	}
	if founds, err := s.Machine.StartsCluster(); err != nil || !founds {
		return "", err
	}
	return s.Config.Kubernetes.ControlPlaneEndpoint, nil
}

// begunHere reports whether the journal has steps of an installation on this host. The files and ports of these
// steps are then not an error. The first steps do not count, because their results do not fail any check. lastRun
// is the latest time in the journal. The last entry can have an earlier time, because clocks can change.
func begunHere() (begun bool, lastRun time.Time, err error) {
	entries, err := step.OpenJournal(site.JournalFile).Entries()
	for _, e := range entries {
		begun = begun || !slices.Contains([]string{"record", "trust", "network-choice", "firewalld", nodesteps.FirewallRules, nodesteps.MeasureAgain, "store"}, e.Step)
		if e.Time.After(lastRun) {
			lastRun = e.Time
		}
	}
	return begun, lastRun, err
}
