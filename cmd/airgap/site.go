package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
)

// site is what a command on a server knows: the bundle's index, the
// configuration inside it, and which of its nodes this host is.
type site struct {
	index   *bundle.Index
	config  *config.Cluster
	node    config.Node
	machine kubeadm.Machine
	facts   kubeadm.Facts
	// required are fingerprints of keys: bundles for this host must be signed with
	// one of them, by --require-key. None: the usual ones count.
	required []string
	peer     preflight.Peer // the host that this one joins; none on the first
	store    registry.Store // this host's
	choice   *networkChoice // nil where airgap.yaml alone says how pods' packets travel
	medium   string         // the disk that the bundle is on: "sdb1"; "" where there is none
	toStore  int64          // bytes that its store still needs; 0: the bundle's, unless that is there
	nodes    []config.Node  // all of airgap.yaml
	removed  []string       // those of them that were removed since: config has them no more
}

// freshSite is newSite of a bundle that is to be installed: it is held to what
// this airgap makes bundles of.
func freshSite(index *bundle.Index, name string) (*site, error) {
	if _, err := config.Parse("airgap.yaml of bundle "+index.Name, []byte(index.Config)); err != nil {
		return nil, advice.Add(err, "correct airgap.yaml, and make a bundle of it with airgap bundle")
	}
	return newSite(index, name)
}

// newSite reads the configuration that came with the bundle. name says which
// node this host is; "" finds it by the host's addresses.
func newSite(index *bundle.Index, name string) (*site, error) {
	c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
	if err != nil {
		return nil, err
	}
	node, err := thisNode(c, name)
	if err != nil {
		return nil, err
	}
	machine := thisMachine()
	machine.Pods = c.Kubernetes.PodSubnet
	facts, err := kubeadm.Observe(machine.Host)
	if err != nil {
		return nil, err
	}
	choice, err := recordedChoice()
	if err != nil {
		return nil, err
	}
	s := &site{index: index, config: c, nodes: c.Nodes, node: node, machine: machine, facts: facts, store: registry.Store{Dir: storeDir}}
	s.take(choice)
	removed, err := recordedRemoved()
	if err != nil {
		return nil, err
	}
	s.leaveOut(removed)
	return s, nil
}

// storedSite is the site of the newest bundle in this host's store.
func storedSite(keys []string, node string) (*site, error) {
	t, err := trustedKeys(keys, storedBundles(storeDir)...)
	if err != nil {
		return nil, err
	}
	bundles, err := registry.Store{Dir: storeDir}.Open(t.keys...)
	if len(bundles) == 0 {
		return nil, advice.Add(errors.Join(errors.New("find the cluster's configuration: no bundle in "+storeDir), err), "run this on a control-plane host")
	}
	for _, b := range bundles {
		defer b.Close()
	}
	s, err := newSite(bundle.NewestFirst(bundles)[0].Index(), node)
	if err != nil {
		return nil, err
	}
	s.required = t.required
	return s, nil
}

// installedSite is the site of the bundle that this host, a node, is as; a newer one in its
// store may be there for an upgrade only. In the midst of one it is as none.
func installedSite(ctx context.Context, keys []string) (*site, error) {
	s, err := storedSite(keys, "")
	if err != nil {
		return nil, err
	}
	id, err := s.ownNote(ctx, bundleNote)
	if err != nil {
		return nil, err
	}
	if id != "" && id != s.index.ID() {
		t, err := trustedKeys(keys, storedBundles(storeDir)...)
		if err != nil {
			return nil, err
		}
		index, err := storedIndex(s.store, t.keys, func(i *bundle.Index) bool { return i.ID() == id })
		if err != nil {
			return nil, err
		}
		if s, err = newSite(index, s.node.Name); err != nil {
			return nil, err
		}
		s.required = t.required
	}
	reason, err := s.behind(ctx)
	if err != nil || reason == "" {
		return s, err
	}
	return nil, advice.Add(fmt.Errorf("this host is amid an upgrade: it has %s", reason), "airgap upgrade ends it, airgap rollback takes it back")
}

// thisMachine is the host as the steps change it.
func thisMachine() kubeadm.Machine {
	return kubeadm.Machine{Host: host.Local{}, Network: kubeadm.Traces(cni.Leaves())}
}

