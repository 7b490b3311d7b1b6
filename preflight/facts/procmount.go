package facts

import (
	"context"
	"slices"
	"strings"
)

// ProcMount has the options of /proc that hide programs from the programs of other users.
type ProcMount struct {
	// HidePID is "off", or a value that hides programs, as in proc(5): "2", "invisible". It is "" in a
	// survey of an older airgap.
	HidePID string `yaml:"hidePID,omitempty" json:"hidePID,omitempty"`
	// GID is the group that sees all programs; "" for root's group.
	GID string `yaml:"gid,omitempty" json:"gid,omitempty"`
}

// Hides reports whether programs are hidden.
func (p ProcMount) Hides() bool { return !slices.Contains([]string{"", "off", "0"}, p.HidePID) }

// WithoutGroup reports whether programs are hidden from the group of GID too, or whether there is no GID.
func (p ProcMount) WithoutGroup() bool {
	return p.Hides() && (p.GID == "" || p.GID == "0" || p.HidePID == "4" || p.HidePID == "ptraceable")
}

// procMount reads mount options; the last value of an option counts.
func procMount(options []string) ProcMount {
	p := ProcMount{HidePID: "off"}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "hidepid":
			p.HidePID = value
		case "gid":
			p.GID = value
		}
	}
	if !p.Hides() {
		return ProcMount{HidePID: "off"}
	}
	return p
}

func readProcMount(_ context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	f.ProcMount = ProcMount{HidePID: "off"}
	if m, found := mountOf(mounts, "/proc"); found && m.point == "/proc" {
		f.ProcMount = procMount(m.procOptions)
	}
	return nil
}

// Proc has the options of /proc in /etc/fstab and the line. systemd-remount-fs applies them at boot, and
// systemd refuses a mount unit for /proc.
func (b BootMounts) Proc() (options ProcMount, at string) {
	for _, m := range b.Mounts {
		if m.Mount == "/proc" && !m.Unit {
			return procMount(m.Options), m.At()
		}
	}
	return ProcMount{HidePID: "off"}, ""
}
