package gpu

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Driver is the loaded driver of a host, from any source.
type Driver struct {
	Version string // "580.82.07"
	Open    bool   // its kernel module is the open one
}

// nvrm matches the first line of /proc/driver/nvidia/version:
//
//	NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023
//	NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (…)
var nvrm = regexp.MustCompile(`^NVRM version: NVIDIA UNIX (Open Kernel Module for \S+|\S+ Kernel Module) +(\d{3,4}(\.\d+){1,2}) `)

// ParseDriver parses /proc/driver/nvidia/version of a loaded driver.
func ParseDriver(text string) (Driver, error) {
	m := nvrm.FindStringSubmatch(text)
	if m == nil {
		line, _, _ := strings.Cut(text, "\n")
		return Driver{}, fmt.Errorf("read the driver's version: unexpected line %q", line)
	}
	return Driver{Version: m[2], Open: strings.HasPrefix(m[1], "Open")}, nil
}

// Branch returns the first number of the version.
func (d Driver) Branch() int {
	first, _, _ := strings.Cut(d.Version, ".")
	n, _ := strconv.Atoi(first) // ParseDriver has seen digits
	return n
}

// String returns, for example, "580.82.07 (open)".
func (d Driver) String() string {
	if d.Open {
		return d.Version + " (open)"
	}
	return d.Version + " (proprietary)"
}

// Required returns the drivers that a device requires, and the source of this rule. It returns "" if
// this driver supports the device or if the device is not in the table.
func (d Driver) Required(device Device) (want, source string) {
	for _, g := range Generations() {
		if !slices.Contains(g.Architectures, device.Architecture) {
			continue
		}
		flavour := g.Proprietary
		if d.Open {
			flavour = g.Open
		}
		if flavour.has(d.Branch()) {
			return "", ""
		}
		return g.Modules(), g.Source
	}
	return "", ""
}
