package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/preflight/netprobe"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/existing"
)

// hostKinds are kinds of servers, by how they join the cluster.
type hostKinds int

const (
	firstHost hostKinds = 1 << iota
	furtherControlPlane
	workerHost
)

// words returns the name of the kinds. each is the name of all kinds together.
func (k hostKinds) words(each string) string {
	switch k {
	case firstHost:
		return "first host"
	case furtherControlPlane:
		return "further control-plane hosts"
	case firstHost | furtherControlPlane:
		return "control-plane hosts"
	case workerHost:
		return "workers"
	case furtherControlPlane | workerHost:
		return "hosts that join"
	}
	return each
}

// stepSite is a cluster with other steps than the default cluster: more, fewer, or with other titles.
type stepSite struct {
	each, with string // which servers, and with which setting
	change     func(*site.Site)
	like       string // with of the site with the steps that this site can leave out, besides the default site
	titles     bool   // list its titles if they differ
}

func stepSites() []stepSite {
	cards := func(s *site.Site) {
		tree := fstest.MapFS{}
		for name, text := range map[string]string{"vendor": "0x10de", "device": "0x2330", "class": "0x030200"} {
			tree["sys/bus/pci/devices/0000:01:00.0/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		s.Machine.Host, s.Index.Lock.Drivers = sitetest.CardHost{MapFS: tree}, map[string]string{}
		s.Index.Lock.Images = append(s.Index.Lock.Images, bundle.Image{
			Name: s.Config.GPU.Image(), Digest: "sha256:" + strings.Repeat("0", 64), NeededBy: []string{bundle.GPUList},
		})
		for i, n := range s.Config.Nodes {
			s.Config.Nodes[i].Roles = append(slices.Clone(n.Roles), config.Worker, config.GPU)
			s.Index.Lock.Drivers[n.Name] = "580.82.07"
		}
	}
	return []stepSite{
		{each: "every server", change: func(*site.Site) {}},
		{each: "servers with GPUs", with: "if a node has GPUs", change: cards},
		{each: "servers with GPUs", with: "with `gpu.source: runfile`", like: "if a node has GPUs", change: func(s *site.Site) {
			cards(s)
			s.Config.GPU.Source, s.Config.GPU.Installer.URL = gpu.Runfile, "https://example.com/NVIDIA-Linux-x86_64-580.82.07.run"
		}},
		{each: "servers with GPUs", with: "with `gpu.source: host`", like: "if a node has GPUs", change: func(s *site.Site) {
			cards(s)
			s.Config.GPU.Source = gpu.Site
		}},
		{each: "every server", with: "if the measurement selected it", change: func(s *site.Site) {
			s.Choice = &site.NetworkChoice{Choice: netprobe.Choice{Encapsulation: netprobe.VXLAN, Port: 4789}}
		}},
		{each: "every server", with: "with `hostSettings.swap: disable`", change: func(s *site.Site) { s.Config.HostSettings.Swap = settings.DisableSwap }},
		{each: "every server", with: "with `hostSettings.tunnelChecksum: software`", change: func(s *site.Site) { s.Config.HostSettings.TunnelChecksum = settings.SoftwareChecksum }},
		{each: "every server", with: "with containerd 1.7", change: func(s *site.Site) { s.Config.Runtime.Version = "1.7.28" }},
		{each: "every server", with: "with `runtime.name: crio`", titles: true, change: func(s *site.Site) { s.Config.Runtime = runtimeOf(s, "crio", runtime.FromArchive) }},
		{each: "every server", with: "with `runtime.source: package`", change: func(s *site.Site) { s.Config.Runtime = runtimeOf(s, "containerd", runtime.FromPackage) }},
		{each: "every server", with: "with `registry.existing`", change: func(s *site.Site) {
			s.Config.Registry.Existing = &existing.Registry{Address: "harbor.bank.example/airgap"}
		}},
		{each: "every server", with: "with `hostSettings.firewalld: leave`", change: func(s *site.Site) { s.Config.HostSettings.Firewalld = settings.LeaveFirewalld }},
		{each: "every server", with: "with `kubernetes.encryptionAtRest: none`", change: func(s *site.Site) { s.Config.Kubernetes.EncryptionAtRest = encryption.NoEncryption }},
		{each: "every server", with: "with `kubernetes.dns: none`", change: func(s *site.Site) { s.Config.Kubernetes.DNS = kubeadm.NoDNS }},
		{each: "every server", with: "with `addons`", change: func(s *site.Site) { s.Index.Lock.Addons = []bundle.Addon{{Name: "metrics-server"}} }},
	}
}

func runtimeOf(s *site.Site, name, source string) runtime.Config {
	r := runtime.Config{Name: name, Source: source}
	r.Default(s.Config.Kubernetes.Version)
	return r
}

// listedStep is a row of the table: steps with the same name and action.
type listedStep struct {
	step.Step

	of    stepSite // the first site with the step
	on    hostKinds
	other []string // titles on other sites
	not   []string // settings that leave it out
}

// listedSteps are the steps of all sites, in order.
type listedSteps []*listedStep

// take adds the steps of a kind of host on a site, in order.
func (all *listedSteps) take(of stepSite, kind hostKinds, steps []step.Step) {
	at := 0
	for _, st := range steps {
		is := all.find(of, kind, st)
		if is < 0 {
			for at < len(*all) && (*all)[at].Name == st.Name {
				at++
			}
			*all, is = slices.Insert(*all, at, &listedStep{Step: st, of: of}), at
		}
		l := (*all)[is]
		if l.of.with == of.with {
			l.on |= kind
		}
		if other := of.with + ": " + st.Title; of.titles && l.Title != st.Title && !slices.Contains(l.other, other) {
			l.other = append(l.other, other)
		}
		at = is + 1
	}
	all.leaveOut(of, kind, steps)
}

// find returns the row of a step, or -1. The default cluster has steps with the same name and another
// action on other hosts.
func (all *listedSteps) find(of stepSite, kind hostKinds, st step.Step) int {
	return slices.IndexFunc(*all, func(l *listedStep) bool {
		same := l.Title == st.Title || of.with != "" && (l.of.with != "" || l.on&kind != 0)
		return l.Name == st.Name && same
	})
}

// leaveOut records the steps of similar sites that a host of this site does not have.
func (all *listedSteps) leaveOut(of stepSite, kind hostKinds, steps []step.Step) {
	for _, l := range *all {
		usual := l.of.with == "" || l.of.with == of.like
		there := slices.ContainsFunc(steps, func(st step.Step) bool { return st.Name == l.Name })
		if usual && l.of.with != of.with && l.on&kind != 0 && !there && !slices.Contains(l.not, of.with) {
			l.not = append(l.not, of.with)
		}
	}
}

func (l *listedStep) row() []string {
	on, back := l.on.words(l.of.each), "yes"
	if l.of.with != "" && (on != "servers with GPUs" || l.of.with != "if a node has GPUs") { // the name has it already
		on += ", " + l.of.with
	}
	if len(l.not) > 0 {
		on += ", except " + strings.Join(l.not, " or ")
	}
	if l.Undo == nil {
		back = "with its step"
	}
	if l.Name == "store" {
		back = "no: `reset --wipe-data`"
	}
	return []string{"`" + l.Name + "`", strings.Join(append([]string{l.Title}, l.other...), "; "), on, back}
}

// stepRows returns the steps of all kinds of servers, in order.
func stepRows(t *testing.T) [][]string {
	var all listedSteps
	v := bundle.NewView(bundletest.New(t).Open(t))
	defer v.Close()
	for _, of := range stepSites() {
		s := &site.Site{Config: docsConfig(t, ""), Machine: site.ThisMachine(), Store: registry.Store{Dir: site.StoreDir}, Index: &bundle.Index{Name: "bank"}}
		s.Index.Lock.Images = sitetest.Images(t, s.Config)
		of.change(s)
		s.Nodes = s.Config.Nodes
		for _, host := range []struct {
			node int
			kind hostKinds
		}{{0, firstHost}, {1, furtherControlPlane}, {3, workerHost}} {
			s.Node = s.Config.Nodes[host.node]
			steps, err := join.AllSteps(s, &join.Server{Addr: s.RegistryAddr(), Index: s.Index}, v)
			if host.kind == firstHost {
				steps, err = install.Steps(s, v, nil, ui.Discard())
			}
			if err != nil {
				t.Fatalf("%s: %v", of.with, err)
			}
			all.take(of, host.kind, steps)
		}
	}
	rows := [][]string{{"Step", "Action", "On", "Undone by reset"}}
	for _, l := range all {
		rows = append(rows, l.row())
	}
	return rows
}
