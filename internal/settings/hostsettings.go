package settings

import "k8s.io/apimachinery/pkg/util/validation/field"

// HostSettings is the section hostSettings: of airgap.yaml: what of a host
// belongs to somebody else at this site.
type HostSettings struct {
	Firewalld string `yaml:"firewalld,omitempty" json:"firewalld,omitempty" jsonschema:"enum=open,enum=leave,default=open" jsonschema_description:"Whether install opens the cluster's ports in a firewalld that runs (open), or leaves that to the site's own people (leave): airgap preflight then lists the ports."`
	Swap      string `yaml:"swap,omitempty" json:"swap,omitempty" jsonschema:"enum=refuse,enum=disable,default=refuse" jsonschema_description:"What to do about active swap: stop before anything is changed (refuse), or turn it off until airgap reset puts it back (disable)."`
}

// What HostSettings knows.
const (
	OpenFirewalld  = "open"
	LeaveFirewalld = "leave"
	RefuseSwap     = "refuse"
	DisableSwap    = "disable"
)

// Default fills what was left out.
func (h *HostSettings) Default() {
	if h.Firewalld == "" {
		h.Firewalld = OpenFirewalld
	}
	if h.Swap == "" {
		h.Swap = RefuseSwap
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
	return errs
}
