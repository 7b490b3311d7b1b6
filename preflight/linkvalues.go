package preflight

import (
	"slices"
	"strconv"
	"strings"
)

const (
	rpFilterParameter  = "rp_filter"
	arpFilterParameter = "arp_filter"
	arpIgnoreParameter = "arp_ignore"
)

// moment returns the value of a parameter that applies to a link, now or after the next boot, and
// the line that sets it; "" if the line is unknown.
type moment func(link, parameter string) (value int, line string)

// present is the moment of the survey. The line is known if it sets the present value at boot, too.
func (f *Facts) present(link, parameter string) (int, string) {
	l := f.filtering(link)
	value := map[string]int{rpFilterParameter: l.RPFilter, arpFilterParameter: l.ARPFilter, arpIgnoreParameter: l.ARPIgnore}[parameter]
	if boot, line := f.atBoot(link, parameter); boot == value {
		return value, line
	}
	return value, ""
}

// atBoot is the moment after the next boot. The larger value of "all" and the link applies. Without a
// line, the kernel's default is 0.
func (f *Facts) atBoot(link, parameter string) (value int, line string) {
	for _, name := range []string{"all", link} {
		s := f.sysctl(linkParameter(name, parameter))
		if n, err := strconv.Atoi(s.Boot); err == nil && n > value {
			value, line = n, s.line()
		}
	}
	return value, line
}

// setAtBoot is the first of the parameters that a line sets for an uplink or for all links.
func (f *Facts) setAtBoot(parameters ...string) Sysctl {
	for _, parameter := range parameters {
		for _, link := range append(f.uplinks(), "all") {
			if s := f.sysctl(linkParameter(link, parameter)); s.Boot != "" {
				return s
			}
		}
	}
	return Sysctl{}
}

// nowAndBoot joins the results for the present values and for those of the next boot. set is a line
// that sets such a value at boot.
func nowAndBoot(now, boot Result, set Sysctl) Result {
	switch {
	case boot.Status == Pass && now.Status == Pass:
		return now
	case boot.Status == Pass && set.Boot != "":
		now.Found += " now, although " + set.line() + " at every boot"
		return now
	case boot.Status == Pass:
		return now
	case now.Status == Pass:
		boot.Found = "from the next boot on " + boot.Found
		return boot
	case boot.Found == now.Found || worse(now.Status, boot.Status) == boot.Status:
		return boot
	default:
		return now
	}
}

func addLine(lines []string, line string) []string {
	if line == "" || slices.Contains(lines, line) {
		return lines
	}
	return append(lines, line)
}

func inBrackets(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return " (" + strings.Join(lines, "; ") + ")"
}
