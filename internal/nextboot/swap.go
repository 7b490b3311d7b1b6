package nextboot

import (
	"io/fs"
	"strings"
)

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
	ByParameter = "systemd.swap-extra" // of the kernel command line
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

// SwapsAt are the swap areas that a boot turns on with a version of systemd and a kernel command
// line, of the sources that ReadSwaps found. Parameters turn off the units of generators, and add
// areas. Those of maybe depend on a condition.
func SwapsAt(found []Swap, systemd int, cmdline, from string) (sure, maybe []Swap) {
	// Before systemd 246 the parameter does not exist.
	noGenerated := systemd >= 246 && Last(cmdline, "systemd.swap").No()
	for _, s := range found {
		switch {
		case s.By == ByFstab && (noGenerated || Last(cmdline, "fstab").No()),
			s.By == ByGenerator && (noGenerated || Last(cmdline, "systemd.gpt_auto").No()),
			s.By == ByZram && Last(cmdline, "systemd.zram").No():
		case s.By == ByScript, s.By == ByCloudInit:
			maybe = append(maybe, s)
		default:
			sure = append(sure, s)
		}
	}
	if p := Last(cmdline, "systemd.swap_extra"); p.Value != "" && !noGenerated {
		what, _, _ := strings.Cut(p.Value, ":")
		sure = append(sure, Swap{what, ByParameter, Place{File: from}})
	}
	return sure, maybe
}
