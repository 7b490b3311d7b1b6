// Package site describes a server to the commands that run on it: the index of the bundle, airgap.yaml, the
// node that this host is, and the paths of airgap's files.
package site

import (
	"cmp"
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
	"airgap.dev/airgap/registry/mirror"
	"airgap.dev/airgap/registry/trust"
)

// Site has the index of a bundle, the configuration in it, and the node that this host is. It is immutable:
// With, At, Choosing, Without, Keeping and Storing return a changed copy.
type Site struct {
	Index   *bundle.Index
	Config  *config.Cluster
	Node    config.Node
	Machine kubeadm.Machine
	Facts   runtime.Facts
	// Required has the fingerprints from --require-key: bundles for this host must be signed with one of
	// these keys. If it is empty, the keys of airgap.rpm apply.
	Required []string
	Peer     preflight.Peer // the host that this one joins; zero on the first host
	Store    registry.Store // of this host
	Choice   *NetworkChoice // nil if airgap.yaml and the defaults have all settings
	Medium   []string       // the devices with the bundle, for example "dm-3" and "sdb1" below it; none if they are unknown
	ToStore  int64          // bytes that the store still needs; 0: the size of the bundle, unless it is in the store
	Nodes    []config.Node  // all nodes of airgap.yaml
	Removed  []string       // the names of removed nodes: Config no longer lists them
}

// Given has the input of a command that neither the bundle nor this host contains.
type Given struct {
	Required []string       // as in Site
	Peer     preflight.Peer // as in Site
	Medium   []string       // as in Site
	InPlace  bool           // the store serves the bundle without a copy
}

// With returns the site with all fields of g. It replaces earlier values, also with empty ones.
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

// At returns the site for the host of another node.
func (s *Site) At(n config.Node) *Site {
	c := *s
	c.Node = n
	return &c
}

// configured returns a copy of the site with a copy of its configuration.
func (s *Site) configured() *Site {
	c, cluster := *s, *s.Config
	c.Config = &cluster
	return &c
}

// Fresh is New for the bundle of an installation. It returns an error if this airgap could not build a bundle
// from the same configuration.
func Fresh(index *bundle.Index, name string) (*Site, error) {
	if _, err := config.Parse("airgap.yaml of bundle "+index.Name, []byte(index.Config)); err != nil {
		return nil, advice.Add(err, "correct airgap.yaml, and build a bundle from it with airgap bundle")
	}
	return New(index, name)
}

// New returns the site for the configuration in the bundle. name is the node that this host is; "" finds it
// by the host's addresses.
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

// noCluster is the error of a host without a bundle that can be opened.
func noCluster(reason error) error {
	return advice.Add(errors.Join(errors.New("find the cluster's configuration: no bundle in "+StoreDir), reason), "run this command on a control-plane host")
}

// Stored returns the site of the newest bundle in this host's store.
func Stored(keys []string, node string) (*Site, error) {
	stored := StoredBundles(StoreDir)
	if len(stored) == 0 {
		return nil, noCluster(nil)
	}
	t, err := TrustedKeys(keys, stored...)
	if err != nil {
		return nil, err
	}
	bundles, err := registry.Store{Dir: StoreDir}.Open(t.Keys...)
	if len(bundles) == 0 {
		return nil, noCluster(err)
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

// Installed returns the site of the bundle that this host runs. The store may contain a newer bundle for an
// upgrade. During an upgrade of this host, Installed returns an error.
func Installed(ctx context.Context, keys []string) (*Site, error) {
	s, upgrading, err := InstalledOrUpgrading(ctx, keys)
	if err = cmp.Or(err, upgrading); err != nil {
		return nil, err
	}
	return s, nil
}

// InstalledOrUpgrading is Installed, but returns the site also during an upgrade of this host, with the error of Installed
// as upgrading.
func InstalledOrUpgrading(ctx context.Context, keys []string) (s *Site, upgrading, err error) {
	if s, err = Stored(keys, ""); err != nil {
		return nil, nil, err
	}
	id, err := s.OwnNote(ctx, BundleNote)
	if err != nil {
		return nil, nil, err
	}
	if id != "" && id != s.Index.ID() {
		t, err := TrustedKeys(keys, StoredBundles(StoreDir)...)
		if err != nil {
			return nil, nil, err
		}
		index, err := StoredIndex(s.Store, t.Keys, func(i *bundle.Index) bool { return i.ID() == id })
		if err != nil {
			return nil, nil, err
		}
		if s, err = New(index, s.Node.Name); err != nil {
			return nil, nil, err
		}
		s = s.With(Given{Required: t.Required})
	}
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return s, nil, err
	}
	return s, advice.Add(fmt.Errorf("an upgrade of this host is in progress: it has %s", reason), "complete the upgrade with airgap upgrade, or undo it with airgap rollback"), nil
}

// ThisMachine returns the local host as the machine that steps change.
func ThisMachine() kubeadm.Machine {
	return kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}}, Network: leave.HostArtifacts(cni.AllTraces())}}
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
	return config.Node{}, advice.Add(errors.New("this host is none of the nodes in airgap.yaml: airgap.yaml has none of its addresses"),
		"airgap.yaml has %s; give the name of this host with --node", config.ListNodes(c.Nodes))
}

