package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// migChips returns the chips with MIG (NVIDIA: MIG user guide, supported GPUs), and GB102 and GB11x,
// which are on the same kind of baseboard as GB100. Some GPUs with GB202 or GB203 have MIG, but their
// device IDs do not show which.
func migChips() []string {
	return []string{"GA100", "GH100", "GB100", "GB102", "GB110", "GB112", "GB202", "GB203"}
}

// supportsMIG reports whether a GPU may have MIG. A GPU that is not in the table may.
func (d Device) supportsMIG() bool {
	i := slices.IndexFunc(IDRanges(), func(r IDRange) bool { return r.has(d.PCI.Device) })
	return i < 0 || slices.ContainsFunc(strings.Fields(IDRanges()[i].Chips), func(chip string) bool { return slices.Contains(migChips(), chip) })
}

// refuse returns an error for the first GPU for containers that cannot have these profiles.
func (m MIGConfig) refuse(devices []Device) error {
	if len(m.Profiles) == 0 {
		return nil
	}
	for _, d := range devices {
		if d.Kind != GPU || d.Reserved() != "" {
			continue
		}
		if !d.supportsMIG() {
			return fmt.Errorf("%s does not support MIG (NVIDIA: MIG user guide, supported GPUs), but gpu.mig.profiles divides all GPUs of a host", d)
		}
		if card, known := d.migCard(); known {
			if err := card.refuse(m.Profiles); err != nil {
				return fmt.Errorf("%s %w (NVIDIA: MIG user guide, supported MIG profiles); gpu.mig.profiles divides all GPUs of a host in the same way", d, err)
			}
		}
	}
	return nil
}
