package facts

import "strconv"

const (
	RPFilterParameter  = "rp_filter"
	ARPFilterParameter = "arp_filter"
	ARPIgnoreParameter = "arp_ignore"
)

// Present is the moment of the survey. The line is known if it sets the present value at boot, too.
func (f *Facts) Present(link, parameter string) (int, string) {
	l := f.filtering(link)
	value := map[string]int{RPFilterParameter: l.RPFilter, ARPFilterParameter: l.ARPFilter, ARPIgnoreParameter: l.ARPIgnore}[parameter]
	if boot, line := f.AtBoot(link, parameter); boot == value {
		return value, line
	}
	return value, ""
}

// AtBoot is the moment after the next boot. The larger value of "all" and the link applies. Without a
// line, the kernel's default is 0.
func (f *Facts) AtBoot(link, parameter string) (value int, line string) {
	for _, name := range []string{"all", link} {
		s := f.Sysctl(LinkParameter(name, parameter))
		if n, err := strconv.Atoi(s.Boot); err == nil && n > value {
			value, line = n, s.Setting()
		}
	}
	return value, line
}

// SetAtBoot is the first of the parameters that a line sets for an uplink or for all links.
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

const (
	LocalRange    = "net.ipv4.ip_local_port_range"
	ReservedPorts = "net.ipv4.ip_local_reserved_ports"
)
