// Package site is what a command on a server knows: the bundle's index, airgap.yaml, which of
// its nodes this host is, and where everything of airgap's lies on it.
package site

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
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// Site is what a command on a server knows: the bundle's index, the
// configuration inside it, and which of its nodes this host is. Nobody changes one: what a
// command learns gives it another one, by With, At, Choosing, Without or Storing.
type Site struct {
	Index   *bundle.Index
	Config  *config.Cluster
	Node    config.Node
	Machine kubeadm.Machine
	Facts   runtime.Facts
	// Required are fingerprints of keys: bundles for this host must be signed with
	// one of them, by --require-key. None: the usual ones count.
	Required []string
	Peer     preflight.Peer // the host that this one joins; none on the first
	Store    registry.Store // this host's
	Choice   *NetworkChoice // nil where airgap.yaml alone says how pods' packets travel
	Medium   string         // the disk that the bundle is on: "sdb1"; "" where there is none
	ToStore  int64          // bytes that its store still needs; 0: the bundle's, unless that is there
	Nodes    []config.Node  // all of airgap.yaml
	Removed  []string       // those of them that were removed since: config has them no more
}

// Given is what a command knows beside the bundle and this host.
type Given struct {
	Required []string       // as in Site
	Peer     preflight.Peer // as in Site
	Medium   string         // as in Site
	InPlace  bool           // the store serves the bundle from where it lies
}

// With returns the site with what is given, and with nothing that was given before.
func (s *Site) With(g Given) *Site {
	c := *s
	c.Required, c.Peer, c.Medium, c.Store.InPlace = g.Required, g.Peer, g.Medium, g.InPlace
	return &c
}

// Storing returns the site with the bytes that its store still needs.
func (s *Site) Storing(bytes int64) *Site {
	c := *s
	c.ToStore = bytes
	return &c
}

// At returns the site as the host of another node has it.
func (s *Site) At(n config.Node) *Site {
	c := *s
	c.Node = n
	return &c
}

// configured returns a copy with a configuration of its own.
func (s *Site) configured() *Site {
	c, cluster := *s, *s.Config
	c.Config = &cluster
	return &c
}

// Fresh is New of a bundle that is to be installed: it is held to what
// this airgap makes bundles of.
func Fresh(index *bundle.Index, name string) (*Site, error) {
	if _, err := config.Parse("airgap.yaml of bundle "+index.Name, []byte(index.Config)); err != nil {
		return nil, advice.Add(err, "correct airgap.yaml, and make a bundle of it with airgap bundle")
	}
	return New(index, name)
}

// New reads the configuration that came with the bundle. name says which
// node this host is; "" finds it by the host's addresses.
func New(index *bundle.Index, name string) (*Site, error) {
	c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
	if err != nil {
		return nil, err
	}
	node, err := thisNode(c, name)
	if err != nil {
		return nil, err
	}
	machine := ThisMachine()
	machine.Pods = c.Kubernetes.PodSubnet
	facts, err := runtime.Observe(machine.Host)
	if err != nil {
		return nil, err
	}
	choice, err := recordedChoice()
	if err != nil {
		return nil, err
	}
	s := &Site{Index: index, Config: c, Nodes: c.Nodes, Node: node, Machine: machine, Facts: facts, Store: registry.Store{Dir: StoreDir}}
	removed, err := recordedRemoved()
	if err != nil {
		return nil, err
	}
	return s.Choosing(choice).Without(removed), nil
}

// Stored is the site of the newest bundle in this host's store.
func Stored(keys []string, node string) (*Site, error) {
	t, err := TrustedKeys(keys, StoredBundles(StoreDir)...)
	if err != nil {
		return nil, err
	}
	bundles, err := registry.Store{Dir: StoreDir}.Open(t.Keys...)
	if len(bundles) == 0 {
		return nil, advice.Add(errors.Join(errors.New("find the cluster's configuration: no bundle in "+StoreDir), err), "run this on a control-plane host")
	}
	for _, b := range bundles {
		defer b.Close()
	}
	s, err := New(bundle.NewestFirst(bundles)[0].Index(), node)
	if err != nil {
		return nil, err
	}
	return s.With(Given{Required: t.Required}), nil
}

