// Package nodereport collects the state that can only be read on a host, and writes it to the
// cluster as one NodeReport for each node. It has the effective settings of runtime and kubelet,
// pinned images, changed packages, links with their bonds and errors, connection tracking, kernel
// parameters, registries, clock, certificates, free space, etcd, the API server and GPUs.
//
// A systemd unit on each host writes the report with the kubelet's identity. It cannot write the
// report of another node. The rules of verify read the reports with an informer.
package nodereport

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind and Resource name the object in the API. It is cluster-scoped and has the name of its node.
var (
	Kind     = schema.GroupVersionKind{Group: "airgap.dev", Version: "v1alpha1", Kind: "NodeReport"}          //nolint:gochecknoglobals // a constant, except for the syntax
	Resource = schema.GroupVersionResource{Group: "airgap.dev", Version: "v1alpha1", Resource: "nodereports"} //nolint:gochecknoglobals // also a constant
)

// NodeReport is the object.
type NodeReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Report Report `json:"report"`
}

// Report is the state of a host. A nil part could not be collected, with the reason in Unknown, or
// does not exist on this host.
type Report struct {
	// Heartbeat is when the report was written, by the host's clock. The report is written at least
	// once a minute, even without a change.
	Heartbeat metav1.MicroTime `json:"heartbeat"`
	Program   string           `json:"program"` // version of airgap that wrote it
	BootID    string           `json:"bootID,omitempty"`
	Kernel    string           `json:"kernel,omitempty"` // release of the running kernel
	Programs  *Programs        `json:"programs,omitempty"`

	Units        []Unit        `json:"units,omitempty"`
	Cgroup       *Cgroup       `json:"cgroup,omitempty"`
	ProxyMode    string        `json:"proxyMode,omitempty"` // reported by kube-proxy: "nftables"
	Images       *Images       `json:"images,omitempty"`
	Packages     *Packages     `json:"packages,omitempty"`
	Links        []Link        `json:"links,omitempty"`
	Sysctls      []Setting     `json:"sysctls,omitempty"` // that differ from airgap's values
	Network      *HostNetwork  `json:"network,omitempty"`
	HostLinks    *HostLinks    `json:"hostLinks,omitempty"`
	NextBoot     *NextBoot     `json:"nextBoot,omitempty"`
	Registries   []Registry    `json:"registries,omitempty"`
	Clock        *Clock        `json:"clock,omitempty"`
	Certificates []Certificate `json:"certificates,omitempty"`
	Disks        []Disk        `json:"disks,omitempty"`
	APIServer    *APIServer    `json:"apiServer,omitempty"` // on control-plane hosts
	Etcd         *Etcd         `json:"etcd,omitempty"`      // on control-plane hosts
	GPU          *GPU          `json:"gpu,omitempty"`       // on hosts with GPUs

	Unknown []Unknown `json:"unknown,omitempty"`
}

// Programs are the versions of airgap's programs on a host, except the one that reports.
type Programs struct {
	Installed string `json:"installed"`          // at the path of airgap.rpm's program
	Registry  string `json:"registry,omitempty"` // of airgap-registry.service; "unknown": it runs but did not report one; "": it does not run
	Approver  string `json:"approver,omitempty"` // of airgap-join-approver.service; "": it does not run
}

// Unit is a systemd service that a node requires.
type Unit struct {
	Name  string `json:"name"`  // "kubelet.service"
	State string `json:"state"` // systemd's ActiveState: "active"
	// Restricted are effective settings of a service that runs containers which take rights from it:
	// "PrivateTmp=yes: ...".
	Restricted string `json:"restricted,omitempty"`
}

// Cgroup has the effective cgroup drivers, the configured one, and the one that the host requires.
type Cgroup struct {
	Version    int    `json:"version"`              // of the host's hierarchy: 1 or 2
	Runtime    string `json:"runtime"`              // driver in the runtime's effective configuration: "systemd" or "cgroupfs"
	Kubelet    string `json:"kubelet"`              // driver that the kubelet reports at /configz
	Configured string `json:"configured,omitempty"` // in the kubelet's file
	Host       string `json:"host,omitempty"`       // driver for the host's init: "systemd" if process 1 is systemd; "": an older airgap did not report it
	// Others are files of other programs in the runtime's configuration that may set a driver other
	// than the host's.
	Others []string `json:"others,omitempty"`
}

// Images are the images of the bundle that this host must keep.
type Images struct {
	// Unpinned images exist, but the kubelet may delete them when the disk is full.
	Unpinned []string `json:"unpinned,omitempty"`
	Missing  []string `json:"missing,omitempty"` // do not exist on the host
}

