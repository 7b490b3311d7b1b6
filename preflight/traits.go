package preflight

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

// Trait is a property that the hosts of a cluster usually share. A host with another value is named in the report of
// several hosts; it is no failure.
type Trait struct {
	Name  string `yaml:"name" json:"name"`
	Value string `yaml:"value" json:"value"`
}

// traitPackages are the packages whose versions are traits.
var traitPackages = []string{"containerd.io", "containerd", "podman", "runc", "firewalld", "NetworkManager", "selinux-policy", "systemd"}

// traitsOf returns the known traits of a host, in a fixed order.
func traitsOf(f *facts.Facts) []Trait {
	all := []Trait{
		{"operating system", f.OS.Name},
		{"kernel", f.Kernel.Release},
		{"cgroup version", f.Cgroup.Mode},
		{"SELinux", f.Security.SELinux},
		{"MTU", defaultMTU(f)},
		{"name servers", strings.Join(f.Resolv.Nameservers, " ")},
		{"search domains", strings.Join(f.Resolv.Search, " ")},
		{"time servers", strings.Join(f.Time.Servers, " ")},
		{"NVIDIA driver", f.Driver},
	}
	for _, name := range traitPackages {
		for _, p := range f.Packages {
			if p.Name == name {
				all = append(all, Trait{name, p.Version + "-" + p.Release})
				break
			}
		}
	}
	return slices.DeleteFunc(all, func(t Trait) bool { return t.Value == "" })
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

// outlier is a trait with the value of most hosts, and the hosts with other values.
type outlier struct {
	Name, Common string
	Count        int // hosts with the common value
	Others       []otherValue
}

// otherValue is the value of a trait on some hosts.
type otherValue struct {
	Value string
	Hosts []string
}

// fewest is the number of hosts from which on a majority means something.
const fewest = 3

// outliers returns the traits that more than half of the hosts share, and that others have with another value.
func outliers(hosts []judged) []outlier {
	var names []string
	by := map[string][]otherValue{}
	for _, h := range hosts {
		for _, t := range h.Traits {
			values := by[t.Name]
			if values == nil {
				names = append(names, t.Name)
			}
			i := slices.IndexFunc(values, func(v otherValue) bool { return v.Value == t.Value })
			if i < 0 {
				i, values = len(values), append(values, otherValue{Value: t.Value})
			}
			values[i].Hosts = append(values[i].Hosts, h.Name)
			by[t.Name] = values
		}
	}
	var all []outlier
	for _, name := range names {
		values, hosts := by[name], 0
		for _, v := range values {
			hosts += len(v.Hosts)
		}
		slices.SortStableFunc(values, func(a, b otherValue) int { return cmp.Compare(len(b.Hosts), len(a.Hosts)) })
		if len(values) < 2 || hosts < fewest || 2*len(values[0].Hosts) <= hosts {
			continue
		}
		all = append(all, outlier{Name: name, Common: values[0].Value, Count: len(values[0].Hosts), Others: values[1:]})
	}
	return all
}

// text writes what the hosts in the minority have.
func (o outlier) text(p *printer) {
	p.line("%-5s  %s: %s on %s", "note", o.Name, o.Common, ui.Count(o.Count, "host"))
	for i, other := range o.Others {
		if i == shownFindings {
			p.line("       %s: airgap preflight --output json has them", ui.Count(len(o.Others)-i, "other value"))
			return
		}
		p.line("       but %s on %s", other.Value, ui.Hosts(other.Hosts))
	}
}

// Outliers are the hosts that differ from most others.
func (p page) Outliers() []outlier { return outliers(p.Hosts) }