// Installed is the site of the bundle that this host, a node, is as; a newer one in its
// store may be there for an upgrade only. In the midst of one it is as none.
func Installed(ctx context.Context, keys []string) (*Site, error) {
	s, err := Stored(keys, "")
	if err != nil {
		return nil, err
	}
	id, err := s.OwnNote(ctx, BundleNote)
	if err != nil {
		return nil, err
	}
	if id != "" && id != s.Index.ID() {
		t, err := TrustedKeys(keys, StoredBundles(StoreDir)...)
		if err != nil {
			return nil, err
		}
		index, err := StoredIndex(s.Store, t.Keys, func(i *bundle.Index) bool { return i.ID() == id })
		if err != nil {
			return nil, err
		}
		if s, err = New(index, s.Node.Name); err != nil {
			return nil, err
		}
		s = s.With(Given{Required: t.Required})
	}
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return s, err
	}
	return nil, advice.Add(fmt.Errorf("this host is in the middle of an upgrade: it has %s", reason), "airgap upgrade ends it, airgap rollback takes it back")
}

// ThisMachine is the host as the steps change it.
func ThisMachine() kubeadm.Machine {
	return kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}}, Network: leave.Traces(cni.Leaves())}}
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
		"airgap.yaml has %s; name this one with --node", NodeList(c))
}

// NodeList names the nodes with their addresses, for people.
func NodeList(c *config.Cluster) string {
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name + " (" + n.Address + ")"
	}
	return strings.Join(names, ", ")
}

// RegistryAddr is where this host finds a registry: its own, if it serves one.
func (s *Site) RegistryAddr() string {
	if s.ServesRegistry() {
		return s.RegistryOf(s.Node)
	}
	return s.RegistryOf(s.Config.Master())
}

// RegistryOf returns the address of the registry on a control-plane host.
func (s *Site) RegistryOf(n config.Node) string {
	return net.JoinHostPort(n.Address, strconv.Itoa(s.Config.Registry.Port))
}

// Registries are those of all control-plane hosts in the order in which this
// host asks them: its own first, the others by turns, so that not all hosts
// lean on the same one.
func (s *Site) Registries() []string {
	var all []string
	for _, n := range s.RegistryHosts() {
		all = append(all, s.RegistryOf(n))
	}
	return all
}

// RegistryHosts are the hosts of Registries.
func (s *Site) RegistryHosts() []config.Node {
	masters := s.Config.ControlPlanes()
	first := slices.IndexFunc(s.Config.Nodes, func(n config.Node) bool { return n.Name == s.Node.Name }) % len(masters)
	if own := slices.IndexFunc(masters, func(n config.Node) bool { return n.Name == s.Node.Name }); own >= 0 {
		first = own
	}
	return slices.Concat(masters[first:], masters[:first])
}

// ServesRegistry reports whether this host has a registry.
func (s *Site) ServesRegistry() bool { return s.Node.Has(config.ControlPlane) }

// KubeNode is this host as kubeadm knows it. A cluster of one host has nobody
// else to run the pods.
func (s *Site) KubeNode() kubeadm.Node {
	return kubeadm.Node{Name: s.Node.Name, Address: s.Node.Address, Workloads: s.Node.Has(config.Worker), ControlPlane: s.Node.Has(config.ControlPlane), Runtime: s.Config.Runtime}
}

// Mirror returns the configuration by which this host's runtime pulls images.
func (s *Site) Mirror() (registry.Mirror, error) {
	crio, dir := s.Config.Runtime.CRIO(), CertsDir
	if crio {
		dir = runtime.CRIOContainers
	}
	if existing := s.Config.Registry.Existing; existing != nil {
		return existing.Mirror(crio, dir, s.Index.Lock.Images, ExistingCAFile)
	}
	m, err := registry.OwnMirror(crio, dir, s.Registries(), s.Index.Lock.Images, trust.PKI{Dir: PKIDir}.CAFile())
	m.Direct = s.Config.Kubernetes.Within()
	return m, err
}

// Arch is the bundle's machine architecture in Go's spelling.
func (s *Site) Arch() string {
	_, arch, _ := strings.Cut(s.Index.Lock.Platform, "/")
	return arch
}

// What an upgrade does on one host, whoever began it: airgap upgrade on the first
// control-plane host for itself, airgap join on the others.

// Behind says in what this host, a node already, is not as the bundle has it, so that
// it has to be upgraded; "" for nothing.
func (s *Site) Behind(ctx context.Context) (string, error) {
	return s.Machine.Behind(ctx, s.Config.Kubernetes, s.KubeNode())
}
