package preflight

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/outlier"
	"airgap.dev/airgap/preflight/facts"
)

// traitPackages are the packages whose versions are traits.
func traitPackages() []string {
	return []string{"containerd.io", "containerd", "podman", "runc", "firewalld", "NetworkManager", "selinux-policy", "systemd"}
}

// traitLimit is the time for the facts of Traits, which come from files and short commands.
const traitLimit = 10 * time.Second

// Traits reads the traits of a host that need no package database.
func Traits(ctx context.Context, h host.Host) []outlier.Trait {
	f, err := facts.GatherSome(ctx, h, traitLimit, "os", "kernel", "cgroup", "security", "links", "routes", "resolv", "timeServers", "timeZone", "firmware")
	if err != nil {
		return nil
	}
	return traitsOf(f)
}

// traitsOf returns the known traits of a host, in a fixed order.
func traitsOf(f *facts.Facts) []outlier.Trait {
	all := []outlier.Trait{
		{Name: "operating system", Value: f.OS.Name},
		{Name: "kernel", Value: f.Kernel.Release},
		{Name: "cgroup version", Value: f.Cgroup.Mode},
		{Name: "SELinux", Value: f.Security.SELinux},
		{Name: "MTU", Value: defaultMTU(f)},
		{Name: "name servers", Value: strings.Join(f.Resolv.Nameservers, " ")},
		{Name: "search domains", Value: strings.Join(f.Resolv.Search, " ")},
		{Name: "time zone", Value: f.Time.Zone},
		{Name: "time servers", Value: strings.Join(f.Time.Servers, " ")},
		{Name: "NVIDIA driver", Value: f.Driver},
		{Name: strings.TrimSuffix("firmware of "+f.Firmware.Product, " of "), Value: f.Firmware.Version}, // servers of another kind have another one
	}
	for _, name := range traitPackages() {
		for _, p := range f.Packages {
			if p.Name == name {
				all = append(all, outlier.Trait{Name: name, Value: p.Version + "-" + p.Release})
				break
			}
		}
	}
	return slices.DeleteFunc(all, func(t outlier.Trait) bool { return t.Value == "" })
}

// defaultMTU is the MTU of the interface with the default route; "" if there is none.
func defaultMTU(f *facts.Facts) string {
	for _, r := range f.Routes {
		if r.To != netip.PrefixFrom(netip.IPv4Unspecified(), 0) {
			continue
		}
		for _, l := range f.Links {
			if l.Name == r.Device {
				return fmt.Sprint(l.MTU)
			}
		}
	}
	return ""
}

// outliers are the hosts that differ from most others.
func outliers(hosts []judged) []outlier.Outlier {
	var all []outlier.Host
	for _, h := range hosts {
		all = append(all, outlier.Host{Name: h.Name, Traits: h.Traits})
	}
	return outlier.Find(all)
}

// Outliers are the hosts that differ from most others.
func (p page) Outliers() []outlier.Outlier { return outliers(p.Hosts) }
