// Package nodereport is what only a host knows of itself, as one object of the
// cluster for each node: what runtime and kubelet really use, which images are
// pinned, what became of our packages, links, kernel parameters, registries,
// clock, certificates, free space, etcd, its API server and cards.
//
// A unit on each host writes it with the kubelet's own identity, and may write
// no other node's. Rules get it by informer, like everything else.
package nodereport

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind and Resource name the object in the API. It is named after its node and
// lies in no namespace.
var (
	Kind     = schema.GroupVersionKind{Group: "airgap.dev", Version: "v1alpha1", Kind: "NodeReport"}          //nolint:gochecknoglobals // a constant in all but syntax
	Resource = schema.GroupVersionResource{Group: "airgap.dev", Version: "v1alpha1", Resource: "nodereports"} //nolint:gochecknoglobals // as well
)

// NodeReport is the object.
type NodeReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Report Report `json:"report"`
}

// Report is what a host says of itself. A part that is nil could not be looked
// at, for the reason in Unknown, or is nothing this host has.
type Report struct {
	// Heartbeat is when this was written, by the host's clock. It is written
	// again each minute also when nothing else has changed.
	Heartbeat metav1.MicroTime `json:"heartbeat"`
	Program   string           `json:"program"` // version of airgap that wrote it
	BootID    string           `json:"bootID,omitempty"`
	Kernel    string           `json:"kernel,omitempty"` // that runs
	Programs  *Programs        `json:"programs,omitempty"`

	Units        []Unit        `json:"units,omitempty"`
	Cgroup       *Cgroup       `json:"cgroup,omitempty"`
	ProxyMode    string        `json:"proxyMode,omitempty"` // that kube-proxy says to use: "nftables"
	Images       *Images       `json:"images,omitempty"`
	Packages     *Packages     `json:"packages,omitempty"`
	Links        []Link        `json:"links,omitempty"`
	Sysctls      []Setting     `json:"sysctls,omitempty"` // that are not as we had set them
	Registries   []Registry    `json:"registries,omitempty"`
	Clock        *Clock        `json:"clock,omitempty"`
	Certificates []Certificate `json:"certificates,omitempty"`
	Disks        []Disk        `json:"disks,omitempty"`
	APIServer    *APIServer    `json:"apiServer,omitempty"` // on control-plane hosts
	Etcd         *Etcd         `json:"etcd,omitempty"`      // on control-plane hosts
	GPU          *GPU          `json:"gpu,omitempty"`       // on hosts with cards

	Unknown []Unknown `json:"unknown,omitempty"`
}

// Programs are the versions of airgap on a host beside the one that reports.
type Programs struct {
	Installed string `json:"installed"`          // in the place of airgap.rpm's
	Registry  string `json:"registry,omitempty"` // that airgap-registry.service runs, "unknown" of one that did not say; "": none runs here
	Approver  string `json:"approver,omitempty"` // that airgap-join-approver.service runs; "": none runs here
}

// Unit is a service of systemd that a node cannot do without.
type Unit struct {
	Name  string `json:"name"`  // "kubelet.service"
	State string `json:"state"` // systemd's ActiveState: "active"
}

// Cgroup is what is in effect, what the kubelet's file says, and what the host needs.
type Cgroup struct {
	Version    int    `json:"version"`              // of the host's hierarchy: 1 or 2
	Runtime    string `json:"runtime"`              // driver, by its effective configuration: "systemd" or "cgroupfs"
	Kubelet    string `json:"kubelet"`              // by its own word, /configz
	Configured string `json:"configured,omitempty"` // in the kubelet's file
	Host       string `json:"host,omitempty"`       // that fits its process 1: "systemd" where that is systemd; "" of an older airgap
	// Others are files beside the runtime's configuration, not airgap's, that may have
	// given it another driver than the host's.
	Others []string `json:"others,omitempty"`
}

// Images are those of the bundle that this host has to keep.
type Images struct {
	// Unpinned are there, and the kubelet may delete them when the disk fills up.
	Unpinned []string `json:"unpinned,omitempty"`
	Missing  []string `json:"missing,omitempty"` // should be pinned and are not there at all
}

// Packages are those that airgap installed.
type Packages struct {
	// Changed are `rpm -V`'s lines but for configuration files: "S.5....T.  /usr/bin/kubelet".
	Changed  []string `json:"changed,omitempty"`
	Unlocked []string `json:"unlocked,omitempty"` // have lost their versionlock
}

// Link is a network interface of the host; those of single pods are left out.
type Link struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"` // netlink's: "vxlan", "ipip", "bridge"; "" of a card
	MTU  int    `json:"mtu"`            // bytes
	Up   bool   `json:"up"`
}

// Setting is one that is not as it was set.
type Setting struct {
	Key  string `json:"key"` // "net.ipv4.ip_forward"
	Saw  string `json:"saw"`
	Want string `json:"want"`
}

// Registry is one that this host pulls from.
type Registry struct {
	Address string `json:"address"`
	Node    string `json:"node,omitempty"`  // which serves it; "" for one of the site's own
	Error   string `json:"error,omitempty"` // why it cannot be asked; "": it answers
}

