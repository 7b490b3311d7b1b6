package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// migChips lists those with MIG (NVIDIA: MIG user guide, supported GPUs), and GB102 and
// GB11x, which go on boards like GB100's. Of GB202 and GB203 some cards have it, and
// their numbers do not tell which.
func migChips() []string {
	return []string{"GA100", "GH100", "GB100", "GB102", "GB110", "GB112", "GB202", "GB203"}
}

// divisible tells whether a card may have MIG. One that the table does not have may.
func (d Device) divisible() bool {
	i := slices.IndexFunc(IDRanges(), func(r IDRange) bool { return r.has(d.PCI.Device) })
	return i < 0 || slices.ContainsFunc(strings.Fields(IDRanges()[i].Chips), func(chip string) bool { return slices.Contains(migChips(), chip) })
}

// refuse names the first card that containers can have and that the profiles cannot
// be made of.
func (m MIGConfig) refuse(devices []Device) error {
	if len(m.Profiles) == 0 {
		return nil
	}
	for _, d := range devices {
		if d.Kind != GPU || d.Reserved() != "" {
			continue
		}
		if !d.divisible() {
			return fmt.Errorf("%s cannot be divided (NVIDIA: MIG user guide, supported GPUs), and gpu.mig.profiles divides all cards of a host", d)
		}
		if card, known := d.migCard(); known {
			if err := card.refuse(m.Profiles); err != nil {
				return fmt.Errorf("%s %w (NVIDIA: MIG user guide, supported MIG profiles); gpu.mig.profiles divides all cards of a host alike", d, err)
			}
		}
	}
	return nil
}
