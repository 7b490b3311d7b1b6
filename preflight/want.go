package preflight

import (
	"slices"
	"time"

	"airgap.dev/airgap/cni"
)

// Role is what a host does in the cluster.
type Role string

const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
	GPU          Role = "gpu"
	Registry     Role = "registry"
)

// Want is what the host is to become, as data. Its zero value asks for what every node
// needs; the zero value of a field never asks for anything.
type Want struct {
	Roles             []Role
	OS                string // the bundle's packages are for: "el9"; "" for any
	KubernetesVersion string // "1.36.3" or "v1.36.3"
	AllowCgroupV1     bool   // the kubelet runs with failCgroupV1: false
	ProxyMode         string // kube-proxy's mode: "iptables" (also when "") or "nftables"
	CRIO              bool   // the runtime is CRI-O, and not containerd
	RuntimePackage    string // that brings it; "" where it comes as an archive
	NoDNS             bool   // the site has no name server, and CoreDNS is to forward nowhere

	NodeAddress    string // the node's IP; "" for whichever it has
	Nodes          int    // of the whole cluster
	PodSubnet      string // CIDR, two with a comma between for dual stack
	ServiceSubnet  string
	OtherAddresses []string // of the cluster's hosts and of the balancer before them, IPs or names: subnets and proxies must leave them alone

	Network cni.Needs // what the pod network asks of the host
	Ports   []Port    // that must be free
	// FirewallLeft are the ports that the site's own people have to open in
	// firewalld, in words; nil when the installation opens them.
	FirewallLeft []string
	// SwapOff says that the installation turns swap off.
	SwapOff bool

	// SysctlFile is where the installation has kernel parameters set at boot;
	// files that sort after it win. "" when it sets none.
	SysctlFile     string
	Sysctls        []BootSysctl      // all that it sets there
	KubeletSysctls map[string]string // those that the kubelet does not start without

	StoreBytes int64 // bundle bytes still to be written on a registry host
	ImageBytes int64 // images that the node will unpack
	AuditBytes int64 // the most that the audit log of a control-plane node takes
	// BackupBytes are what a backup of a running control plane takes, and has to leave;
	// 0 where none runs.
	BackupBytes int64

	// Between is what was measured between hosts; nil on a host by itself.
	Between Between

	Site Config // what airgap.yaml changes in the checks

	// MediumDevice is the disk that the bundle is on, "sdb1"; "" where there is none.
	MediumDevice string

	Packages      []string  // names of every RPM that will be installed
	Headers       []string  // kernels, as uname -r has them, that the bundle has the headers of; nil where that is not known
	ModulesExtra  []string  // kernels, likewise, that the bundle has kernel-modules-extra of
	NouveauOff    bool      // the installation keeps nouveau off the cards
	Installer     bool      // NVIDIA's installer brings the driver, and builds its module
	BundleCreated time.Time // the host's clock must not be before it
	LastRun       time.Time // the latest time in the journal of what airgap did here; zero when it did nothing yet
	Peer          Peer      // whose clock this host's has to agree with

	// Ours says that airgap has begun to install on this host, or has
	// installed: its own ports, files and runtime are not in the way, and of
	// disk space only StoreBytes and BackupBytes are still needed.
	Ours bool

	// Founds is the API's HOST:PORT where this host starts a new cluster.
	Founds string

	// SiteRegistry is where the images come from when it is not the cluster's own
	// registries. "" skips the check.
	SiteRegistry string
}

// Peer is another host of the cluster and its clock: the registry's, when this
// host joins.
type Peer struct {
	Name  string        // "" for nobody to compare with
	Ahead time.Duration // of its clock before this host's; negative when it is behind
}

// Is reports whether the host has one of the roles.
func (w *Want) Is(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(w.Roles, r) })
}

// Port is a port that must be free.
type Port struct {
	Number   int
	Protocol string // "tcp" or "udp"
	For      string // "kube-apiserver"
}
