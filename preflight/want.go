package preflight

import (
	"slices"
	"time"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/preflight/facts"
)

// Role is a role of a host in the cluster.
type Role string

const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
	GPU          Role = "gpu"
	Registry     Role = "registry"
)

// Want is the planned installation of a host. The zero value has the requirements of every node;
// the zero value of a field adds no requirement.
type Want struct {
	Roles             []Role
	OS                string // of the bundle's packages: "el9"; "" for any
	KubernetesVersion string // "1.36.3" or "v1.36.3"
	AllowCgroupV1     bool   // the kubelet's configuration has failCgroupV1: false
	ProxyMode         string // kube-proxy's mode: "iptables" (also when "") or "nftables"
	CRIO              bool   // the runtime is CRI-O instead of containerd
	RuntimePackage    string // RPM of the runtime; "" if it is an archive
	ResolvConf        string // the kubelet's file with name servers in airgap.yaml; "" for the default
	NoDNS             bool   // the site has no name server, and CoreDNS does not forward

	NodeName       string // in airgap.yaml; "" for any
	NodeAddress    string // IP address of the node; "" for any
	Nodes          int    // number of nodes in the cluster
	PodSubnet      string // CIDR; two with a comma for dual stack
	ServiceSubnet  string
	SiteRanges     []string // of the site behind the default gateway, CIDRs: not in the subnets
	OtherAddresses []string // of the cluster's hosts and the load balancer, IPs or names: not in the subnets, and not behind a proxy

	Network cni.Needs    // requirements of the pod network
	Ports   []facts.Port // that must be free
	// NodePorts are the ranges of the ports of Services, first and last.
	NodePorts [][2]int
	PortsFile string // the installation's file that reserves the cluster's ports; "" for none
	// FirewallLeft describes the ports that the site's administrators must open in firewalld; nil
	// if the installation opens them.
	FirewallLeft []string
	// Addons are the names of the add-ons that the installation adds to the cluster.
	Addons []string
	// StorageNeeds are the objects of the bundle that need a client for their volumes, by client.
	StorageNeeds map[string][]string
	// SwapOff is true if the installation turns swap off.
	SwapOff bool

	// SysctlFile is the installation's file with kernel parameters; files that sort after it
	// override it. "" if it sets none.
	SysctlFile     string
	Sysctls        []BootSysctl      // all parameters in that file
	KubeletSysctls map[string]string // parameters that the kubelet requires

	StoreBytes int64 // bytes of the bundle that a registry host does not have yet
	ImageBytes int64 // size of the images that the node unpacks
	AuditBytes int64 // largest size of the audit log of a control-plane node
	LogBytes   int64 // largest size of the logs of containers
	// PackageBytes is the size of the RPMs to install.
	PackageBytes int64
	// BackupBytes is the free space for a backup of a running control plane; 0 if none runs.
	BackupBytes int64

	// CrossHost has the results of the measurement between hosts; nil for the checks of one host.
	CrossHost CrossHost

	Site Config // settings for the checks in airgap.yaml

	// MediumDevices are the devices with the bundle, "dm-3" and "sdb1" below it; none if they are unknown.
	MediumDevices []string

	Packages      []string  // names of all RPMs to install
	Headers       []string  // releases of kernels, as in uname -r, with headers in the bundle; nil if unknown
	LoadedAtBoot  []string  // modules that a file of airgap must load at the next boot; nil before the installation
	ModulesExtra  []string  // releases of kernels with kernel-modules-extra in the bundle
	NouveauOff    bool      // the installation disables nouveau
	Installer     bool      // NVIDIA's installer installs the driver, and builds its module
	BundleCreated time.Time // the host's clock must not be behind it
	LastRun       time.Time // last entry in airgap's journal on the host; zero if it has not run yet
	Peer          Peer      // the clock to compare this host's clock with

	// Managed is true if airgap has begun or finished the installation of this host. Then its
	// ports, files and runtime are no conflict, and only StoreBytes and BackupBytes still need
	// disk space.
	Managed bool

	// Watched is true for a running node: no installation follows that changes the host before its next boot.
	Watched bool

	// NewEndpoint is the control-plane endpoint, HOST:PORT, if this host starts a new cluster; else "".
	NewEndpoint string

	// EndpointHost is the name or address in controlPlaneEndpoint.
	EndpointHost string

	// SiteRegistry is the existing registry of the site, HOST[:PORT]/PROJECT; "" if the cluster has
	// its own registries.
	SiteRegistry string
}

// Peer is the registry host and its clock, for a host that joins.
type Peer struct {
	Name  string        // "" for no comparison
	Ahead time.Duration // its clock minus this host's clock
}

// HasRole reports whether the host has one of the roles.
func (w *Want) HasRole(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(w.Roles, r) })
}