// Packages has the faults of the packages that airgap installed.
type Packages struct {
	// Changed has the lines of `rpm -V`, except configuration files: "S.5....T.  /usr/bin/kubelet".
	Changed  []string `json:"changed,omitempty"`
	Unlocked []string `json:"unlocked,omitempty"` // without a dnf versionlock
	Plugin   string   `json:"plugin,omitempty"`   // state of the plugin versionlock if it locks nothing: PluginMissing, PluginOff
}

// Link is a network interface of the host, except those of pods.
type Link struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"` // netlink's: "vxlan", "ipip", "bridge"; "": a network card
	MTU  int    `json:"mtu"`            // bytes
	Up   bool   `json:"up"`
}

// Setting is a kernel parameter that differs from the value that airgap set.
type Setting struct {
	Key  string `json:"key"` // "net.ipv4.ip_forward"
	Saw  string `json:"saw"`
	Want string `json:"want"`
}

// HostNetwork has settings of the host's network that other programs and teams may change.
type HostNetwork struct {
	Address     string    `json:"address"`            // the node's in airgap.yaml
	Link        string    `json:"link,omitempty"`     // the interface with it; "": none
	DHCP        string    `json:"dhcp,omitempty"`     // why the address may change, with the file; "": it stays
	Firewall    *Firewall `json:"firewall,omitempty"` // nil: the site manages it, or an older airgap did not report it
	NameServers []string  `json:"nameServers,omitempty"`
	DNSPods     []DNSPod  `json:"dnsPods,omitempty"` // CoreDNS pods on this host
}

// Firewall is firewalld with the openings of airgap.
type Firewall struct {
	Running bool `json:"running"`
	Opened  bool `json:"opened"`          // airgap has added openings: it ran at the installation
	Later   bool `json:"later,omitempty"` // it does not run, and the next boot starts it
	// Missing has the openings that firewalld does not have, with the view, the zone and the opening.
	Missing []string `json:"missing,omitempty"`
}

// DNSPod is a CoreDNS pod with the name servers that the kubelet gave it at its start.
type DNSPod struct {
	Name        string   `json:"name"`
	NameServers []string `json:"nameServers,omitempty"`
}

// NextBoot is the state of the next boot, compared with the present state.
type NextBoot struct {
	Problems []BootProblem `json:"problems,omitempty"` // that stop the node from working
}

// BootProblem is a result of a preflight check that differs after the next boot.
type BootProblem struct {
	Check string `json:"check"` // its ID: "swap"
	Saw   string `json:"saw"`   // with the file and the line
	Want  string `json:"want"`
	Fix   string `json:"fix"`
}

// Registry is a registry that this host pulls from.
type Registry struct {
	Address string `json:"address"`
	Node    string `json:"node,omitempty"`  // the node that serves it; "" for the site's registry
	Error   string `json:"error,omitempty"` // why it does not answer; "": it answers
}

// Clock is the kernel's state of the clock.
type Clock struct {
	Synchronized bool   `json:"synchronized"`
	ErrorMillis  int64  `json:"errorMillis"`      // the kernel's estimate of the maximum error, ms
	Source       string `json:"source,omitempty"` // unit that sets it: "chronyd.service"
}

// Certificate is a certificate file of the cluster on this host.
type Certificate struct {
	File    string       `json:"file"`
	Subject string       `json:"subject"`
	Ends    metav1.Time  `json:"ends"`
	Begins  *metav1.Time `json:"begins,omitempty"` // nil: an older airgap did not report it
}

// Disk is a file system that a component of the cluster writes to.
type Disk struct {
	Path string   `json:"path"` // the first directory of the cluster on it: "/var/lib/kubelet"
	Uses []string `json:"uses"` // components that write there: "kubelet", "etcd"
	Size int64    `json:"size"` // bytes
	Free int64    `json:"free"` // bytes, without the blocks reserved for root
	// Inodes and InodesFree are 0 if the file system allocates inodes on demand.
	Inodes     int64 `json:"inodes,omitempty"`
	InodesFree int64 `json:"inodesFree,omitempty"`
}

// APIServer is the API server of this host, queried without the load balancer.
type APIServer struct {
	Error string `json:"error,omitempty"` // why it is not ready; "": it is ready
	// Behind is the age of its cache compared with etcd, in seconds. It is measured with the lease
	// of this node, which the kubelet renews every ten seconds.
	Behind int64 `json:"behind"`
}

