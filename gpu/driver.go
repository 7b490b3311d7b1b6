package gpu

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Driver is one that is loaded on a host, whoever installed it.
type Driver struct {
	Version string // "580.82.07"
	Open    bool   // its kernel module's flavour
}

// nvrm is the first line of /proc/driver/nvidia/version:
//
//	NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023
//	NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (…)
var nvrm = regexp.MustCompile(`^NVRM version: NVIDIA UNIX (Open Kernel Module for \S+|\S+ Kernel Module) +(\d{3,4}(\.\d+){1,2}) `)

// ParseDriver reads what a loaded driver says of itself in
// /proc/driver/nvidia/version.
func ParseDriver(text string) (Driver, error) {
	m := nvrm.FindStringSubmatch(text)
	if m == nil {
		line, _, _ := strings.Cut(text, "\n")
		return Driver{}, fmt.Errorf("read the driver's version: %q is not what NVIDIA's writes", line)
	}
	return Driver{Version: m[2], Open: strings.HasPrefix(m[1], "Open")}, nil
}

// Branch is the first number of its version.
func (d Driver) Branch() int {
	first, _, _ := strings.Cut(d.Version, ".")
	n, _ := strconv.Atoi(first) // ParseDriver has seen digits
	return n
}

// String is "580.82.07 (open)".
func (d Driver) String() string {
	if d.Open {
		return d.Version + " (open)"
	}
	return d.Version + " (proprietary)"
}

// Wanted says which drivers a device wants, and who says so, where this is none
// of them. It is "" where it is, and where nobody knows the device.
func (d Driver) Wanted(device Device) (want, source string) {
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
