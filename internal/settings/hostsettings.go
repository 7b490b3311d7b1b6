package settings

import "k8s.io/apimachinery/pkg/util/validation/field"

// HostSettings is the section hostSettings: of airgap.yaml: the settings of a
// host that another team manages at this site.
type HostSettings struct {
	Firewalld      string `yaml:"firewalld,omitempty" json:"firewalld,omitempty" jsonschema:"enum=open,enum=leave,default=open" jsonschema_description:"Ports of the cluster in a running firewalld. open: airgap install opens them. leave: the site opens them, and airgap preflight lists them."`
	Swap           string `yaml:"swap,omitempty" json:"swap,omitempty" jsonschema:"enum=refuse,enum=disable,default=refuse" jsonschema_description:"Handling of active swap. refuse: stop before any change. disable: turn swap off; airgap reset restores it."`
	TunnelChecksum string `yaml:"tunnelChecksum,omitempty" json:"tunnelChecksum,omitempty" jsonschema:"enum=offload,enum=software,default=offload" jsonschema_description:"Checksums of packets in the pod network's VXLAN. offload: by the network card, as the plugin sets it. software: by the CPU, for network cards and hypervisors that calculate them wrong; it costs CPU time, and airgap reset restores it."`
}

// Values of HostSettings.
const (
	OpenFirewalld  = "open"
	LeaveFirewalld = "leave"
	RefuseSwap     = "refuse"
	DisableSwap    = "disable"

	OffloadChecksum  = "offload"
	SoftwareChecksum = "software"
)

// Default sets missing fields.
func (h *HostSettings) Default() {
	if h.Firewalld == "" {
		h.Firewalld = OpenFirewalld
	}
	if h.Swap == "" {
		h.Swap = RefuseSwap
	}
	if h.TunnelChecksum == "" {
		h.TunnelChecksum = OffloadChecksum
	}
}

// Validate reports every wrong value of a section that was defaulted.
func (h HostSettings) Validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if h.Firewalld != OpenFirewalld && h.Firewalld != LeaveFirewalld {
		errs = append(errs, field.NotSupported(at.Child("firewalld"), h.Firewalld, []string{OpenFirewalld, LeaveFirewalld}))
	}
	if h.Swap != RefuseSwap && h.Swap != DisableSwap {
		errs = append(errs, field.NotSupported(at.Child("swap"), h.Swap, []string{RefuseSwap, DisableSwap}))
	}
	if h.TunnelChecksum != OffloadChecksum && h.TunnelChecksum != SoftwareChecksum {
		errs = append(errs, field.NotSupported(at.Child("tunnelChecksum"), h.TunnelChecksum, []string{OffloadChecksum, SoftwareChecksum}))
	}
	return errs
}
