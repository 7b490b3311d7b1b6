package main

import (
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/preflight"
)

// common are the packages that all the servers have in the same build.
func common(all []*preflight.Facts) (*rpm.Installed, error) {
	count := map[rpm.NEVRA]int{}
	var hosts []string
	first := rpm.Installed{}
	for i, facts := range all {
		hosts = append(hosts, facts.Host)
		for _, p := range facts.Packages {
			if p.Arch == "(none)" {
				continue // an imported key
			}
			one, err := installedPackage(p)
			if err != nil {
				return nil, fmt.Errorf("read facts of %s: %w", facts.Host, err)
			}
			count[one.NEVRA]++
			if i == 0 {
				first.Packages = append(first.Packages, one)
			}
		}
	}
	shared := &rpm.Installed{Host: strings.Join(hosts, ", ")}
	for _, p := range first.Packages {
		if count[p.NEVRA] >= len(all) {
			shared.Packages = append(shared.Packages, p)
		}
	}
	return shared, nil
}

func installedPackage(p preflight.Package) (rpm.InstalledPackage, error) {
	epoch, err := strconv.Atoi(p.Epoch)
	if err != nil {
		return rpm.InstalledPackage{}, fmt.Errorf("epoch of %s: %w", p.Name, err)
	}
	one := rpm.InstalledPackage{NEVRA: rpm.NEVRA{Name: p.Name, EVR: rpm.EVR{Epoch: epoch, Version: p.Version, Release: p.Release}, Arch: p.Arch}}
	for _, list := range []struct {
		from []preflight.Capability
		to   *[]rpm.Capability
	}{{p.Provides, &one.Provides}, {p.Requires, &one.Requires}, {p.Conflicts, &one.Conflicts}, {p.Obsoletes, &one.Obsoletes}} {
		for _, c := range list.from {
			parsed, err := rpm.ParseCapability(c.String())
			if err != nil {
				return one, fmt.Errorf("%s: %w", p.Name, err)
			}
			*list.to = append(*list.to, parsed)
		}
	}
	for _, f := range p.Files {
		one.Provides = append(one.Provides, rpm.Capability{Name: f})
	}
	return one, nil
}

// packageName is the name in a NEVRA, "" when it is none.
func packageName(nevra string) string {
	n, err := rpm.ParseNEVRA(nevra)
	if err != nil {
		return ""
	}
	return n.Name
}
