package nvml

import (
	"fmt"
	"strings"
)

// linkFault compares a GPU with those of the same name on the host, because the number of connected
// NVLinks is unknown: bridges use some of them, and cheaper models have fewer. It does not detect
// links that are missing on all GPUs. With NVSwitches, Fabric shows these.
func (r Report) linkFault(c GPU) string {
	best := c
	alike, unlinked := 0, 0
	for _, other := range r.GPUs {
		if other.Name != c.Name || !other.linked() {
			continue
		}
		alike++
		if other.Active() == 0 {
			unlinked++
		}
		if other.Active() > best.Active() {
			best = other
		}
	}
	// A GPU without a bridge is no fault if most other GPUs have none.
	bridged := c.Active() > 0 || 2*unlinked < alike
	if !c.linked() || c.Active() == best.Active() || !bridged {
		return ""
	}
	if c.Active() == 0 {
		return fmt.Sprintf("no NVLink is active, but %s has %d", best, best.Active())
	}
	return fmt.Sprintf("%d NVLinks are active, but %s has %d; inactive: %s", c.Active(), best, best.Active(), c.inactive())
}

// linked reports whether the GPU has usable NVLinks. A GPU in MIG mode has none.
func (c GPU) linked() bool {
	return len(c.NVLinks) > 0 && (c.MIG == nil || !c.MIG.Current)
}

// Active returns the number of active NVLinks.
func (c GPU) Active() int {
	n := 0
	for _, active := range c.NVLinks {
		if active {
			n++
		}
	}
	return n
}

// inactive returns the numbers of the inactive NVLinks: "3, 5".
func (c GPU) inactive() string {
	var numbers []string
	for i, active := range c.NVLinks {
		if !active {
			numbers = append(numbers, fmt.Sprint(i))
		}
	}
	return strings.Join(numbers, ", ")
}
