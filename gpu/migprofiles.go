package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// A GPU with MIG has compute slices and memory slices. A MIG instance uses some of both, and its
// profile has their number in its name: 3g.40gb has three compute slices and 40 GB.

// migSlices is the maximum number of compute slices of a GPU.
const migSlices = 7

// migCard is a group of GPU models with the same MIG profiles.
type migCard struct {
	ids             []DeviceID
	compute, memory int // slices
	parts           []migProfile
}

// migProfile is a MIG profile and the number of its slices.
type migProfile struct {
	name            string
	compute, memory int
}

// migCards returns the GPUs with reliably known profiles (NVIDIA: MIG user guide, supported MIG
// profiles; NVIDIA/mig-parted: config-default.yaml lists them by device ID). It does not contain
// GB200, because its profiles have had two sets of names, and RTX GPUs, which have more profiles.
func migCards() []migCard {
	return []migCard{
		// A30
		{[]DeviceID{0x20b7}, 4, 4, []migProfile{{"1g.6gb", 1, 1}, {"1g.6gb+me", 1, 1}, {"2g.12gb", 2, 2}, {"2g.12gb+me", 2, 2}, {"4g.24gb", 4, 4}}},
		// A100 and A800 of 40 GB
		sevenSlices(5, 10, 20, 40, 0x20b0, 0x20b1, 0x20f1, 0x20f6),
		// A100, A800, H100 and H800 of 80 GB
		sevenSlices(10, 20, 40, 80, 0x20b2, 0x20b5, 0x20f3, 0x20f5, 0x2322, 0x2324, 0x2330, 0x2331),
		// H100 NVL, H800 NVL
		sevenSlices(12, 24, 47, 94, 0x2321, 0x233a),
		// PG506, H20, H100 of 96 GB, GH200
		sevenSlices(12, 24, 48, 96, 0x20b6, 0x2329, 0x233d, 0x2342),
		// H200, H200 NVL
		sevenSlices(18, 35, 71, 141, 0x2335, 0x233b),
		// GH200 of 144 GB
		sevenSlices(18, 36, 72, 144, 0x2348),
		// B200
		sevenSlices(23, 45, 90, 180, 0x2901),
		// B300 (NVIDIA: GPU Operator 25.10.0, new MIG profiles)
		sevenSlices(34, 67, 135, 269, 0x3182),
	}
}

// sevenSlices returns GPUs with seven compute slices and eight memory slices. The arguments are the
// memory in GB of profiles with one, two, four and eight memory slices.
func sevenSlices(eighth, quarter, half, whole int, ids ...DeviceID) migCard {
	var parts []migProfile
	for _, p := range []struct {
		compute, memory, gb int
		more                string
	}{{1, 1, eighth, ""}, {1, 1, eighth, "+me"}, {1, 2, quarter, ""}, {2, 2, quarter, ""}, {3, 4, half, ""}, {4, 4, half, ""}, {7, 8, whole, ""}} {
		parts = append(parts, migProfile{fmt.Sprintf("%dg.%dgb%s", p.compute, p.gb, p.more), p.compute, p.memory})
	}
	return migCard{ids, migSlices, 8, parts}
}

// migCard returns the known MIG profiles of a GPU.
func (d Device) migCard() (card migCard, known bool) {
	for _, c := range migCards() {
		if slices.ContainsFunc(c.ids, func(id DeviceID) bool { return id.String() == d.PCI.Device }) {
			return c, true
		}
	}
	return migCard{}, false
}

// refuse returns an error if the GPU cannot have instances of these profiles. It checks only the
// number of slices. The driver may still not find a placement for all instances.
func (c migCard) refuse(profiles []string) error {
	compute, memory, media := 0, 0, 0
	for _, p := range profiles {
		i := slices.IndexFunc(c.parts, func(has migProfile) bool { return has.name == p })
		if i < 0 {
			return fmt.Errorf("has no MIG profile %s: it has %s", p, strings.Join(c.names(), ", "))
		}
		compute, memory = compute+c.parts[i].compute, memory+c.parts[i].memory
		if strings.HasSuffix(p, "+me") {
			media++
		}
	}
	switch parts := strings.Join(profiles, ", "); {
	case compute > c.compute:
		return fmt.Errorf("has %d compute slices, but %s need %d", c.compute, parts, compute)
	case memory > c.memory:
		return fmt.Errorf("has %d memory slices, but %s need %d", c.memory, parts, memory)
	case media > 1:
		return fmt.Errorf("supports one instance with media extensions (+me), but %s are %d", parts, media)
	}
	return nil
}

func (c migCard) names() []string {
	var names []string
	for _, p := range c.parts {
		names = append(names, p.name)
	}
	return names
}