func thisNode(c *config.Cluster, name string) (config.Node, error) {
	if name != "" {
		return c.Node(name)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return config.Node{}, fmt.Errorf("list this host's addresses: %w", err)
	}
	mine := map[string]bool{}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			mine[p.Addr().String()] = true
		}
	}
	for _, n := range c.Nodes {
		if mine[n.Address] {
			return n, nil
		}
	}
	return config.Node{}, advice.Add(errors.New("this host is none of the nodes in airgap.yaml: none of its addresses is there"),
		"airgap.yaml has %s; name this one with --node", nodeList(c))
}

func nodeList(c *config.Cluster) string {
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name + " (" + n.Address + ")"
	}
	return strings.Join(names, ", ")
}

// registryAddr is where this host finds a registry: its own, if it serves one.
func (s *site) registryAddr() string {
	if s.servesRegistry() {
		return s.registryOf(s.node)
	}
	return s.registryOf(s.config.Master())
}

func (s *site) registryOf(n config.Node) string {
	return net.JoinHostPort(n.Address, strconv.Itoa(s.config.Registry.Port))
}

// registries are those of all control-plane hosts in the order in which this
// host asks them: its own first, the others by turns, so that not all hosts
// lean on the same one.
func (s *site) registries() []string {
	var all []string
	for _, n := range s.registryHosts() {
		all = append(all, s.registryOf(n))
	}
	return all
}

func (s *site) registryHosts() []config.Node {
	masters := s.config.ControlPlanes()
	first := slices.IndexFunc(s.config.Nodes, func(n config.Node) bool { return n.Name == s.node.Name }) % len(masters)
	if own := slices.IndexFunc(masters, func(n config.Node) bool { return n.Name == s.node.Name }); own >= 0 {
		first = own
	}
	return slices.Concat(masters[first:], masters[:first])
}

func (s *site) servesRegistry() bool { return s.node.Has(config.ControlPlane) }

// kubeNode is this host as kubeadm knows it. A cluster of one host has nobody
// else to run the pods.
func (s *site) kubeNode() kubeadm.Node {
	return kubeadm.Node{Name: s.node.Name, Address: s.node.Address, Workloads: s.node.Has(config.Worker), ControlPlane: s.node.Has(config.ControlPlane), Runtime: s.config.Runtime}
}

// mirrorStep sends the runtime's pulls to the cluster's registries, or to the site's
// own, and nowhere else.
func (s *site) mirrorStep() step.Step {
	m, err := s.mirror()
	if err != nil {
		return step.Step{Name: "mirror", Title: "Point the runtime at the registry", Done: func(context.Context) (bool, error) { return false, err }}
	}
	return registry.MirrorStep(m)
}

func (s *site) mirror() (registry.Mirror, error) {
	crio, dir := s.config.Runtime.CRIO(), certsDir
	if crio {
		dir = kubeadm.CRIOContainers
	}
	if existing := s.config.Registry.Existing; existing != nil {
		return existing.Mirror(crio, dir, s.index.Lock.Images, existingCAFile)
	}
	m, err := registry.OwnMirror(crio, dir, s.registries(), s.index.Lock.Images, registry.PKI{Dir: pkiDir}.CAFile())
	m.Direct = s.config.Kubernetes.Within()
	return m, err
}

// runtime are the runtime's options on this host. Pinned are the images a node needs
// to come back at all; everything else may be evicted, because the registry can give
// it back.
func (s *site) runtime() (kubeadm.RuntimeOptions, error) {
	sandbox, err := kubeadm.Sandbox(s.config.Kubernetes.Version)
	if err != nil {
		return kubeadm.RuntimeOptions{}, err
	}
	pinned, err := bootstrapImages(s.config, s.node, s.index.Lock)
	if err != nil {
		return kubeadm.RuntimeOptions{}, err
	}
	m, err := s.mirror()
	return kubeadm.RuntimeOptions{
		Runtime: s.config.Runtime, Sandbox: sandbox, Pinned: pinned, Mirrors: m.Default(), Facts: s.facts, NVIDIA: s.node.Has(config.GPU),
		Foreign: rpm.Transaction{Host: s.machine.Host, StateDir: dnfDir}.Foreign,
	}, err
}

// arch is the bundle's machine architecture in Go's spelling.
func (s *site) arch() string {
	_, arch, _ := strings.Cut(s.index.Lock.Platform, "/")
	return arch
}