// Clock is what the kernel says of it.
type Clock struct {
	Synchronized bool   `json:"synchronized"`
	ErrorMillis  int64  `json:"errorMillis"`      // at most so much is it wrong, by the kernel's estimate
	Source       string `json:"source,omitempty"` // whom it follows: "chronyd.service"
}

// Certificate is one of the cluster's on this host.
type Certificate struct {
	File    string       `json:"file"`
	Subject string       `json:"subject"`
	Ends    metav1.Time  `json:"ends"`
	Begins  *metav1.Time `json:"begins,omitempty"` // nil: an older airgap did not report it
}

// Disk is a file system that something of the cluster writes to.
type Disk struct {
	Path string   `json:"path"` // the first one of the cluster on it: "/var/lib/kubelet"
	Uses []string `json:"uses"` // who writes there: "kubelet", "etcd"
	Size int64    `json:"size"` // bytes
	Free int64    `json:"free"` // bytes, without what is kept for root
	// Inodes and InodesFree are 0 where the file system makes them as they are needed.
	Inodes     int64 `json:"inodes,omitempty"`
	InodesFree int64 `json:"inodesFree,omitempty"`
}

// APIServer is this host's own, asked without the balancer.
type APIServer struct {
	Error string `json:"error,omitempty"` // why it is not ready; "": it is
	// Behind is by how many seconds what it answers from its cache is older than what is
	// in etcd, by the lease of this node. A lease is renewed each ten seconds.
	Behind int64 `json:"behind"`
}

// Etcd is this host's member of it.
type Etcd struct {
	Member    string       `json:"member"` // its name
	HasLeader bool         `json:"hasLeader"`
	Leads     bool         `json:"leads"`
	Error     string       `json:"error,omitempty"` // why it is not healthy; "": it is
	Alarms    []string     `json:"alarms,omitempty"`
	Members   []string     `json:"members,omitempty"`   // names of all, as this one knows them
	Unstarted []string     `json:"unstarted,omitempty"` // where members are to be that have never started, so have no name yet
	Bytes     int64        `json:"bytes"`               // of its database
	Quota     int64        `json:"quota"`               // bytes at which it stops to take writes
	Snapshot  *metav1.Time `json:"snapshot,omitempty"`  // in the newest backup on this host
}

// GPU is what bus, kernel and NVML say of cards, beside what is wanted of them.
type GPU struct {
	Bus    int    `json:"bus"`              // cards on the PCI bus, without those kept for virtual machines
	Driver string `json:"driver,omitempty"` // version of the loaded kernel module; "": none is loaded
	Module bool   `json:"module,omitempty"` // the running kernel has a module of NVIDIA's, loaded or not
	NVML   *NVML  `json:"nvml,omitempty"`   // where a driver is loaded
	Want   *Cards `json:"want,omitempty"`   // nil: containers are to have none of the cards
	// Offers are what the scheduler should have of them; none: NVML does not say
	// enough to tell.
	Offers []Offer `json:"offers,omitempty"`
}

// Cards is how a host's cards were set up.
type Cards struct {
	Driver string `json:"driver,omitempty"` // locked version; "": the site installs its own
	Count  int    `json:"count,omitempty"`  // that were there; 0: nobody has counted
}

// Offer is so many of a resource.
type Offer struct {
	Resource string `json:"resource"` // "nvidia.com/gpu"
	Count    int    `json:"count"`
}

// NVML is what NVIDIA's library says.
type NVML struct {
	Error    string    `json:"error,omitempty"` // why it cannot be asked; of the rest there are only faults then
	Driver   string    `json:"driver"`
	CUDA     string    `json:"cuda,omitempty"` // newest version that the driver runs by itself: "13.0"
	Cards    int       `json:"cards"`
	GPUs     []Card    `json:"gpus,omitempty"`     // each of them
	Products []Product `json:"products,omitempty"` // of cards that answer, in their order
	Faults   []string  `json:"faults,omitempty"`   // uncorrected ECC errors, rows waiting to be remapped; Xid events of a day, by the kernel's log
}

// Card is one GPU by itself; 0 and "" are not told. Its temperatures and what it draws
// always move, and go with the heartbeat: what is too much of them is a fault.
type Card struct {
	Index      int    `json:"index"` // NVML's number
	UUID       string `json:"uuid,omitempty"`
	Address    string `json:"address,omitempty"`    // on the PCI bus: "0000:17:00.0"
	Celsius    int    `json:"celsius,omitempty"`    // how hot it is
	SlowsAt    int    `json:"slowsAt,omitempty"`    // °C from which it slows itself down
	TurnsOffAt int    `json:"turnsOffAt,omitempty"` // °C
	Watts      int    `json:"watts,omitempty"`      // that it draws
	WattsLimit int    `json:"wattsLimit,omitempty"` // that it may draw
}

// Product is cards of one kind.
type Product struct {
	Name   string `json:"name"` // "NVIDIA H100 80GB HBM3"
	Cards  int    `json:"cards"`
	Memory int    `json:"memory,omitempty"` // MiB of one
	MIG    bool   `json:"mig,omitempty"`    // can be partitioned
}

// Unknown is a part that could not be looked at.
type Unknown struct {
	Part   string `json:"part"` // by its name in JSON: "packages"
	Reason string `json:"reason"`
}
