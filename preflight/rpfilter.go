package preflight

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Filtering has the settings of a link in net.ipv4.conf.LINK. For rp_filter and arp_ignore the
// larger value of "all" and the link applies.
type Filtering struct {
	Link      string `yaml:"link" json:"link"`
	RPFilter  int    `yaml:"rpFilter" json:"rpFilter"`   // 0: off, 1: strict, 2: loose
	ARPFilter int    `yaml:"arpFilter" json:"arpFilter"` // 1: answers only if the return route uses the link
	ARPIgnore int    `yaml:"arpIgnore" json:"arpIgnore"`
}

const linkSettings = "proc/sys/net/ipv4/conf"

// readFiltering skips the links of pods, which are not permanent.
func readFiltering(_ context.Context, r reader, f *Facts) error {
	names, err := r.names(linkSettings)
	if err != nil {
		return err
	}
	for _, name := range names {
		if isPodLink(name) {
			continue
		}
		l := Filtering{Link: name}
		for file, into := range map[string]*int{"rp_filter": &l.RPFilter, "arp_filter": &l.ARPFilter, "arp_ignore": &l.ARPIgnore} {
			text, err := r.text(path.Join(linkSettings, name, file))
			if err != nil {
				return err
			}
			if *into, err = strconv.Atoi(text); err != nil {
				return &fs.PathError{Op: "parse", Path: path.Join(linkSettings, name, file), Err: err}
			}
		}
		f.Filtering = append(f.Filtering, l)
	}
	return nil
}

// filtering has the settings that apply to a link.
func (f *Facts) filtering(link string) Filtering {
	var all, own Filtering
	for _, l := range f.Filtering {
		switch l.Link {
		case "all":
			all = l
		case link:
			own = l
		}
	}
	return Filtering{link, max(all.RPFilter, own.RPFilter), max(all.ARPFilter, own.ARPFilter), max(all.ARPIgnore, own.ARPIgnore)}
}

// uplinks are the links with an IPv4 address that other hosts can reach.
func (f *Facts) uplinks() []string {
	var names []string
	for _, l := range f.Links {
		if isPodLink(l.Name) {
			continue
		}
		for _, a := range l.Addresses {
			if a.Addr().Is4() && !a.Addr().IsLoopback() && !a.Addr().IsLinkLocalUnicast() && !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	return names
}

var rpFilter = Check{
	ID: "rp-filter", Title: "Reverse path filter allows asymmetric routes", Source: "replicatedhq/embedded-cluster; kernel documentation: ip-sysctl",
	Breaks: "A host with several networks silently drops packets from the other networks.",
	Needs:  []string{"filtering", "links"}, Run: judgeRPFilter,
}

// judgeRPFilter judges the present values and those of the next boot.
func judgeRPFilter(f *Facts, w *Want) Result {
	now, boot := judgeLooseForAll(f, w, f.present), judgeLooseForAll(f, w, f.atBoot)
	if now.Status == Fail || boot.Status == Fail {
		return nowAndBoot(now, boot, f.sysctl(linkParameter("all", rpFilterParameter)))
	}
	now, boot = judgeStrict(f, w, f.present), judgeStrict(f, w, f.atBoot)
	return nowAndBoot(now, boot, f.setAtBoot(rpFilterParameter))
}

// judgeStrict allows the strict mode on a host with a single network, which has no second route.
func judgeStrict(f *Facts, w *Want, at moment) Result {
	var strict, lines []string
	uplinks := f.uplinks()
	for _, name := range uplinks {
		if value, line := at(name, rpFilterParameter); value == 1 {
			strict, lines = append(strict, name), addLine(lines, line)
		}
	}
	r := Result{Warn, "strict on " + strings.Join(strict, ", ") + inBrackets(lines), "0 or 2 (loose)",
		"set net.ipv4.conf.all.rp_filter = 2 in a file of /etc/sysctl.d, then run sysctl --system: the larger value applies"}
	if w.Network.ByLink {
		r.Fix = looseByLink
	}
	switch {
	case len(strict) == 0:
		return pass("not strict")
	case w.Network.StrictFails:
		r.Status = Fail
		return r
	case len(uplinks) > 1:
		return r
	default:
		return pass("strict, with a single network")
	}
}

// looseByLink is the hint for plugins that set the value for all links themselves, or do not
// accept another one.
const looseByLink = "set net.ipv4.conf.all.rp_filter = 0 in a file of /etc/sysctl.d, and net.ipv4.conf.LINK.rp_filter = 2 for each link that needs it, then run sysctl --system"

// judgeLooseForAll fails for plugins that exit if all links are loose.
func judgeLooseForAll(_ *Facts, w *Want, at moment) Result {
	value, line := at("all", rpFilterParameter)
	if !w.Network.LooseForAllFails || value != 2 {
		return pass("not loose for all links")
	}
	return Result{Fail, "loose for all links" + inBrackets(addLine(nil, line)), "0 or 1 for all: otherwise " + w.Network.Plugin + " does not start", looseByLink}
}

var arpSysctl = Check{
	ID: "arp-sysctl", Title: "Host answers ARP requests for its addresses", Source: "replicatedhq/embedded-cluster; kernel documentation: ip-sysctl",
	Breaks: "Neighbors get no ARP reply for addresses of the host, such as those of a load balancer or a Service.",
	Needs:  []string{"filtering", "links"}, Run: judgeARP,
}

func judgeARP(f *Facts, _ *Want) Result {
	return nowAndBoot(judgeARPAt(f, f.present), judgeARPAt(f, f.atBoot), f.setAtBoot(arpFilterParameter, arpIgnoreParameter))
}

func judgeARPAt(f *Facts, at moment) Result {
	var found, lines []string
	for _, name := range f.uplinks() {
		for _, parameter := range []string{arpFilterParameter, arpIgnoreParameter} {
			if value, line := at(name, parameter); value > 0 {
				found, lines = append(found, fmt.Sprintf("%s = %d on %s", parameter, value, name)), addLine(lines, line)
			}
		}
	}
	if len(found) > 0 {
		return Result{Warn, strings.Join(found, ", ") + inBrackets(lines), "0",
			"set net.ipv4.conf.LINK.arp_ignore = 0 and arp_filter = 0, unless a load balancer in direct-return mode needs them on its real servers"}
	}
	return pass("arp_filter and arp_ignore are 0")
}