// RegistryAddr returns the address of the host's own registry if it serves one, or else of the first
// control-plane host's registry.
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

// Registries returns the addresses of the registries on all control-plane hosts, in the order in which this host
// asks them. Its own registry is first. Hosts without a registry start with different ones, to distribute the load.
func (s *Site) Registries() []string {
	var all []string
	for _, n := range s.RegistryHosts() {
		all = append(all, s.RegistryOf(n))
	}
	return all
}

// RegistryHosts returns the hosts of Registries, in the same order. Absent hosts are not in it: each pull would wait for
// them. Firewalls and certificates have their addresses, so that only this list changes when they are back.
func (s *Site) RegistryHosts() []config.Node {
	masters := slices.DeleteFunc(s.Config.ControlPlanes(), func(n config.Node) bool { return n.Absent != nil && n.Name != s.Node.Name })
	first := slices.IndexFunc(s.Config.Nodes, func(n config.Node) bool { return n.Name == s.Node.Name }) % len(masters)
	if own := slices.IndexFunc(masters, func(n config.Node) bool { return n.Name == s.Node.Name }); own >= 0 {
		first = own
	}
	return slices.Concat(masters[first:], masters[:first])
}

// ServesRegistry reports whether this host has a registry.
func (s *Site) ServesRegistry() bool { return s.Node.Has(config.ControlPlane) }

// KubeNode returns this host as a node of package kubeadm.
func (s *Site) KubeNode() kubeadm.Node {
	return kubeadm.Node{Name: s.Node.Name, Address: s.Node.Address, Workloads: s.Node.Has(config.Worker), ControlPlane: s.Node.Has(config.ControlPlane), Runtime: s.Config.Runtime}
}

// Mirror returns the configuration with which this host's container runtime pulls images.
func (s *Site) Mirror() (mirror.Config, error) {
	crio, dir := s.Config.Runtime.CRIO(), CertsDir
	if crio {
		dir = runtime.CRIOContainers
	}
	if e := s.Config.Registry.Existing; e != nil {
		return mirror.Existing(*e, crio, dir, s.Index.Lock.Images, ExistingCAFile)
	}
	m, err := mirror.Own(crio, dir, s.Registries(), s.Index.Lock.Images, trust.PKI{Dir: PKIDir}.CAFile())
	m.Direct = s.Config.Kubernetes.NoProxyHosts()
	return m, err
}

// Arch returns the bundle's machine architecture in Go's spelling, for example "amd64".
func (s *Site) Arch() string {
	_, arch, _ := strings.Cut(s.Index.Lock.Platform, "/")
	return arch
}

// Behind returns the reason why this node requires an upgrade to the bundle, or "" if it runs the bundle.
func (s *Site) Behind(ctx context.Context) (string, error) {
	return s.Machine.UpgradeNeeded(ctx, s.Config.Kubernetes, s.KubeNode())
}
