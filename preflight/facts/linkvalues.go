package facts

import "strconv"

// Parameters in net.ipv4.conf.LINK.
const (
	RPFilterParameter  = "rp_filter"
	ARPFilterParameter = "arp_filter"
	ARPIgnoreParameter = "arp_ignore"
)

// Present returns the value of a link's parameter at the survey, and the line that sets the same value at boot, if any.
func (f *Facts) Present(link, parameter string) (int, string) {
	l := f.filtering(link)
	value := map[string]int{RPFilterParameter: l.RPFilter, ARPFilterParameter: l.ARPFilter, ARPIgnoreParameter: l.ARPIgnore}[parameter]
	if boot, line := f.AtBoot(link, parameter); boot == value {
		return value, line
	}
	return value, ""
}

// AtBoot returns the value of a link's parameter after the next boot, and the line that sets it. The
// larger value of "all" and the link applies. Without a line, the kernel's default is 0.
func (f *Facts) AtBoot(link, parameter string) (value int, line string) {
	for _, name := range []string{"all", link} {
		s := f.Sysctl(LinkParameter(name, parameter))
		if n, err := strconv.Atoi(s.Boot); err == nil && n > value {
			value, line = n, s.Setting()
		}
	}
	return value, line
}

// SetAtBoot returns the first of the parameters that a line sets for an uplink or for all links.
func (f *Facts) SetAtBoot(parameters ...string) Sysctl {
	for _, parameter := range parameters {
		for _, link := range append(f.Uplinks(), "all") {
			if s := f.Sysctl(LinkParameter(link, parameter)); s.Boot != "" {
				return s
			}
		}
	}
	return Sysctl{}
}

// Parameters of the ports of outgoing connections.
const (
	LocalRange    = "net.ipv4.ip_local_port_range"
	ReservedPorts = "net.ipv4.ip_local_reserved_ports"
)
