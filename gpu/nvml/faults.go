package nvml

import (
	"fmt"
	"slices"
)

// Faults returns the faults, each with its GPU, in the order of the GPUs. A healthy host has none.
func (r Report) Faults() []string {
	var all []string
	add := func(c GPU, what string) {
		if what != "" {
			all = append(all, c.String()+": "+what)
		}
	}
	for _, c := range r.GPUs {
		if c.Lost != "" {
			add(c, "does not answer: "+c.Lost)
		}
		add(c, c.ECC.fault())
		for _, what := range c.Rows.faults() {
			add(c, what)
		}
		add(c, c.heat())
		add(c, c.Fabric.fault())
		add(c, r.linkFault(c))
		if c.ECC != nil {
			add(c, c.ECC.pendingChange("ECC"))
		}
		if c.MIG != nil {
			add(c, c.MIG.pendingChange("MIG"))
		}
	}
	for _, x := range r.Xids {
		if !x.ofProgram() {
			add(r.card(x.Card), fmt.Sprintf("Xid %d", x.Number))
		}
	}
	return all
}

func (r Report) card(index int) GPU {
	for _, c := range r.GPUs {
		if c.Index == index {
			return c
		}
	}
	return GPU{Index: index}
}

// fault checks only the errors since the driver was loaded: the rows of earlier errors have been
// remapped, and the GPU counts them for its lifetime.
func (e *ECC) fault() string {
	if e == nil || e.Volatile.Uncorrected == nil || *e.Volatile.Uncorrected == 0 {
		return ""
	}
	return fmt.Sprintf("uncorrected ECC errors since the driver was loaded: %d", *e.Volatile.Uncorrected)
}

func (r *Rows) faults() []string {
	var all []string
	if r != nil && r.Failed {
		all = append(all, "has no spare memory rows left: replace the GPU")
	}
	if r != nil && r.Pending {
		all = append(all, "memory rows are waiting for remapping until the GPU is reset")
	}
	return all
}

func (f *Fabric) fault() string {
	switch {
	case f == nil:
		return ""
	case f.State != FabricCompleted:
		return fmt.Sprintf("is not part of the NVSwitch fabric, registration is %s: check nvidia-fabricmanager", f.State)
	case f.Error != "":
		return "is not part of the NVSwitch fabric, registration failed: " + f.Error
	default:
		return ""
	}
}

func (m Mode) pendingChange(of string) string {
	if m.Current == m.Pending {
		return ""
	}
	return fmt.Sprintf("%s is %s, and becomes %s at the next reset of the GPU", of, onOff(m.Current), onOff(m.Pending))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// ofProgram reports whether a program on the GPU causes the event and the GPU stays healthy: the events
// that NVIDIA/k8s-device-plugin ignores in internal/rm/health.go.
func (x Xid) ofProgram() bool {
	return slices.Contains([]uint64{13, 31, 43, 45, 68, 109}, x.Number)
}
