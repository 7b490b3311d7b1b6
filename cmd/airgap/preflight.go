package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
)

func (a *app) preflight() *cobra.Command {
	var keys []string
	var choice preflight.Choice
	var nodeName, explain, page string
	var list, indexOnly, reports, allHosts bool
	cmd := &cobra.Command{
		Use:   "preflight DIR | --reports FILE…",
		Short: "Check this server before anything on it is changed",
		Long: `Reads the facts of this server and judges them by what the bundle in DIR is
about to install. Nothing is changed. airgap install runs the same checks first.

A site sets limits of the checks, and which of them only warn, in airgap.yaml
under preflight.checks; airgap schema has the names.

With --all-hosts it checks the other hosts too, through SSH, and measures what
the network between all of them lets through: ports, packets of each size, a
real VXLAN, protocol 4, clocks. Without SSH between hosts, airgap netprobe
measures the same.

--output html is a page to be printed, or handed to those who look after the
servers. Where hosts cannot reach each other, each writes its own report with
--output json, and --reports makes one of them all, in any format.

Exit code 3 when a check fails, or when something could not be told.`,
		Example: "  airgap preflight /media/stick/bank\n  airgap preflight /media/stick/bank --output junit > preflight.xml\n" +
			"  airgap preflight /media/stick/bank --output json > /media/stick/reports/$(hostname).json\n" +
			"  airgap preflight --reports /media/stick/reports --output html > preflight.html\n" +
			"  airgap preflight --explain disk-space",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case page != "" && !allHosts:
				return advice.Usagef("%s: --network-page is about several hosts: give --all-hosts, or use airgap netprobe", cmd.CommandPath())
			case allHosts && (indexOnly || list || reports || explain != ""):
				return advice.Usagef("%s: --all-hosts judges the hosts of a whole bundle: leave --index, --list, --explain and --reports away", cmd.CommandPath())
			case reports:
				return onlyReports(cmd, args)
			case list || explain != "":
				return noArgs(cmd, args)
			default:
				return oneArg("the bundle's directory")(cmd, args)
			}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case reports:
				return a.showReports(args)
			case list:
				return a.listChecks()
			case explain != "":
				return a.explainCheck(explain)
			case allHosts:
				return a.preflightAll(cmd.Context(), args[0], keys, nodeName, page, choice)
			case indexOnly:
				return a.preflightByIndex(cmd.Context(), args[0], keys, nodeName, choice)
			default:
				return a.preflightFrom(cmd.Context(), args[0], keys, nodeName, choice)
			}
		},
	}
	keyFlags(cmd, &keys)
	cmd.Flags().StringSliceVar(&choice.Skip, "skip", nil, "checks to leave out, by id")
	cmd.Flags().StringSliceVar(&choice.Only, "only", nil, "the checks to run, by id; default: all")
	cmd.Flags().StringVar(&nodeName, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().BoolVar(&indexOnly, "index", false, "DIR has the signed index and no parts, as on a host that is going to join; dnf is not asked")
	cmd.Flags().BoolVar(&allHosts, "all-hosts", false, "check all hosts of airgap.yaml through SSH, and the network between them; puts airgap.rpm on the others")
	pageFlag(cmd, &page)
	cmd.Flags().BoolVar(&list, "list", false, "list the checks")
	cmd.Flags().BoolVar(&reports, "reports", false, "judge nothing, but show the reports that are named in place of the bundle as one: files that --output json wrote on hosts, or directories of them (*.json)")
	cmd.Flags().StringVar(&explain, "explain", "", "say of one check, by id, what breaks without it and what a site may set")
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

// preflightFrom judges this host by the bundle in dir. Of a delta, a host that
// is to join has no base, and needs none: its packages come from the registry.
func (a *app) preflightFrom(ctx context.Context, dir string, keys []string, node string, choice preflight.Choice) error {
	b, t, err := openBundle(dir, keys)
	if err != nil {
		return err
	}
	defer b.Close()
	s, err := freshSite(b.Index(), node)
	if err != nil {
		return err
	}
	if s.config.SSH == nil {
		if err := s.takeMeasured(measuredFile); err != nil {
			return err
		}
	}
	s.medium = host.DeviceOf(dir)
	store := registry.Store{Dir: storeDir}
	stored, err := store.Holds(b, t.keys...)
	if err != nil {
		return err
	}
	v, err := store.View(b, t.keys...)
	joins := s.node.Name != s.config.Master().Name
	var dry func(context.Context) error
	switch {
	case err == nil:
		defer v.Close()
		dry = s.dryRunFrom(v)
	case !joins || !errors.Is(err, bundle.ErrBase):
		return err
	}
	report, err := s.judge(ctx, choice, stored, dry)
	if err != nil {
		return err
	}
	return a.showPreflight(report)
}

// judge gathers this host's facts and runs the checks. A nil dry leaves dnf's
// answer to a later moment.
func (s *site) judge(ctx context.Context, choice preflight.Choice, stored bool, dry func(context.Context) error) (preflight.Report, error) {
	facts, err := preflight.Gather(ctx, host.Local{})
	if err != nil {
		return preflight.Report{}, err
	}
	want, err := s.want(stored)
	if err != nil {
		return preflight.Report{}, err
	}
	if err := s.askEndpoint(ctx, &want); err != nil {
		return preflight.Report{}, err
	}
	measureDisk(ctx, &want)
	if existing := s.config.Registry.Existing; existing != nil {
		want.SiteRegistry = existing.Address
		want.MissingImages = func() ([]string, error) { return existing.Missing(ctx, s.index.Lock.Images) }
	}
	if dry == nil {
		want.NoTransaction = "airgap join asks dnf, once the registry is up"
	} else {
		want.DryTransaction = func() error { return dry(ctx) }
	}
	return preflight.Run(ctx, facts, want, choice)
}

// measureDisk has etcd's disk measured where etcd does not write to it yet. Three seconds
// are enough to tell a slow one, and few enough to wait for.
func measureDisk(ctx context.Context, w *preflight.Want) {
	dir := preflight.EtcdDir
	if _, err := os.Stat(filepath.Join(dir, "member")); err == nil {
		w.NoSyncLatency = "etcd writes there already"
		return
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
	}
	w.SyncLatency = func() (time.Duration, error) { return host.SyncLatency(ctx, dir, 3*time.Second) }
}

// askEndpoint asks for a cluster at the API's address where this host is to start
// one: the first host, which joins nobody and has not begun.
func (s *site) askEndpoint(ctx context.Context, w *preflight.Want) error {
	if s.node.Name != s.config.Master().Name || s.peer.Name != "" {
		return nil
	}
	founds, err := s.machine.Founds()
	if err != nil || !founds {
		return err
	}
	w.Founds = s.config.Kubernetes.ControlPlaneEndpoint
	w.Taken = kubeadm.ClusterAt(ctx, w.Founds)
	return nil
}

// atRest waits for dnf and kubeadm, which go on when the airgap that started
// them was killed: until then nothing that is asked of the host holds for long.
func (s *site) atRest(ctx context.Context, p ui.Progress) error {
	left := func(what string) func() {
		return func() { p.Say("waiting for %s, which an interrupted run left at work", what) }
	}
	if err := (rpm.Transaction{StateDir: dnfDir}).Await(ctx, left("dnf")); err != nil {
		return err
	}
	return s.machine.Await(ctx, left("kubeadm"))
}

// judgeAtRest judges the host once nothing is at work on it.
func (s *site) judgeAtRest(ctx context.Context, skip []string, stored bool, dry func(context.Context) error, p ui.Progress) (preflight.Report, error) {
	if err := s.atRest(ctx, p); err != nil {
		return preflight.Report{}, err
	}
	return s.judge(ctx, preflight.Choice{Skip: skip}, stored, dry)
}

// pass lets nothing happen to the host unless all checks pass.
func (a *app) pass(ctx context.Context, s *site, skip []string, stored bool, dry func(context.Context) error, p ui.Progress) error {
	report, err := s.judgeAtRest(ctx, skip, stored, dry, p)
	if err != nil {
		return err
	}
	if !report.Passed() {
		return a.showPreflight(report)
	}
	p.Say("preflight: %s", report.Summary())
	return nil
}

// want is what the host is to become.
func (s *site) want(stored bool) (preflight.Want, error) {
	began, lastRun, err := begunHere()
	if err != nil {
		return preflight.Want{}, err
	}
	c := s.config
	holds := s.index.Summary()
	w := preflight.Want{
		Roles: c.PreflightRoles(s.node.Name), OS: s.index.Lock.OS, KubernetesVersion: c.Kubernetes.Version, ProxyMode: c.Kubernetes.ProxyMode(s.facts),
		AllowCgroupV1: c.Kubernetes.AllowsCgroupV1(),
		NodeAddress:   s.node.Address, PodSubnet: c.Kubernetes.PodSubnet, ServiceSubnet: c.Kubernetes.ServiceSubnet,
		AuditBytes: c.Kubernetes.Audit.Bytes(),
		SysctlFile: kubeadm.SysctlFile, KubeletSysctls: kubeadm.KubeletSysctls(), Nodes: len(c.Nodes), MediumDevice: s.medium,
		NetworkPlugin: c.Network.Plugin, LooseFilter: c.Network.Plugin == cni.Cilium, VXLANPort: c.Network.VXLANPort(),
		ImageBytes: holds.Images.Bytes, BundleCreated: s.index.Created, Ours: began,
		LastRun: lastRun, Peer: s.peer, Ports: s.portsToHold(), SwapOff: c.HostSettings.Swap == kubeadm.DisableSwap,
		CRIO: c.Runtime.CRIO(), RuntimePackage: c.Runtime.Package(), NoDNS: c.Kubernetes.DNS == kubeadm.NoDNS, GPUs: gpu.Present, Driver: gpu.Loaded, Site: c.Preflight,
	}
	if c.HostSettings.Firewalld == kubeadm.LeaveFirewalld {
		w.FirewallLeft = s.portsToOpen()
	}
	for _, p := range kubeadm.NodeSysctls() {
		w.Sysctls = append(w.Sysctls, preflight.BootSysctl{Name: p.Key, Value: p.Value, Floor: p.Floor})
	}
	for _, n := range c.Nodes {
		w.OtherAddresses = append(w.OtherAddresses, n.Address)
	}
	if host := balancer(c); host != "" {
		w.OtherAddresses = append(w.OtherAddresses, host)
	}
	packages, _, err := s.packages()
	if err != nil {
		return w, err
	}
	for _, p := range packages {
		w.Packages = append(w.Packages, p.Name())
		if kernel, is := p.Kernel("kernel-devel", "kernel-uek-devel"); is {
			w.Headers = append(w.Headers, kernel)
		}
		if kernel, is := p.Kernel("kernel-modules-extra", "kernel-uek-modules-extra"); is {
			w.ModulesExtra = append(w.ModulesExtra, kernel)
		}
	}
	w.NouveauOff, w.Installer = s.config.GPU.Source != gpu.Site, s.config.GPU.Source == gpu.Runfile
	if s.servesRegistry() {
		w.Roles = append(w.Roles, preflight.Registry)
	}
	if s.servesRegistry() && !stored {
		w.StoreBytes = cmp.Or(s.toStore, holds.Size)
	}
	etcd, err := s.machine.EtcdBytes()
	if etcd > 0 {
		w.BackupBytes = backup.Takes(etcd)
	}
	return w, err
}

// begunHere reports whether the journal says that airgap works on this host
// already: then its own files and ports are not in the way. The first steps, a
// record, open ports and a bundle in the store, are in nobody's way. lastRun is the latest
// time in the journal, which need not be its last: clocks jump.
func begunHere() (begun bool, lastRun time.Time, err error) {
	entries, err := step.OpenJournal(journalFile).Entries()
	for _, e := range entries {
		begun = begun || !slices.Contains([]string{"record", "trust", "network-choice", "firewalld", "store"}, e.Step)
		if e.Time.After(lastRun) {
			lastRun = e.Time
		}
	}
	return begun, lastRun, err
}

// showPreflight prints the report and turns a bad one into exit code 3.
func (a *app) showPreflight(r preflight.Report) error {
	if err := a.printReport(r, forms{r.Text, r.JUnit, preflight.Reports{r}.HTML}); err != nil {
		return err
	}
	if !r.Passed() {
		return advice.Add(&coded{exitPreflight, errShown}, "nothing was changed; mend what failed (airgap docs NAME has the page of a check) and run the command again")
	}
	return nil
}

// explained is a check without its code.
type explained struct {
	ID     string         `json:"id"`
	Title  string         `json:"title"`
	Breaks string         `json:"breaks"`
	Source string         `json:"source"`
	Role   preflight.Role `json:"role,omitempty"` // which it is for; all without one
	Limits []limitAllowed `json:"limits"`
}

// limitAllowed is what a site may set in airgap.yaml.
type limitAllowed struct {
	Name  string            `json:"name"` // preflight.checks.ID.NAME
	Unit  preflight.Measure `json:"unit"`
	About string            `json:"about"`
}

// explainCheck says of a check what nobody can look up at a site without internet.
func (a *app) explainCheck(id string) error {
	if err := a.noReport("airgap preflight --explain"); err != nil {
		return err
	}
	c, err := preflight.Lookup(id)
	if err != nil {
		return advice.Usagef("%v", err)
	}
	e := explained{ID: c.ID, Title: c.Title, Breaks: c.Breaks, Source: c.Source, Role: c.Role}
	for _, l := range c.Limits {
		e.Limits = append(e.Limits, limitAllowed{l.Name, l.Unit, l.About})
	}
	return a.print(e, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s\n\n  without it  %s\n", e.ID, e.Title, e.Breaks)
		if e.Role != "" {
			fmt.Fprintf(w, "  hosts       with the role %s\n", e.Role)
		}
		for _, l := range e.Limits {
			fmt.Fprintf(w, "  limit       %s (%s): %s\n", l.Name, l.Unit, l.About)
		}
		fmt.Fprintf(w, "  airgap.yaml preflight.checks.%s.severity: warn, and it only warns\n", e.ID)
		_, err := fmt.Fprintf(w, "  skip        --skip %s\n  source      %s\n", e.ID, e.Source)
		return err
	})
}

func (a *app) listChecks() error {
	if err := a.noReport("airgap preflight --list"); err != nil {
		return err
	}
	checks := preflight.Checks()
	type row struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Source string `json:"source"`
	}
	rows := make([]row, len(checks))
	for i, c := range checks {
		rows[i] = row{c.ID, c.Title, c.Source}
	}
	return a.print(rows, func(w io.Writer) error {
		for _, r := range rows {
			if _, err := fmt.Fprintf(w, "%-20s %-40s %s\n", r.ID, r.Title, r.Source); err != nil {
				return err
			}
		}
		return nil
	})
}
