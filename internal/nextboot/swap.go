package nextboot

import "io/fs"

// Swap is a swap area that the next boot turns on.
type Swap struct {
	What  string `yaml:"what" json:"what"` // device, file or unit
	By    string `yaml:"by" json:"by"`
	Place `yaml:",inline"`
}

// The values of Swap.By. A script or cloud-init only may turn swap on: a condition or an earlier
// run can prevent it.
const (
	ByFstab     = "fstab"
	ByUnit      = "unit"
	ByZram      = "zram-generator"
	ByGenerator = "generator" // of systemd, such as the one for GPT partitions
	ByAgent     = "agent"     // Azure's
	ByScript    = "script"
	ByCloudInit = "cloud-init"
)

// ReadSwaps reads everything that turns swap on at boot, in files that can be read without
// running a program. Odd lines of fstab are left out, and named.
func ReadSwaps(fsys fs.FS) (swaps []Swap, odd []Place, err error) {
	units, err := ReadSwapUnits(fsys)
	if err != nil || units.Masked["swap.target"] {
		return nil, nil, err
	}
	swaps, odd, err = fstabSwaps(fsys)
	if err != nil {
		return nil, nil, err
	}
	swaps = append(swaps, units.Wanted...)
	for _, find := range []func(fs.FS, SwapUnits) ([]Swap, error){zramSwaps, generatedSwaps, scriptSwaps} {
		more, err := find(fsys, units)
		if err != nil {
			return nil, nil, err
		}
		swaps = append(swaps, more...)
	}
	return swaps[:min(len(swaps), mostFound)], odd[:min(len(odd), mostFound)], nil
}