// Etcd is the etcd member of this host.
type Etcd struct {
	Member    string       `json:"member"` // its name
	HasLeader bool         `json:"hasLeader"`
	Leads     bool         `json:"leads"`
	Error     string       `json:"error,omitempty"` // why it is not healthy; "": it is healthy
	Alarms    []string     `json:"alarms,omitempty"`
	Members   []string     `json:"members,omitempty"`   // names in this member's list
	Unstarted []string     `json:"unstarted,omitempty"` // addresses of members that have never started; they have no name yet
	Bytes     int64        `json:"bytes"`               // size of its database
	Quota     int64        `json:"quota"`               // bytes at which it stops accepting writes
	Snapshot  *metav1.Time `json:"snapshot,omitempty"`  // time of the snapshot in the newest backup on this host
	Times     *EtcdTimes   `json:"times,omitempty"`     // in its manifest; nil: they cannot be read, or an older airgap did not report them
	Wanted    *EtcdTimes   `json:"wanted,omitempty"`    // set by airgap; nil: an older airgap did not record them
}

// EtcdTimes are the times of an etcd member, in milliseconds; 0: etcd refuses the value.
type EtcdTimes struct {
	Heartbeat int64 `json:"heartbeat"`
	Election  int64 `json:"election"`
}

// GPU is the state of GPUs according to the PCI bus, the kernel and NVML, and the expected state.
type GPU struct {
	Bus    int           `json:"bus"`              // GPUs on the PCI bus, without those reserved for virtual machines
	Driver string        `json:"driver,omitempty"` // version of the loaded kernel module; "": not loaded
	Module bool          `json:"module,omitempty"` // an NVIDIA module exists for the running kernel, loaded or not
	NVML   *NVML         `json:"nvml,omitempty"`   // only with a loaded driver
	Want   *ExpectedGPUs `json:"want,omitempty"`   // nil: containers must not use the GPUs
	// Offers are the resources that the node should offer; none: NVML's answer is not complete.
	Offers []Offer `json:"offers,omitempty"`
}

// ExpectedGPUs is the state of a host's GPUs when they were set up.
type ExpectedGPUs struct {
	Driver string `json:"driver,omitempty"` // locked version; "": the site installs the driver
	Count  int    `json:"count,omitempty"`  // number of GPUs; 0: not counted
}

// Offer is an extended resource and its count.
type Offer struct {
	Resource string `json:"resource"` // "nvidia.com/gpu"
	Count    int    `json:"count"`
}

// NVML is the answer of NVIDIA's management library.
type NVML struct {
	Error    string      `json:"error,omitempty"` // why it does not answer; then only Faults is set
	Driver   string      `json:"driver"`
	CUDA     string      `json:"cuda,omitempty"` // newest version that the driver supports: "13.0"
	Cards    int         `json:"cards"`
	GPUs     []GPUDevice `json:"gpus,omitempty"`     // one for each GPU
	Products []Product   `json:"products,omitempty"` // of GPUs that answer, in their order
	Faults   []string    `json:"faults,omitempty"`   // uncorrected ECC errors, pending row remaps, and Xid events of the last day in the kernel's log
}

// GPUDevice is one GPU; 0 and "" mean unknown. Temperatures and power change all the time, so they are
// written with the heartbeat only. Values that are too high are in NVML.Faults.
type GPUDevice struct {
	Index      int    `json:"index"` // NVML's number
	UUID       string `json:"uuid,omitempty"`
	Address    string `json:"address,omitempty"`    // on the PCI bus: "0000:17:00.0"
	Celsius    int    `json:"celsius,omitempty"`    // current temperature, °C
	SlowsAt    int    `json:"slowsAt,omitempty"`    // slowdown temperature, °C
	TurnsOffAt int    `json:"turnsOffAt,omitempty"` // shutdown temperature, °C
	Watts      int    `json:"watts,omitempty"`      // current power, W
	WattsLimit int    `json:"wattsLimit,omitempty"` // power limit, W
}

// Product is the GPUs of one product.
type Product struct {
	Name   string `json:"name"` // "NVIDIA H100 80GB HBM3"
	Cards  int    `json:"cards"`
	Memory int    `json:"memory,omitempty"` // of one GPU, MiB
	MIG    bool   `json:"mig,omitempty"`    // can be partitioned
}

// Unknown is a part that could not be collected.
type Unknown struct {
	Part   string `json:"part"` // its name in JSON: "packages"
	Reason string `json:"reason"`
}
