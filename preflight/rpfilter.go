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

// Filtering is what a link's packets have to hold to, by net.ipv4.conf.LINK. Of
// rp_filter and arp_ignore the larger of "all" and the link's own is in force.
type Filtering struct {
	Link      string `yaml:"link" json:"link"`
	RPFilter  int    `yaml:"rpFilter" json:"rpFilter"`   // 0 none, 1 strict, 2 loose
	ARPFilter int    `yaml:"arpFilter" json:"arpFilter"` // 1: answers by the route back
	ARPIgnore int    `yaml:"arpIgnore" json:"arpIgnore"`
}

const linkSettings = "proc/sys/net/ipv4/conf"

// readFiltering leaves out the pods' links, which come and go.
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

// filtering is what is in force on a link.
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

// uplinks are the links with an address that other hosts can reach.
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
	ID: "rp-filter", Title: "Packets may come another way than they go", Source: "replicatedhq/embedded-cluster; kernel documentation: ip-sysctl",
	Breaks: "A host with several networks drops packets of the others without a word.",
	Needs:  []string{"filtering", "links"}, Run: judgeRPFilter,
}

// judgeRPFilter lets a host with a single network be strict: there is but one way.
func judgeRPFilter(f *Facts, w *Want) Result {
	if r, loose := judgeLooseForAll(f, w); loose {
		return r
	}
	var strict []string
	uplinks := f.uplinks()
	for _, name := range uplinks {
		if f.filtering(name).RPFilter == 1 {
			strict = append(strict, name)
		}
	}
	r := Result{Warn, "strict on " + strings.Join(strict, ", "), "0 or 2 (loose)",
		"net.ipv4.conf.all.rp_filter = 2 in a file of /etc/sysctl.d, then sysctl --system: the larger value is in force"}
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

// looseByLink is for plugins that set what counts for all links themselves, or
// bear no other value there.
const looseByLink = "net.ipv4.conf.all.rp_filter = 0 in a file of /etc/sysctl.d, and net.ipv4.conf.LINK.rp_filter = 2 for each link that needs it, then sysctl --system"

// judgeLooseForAll is about plugins that end where all links are loose.
func judgeLooseForAll(f *Facts, w *Want) (Result, bool) {
	if !w.Network.LooseForAllFails || f.filtering("all").RPFilter != 2 {
		return Result{}, false
	}
	return Result{Fail, "loose for all links", "0 or 1 for all: " + w.Network.Plugin + " does not start otherwise", looseByLink}, true
}

var arpSysctl = Check{
	ID: "arp-sysctl", Title: "Answers to ARP", Source: "replicatedhq/embedded-cluster; kernel documentation: ip-sysctl",
	Breaks: "Neighbours get no answer for addresses that the host does have, such as a balancer's or a Service's.",
	Needs:  []string{"filtering", "links"}, Run: judgeARP,
}

func judgeARP(f *Facts, _ *Want) Result {
	var found []string
	for _, name := range f.uplinks() {
		l := f.filtering(name)
		if l.ARPFilter > 0 {
			found = append(found, fmt.Sprintf("arp_filter = %d on %s", l.ARPFilter, name))
		}
		if l.ARPIgnore > 0 {
			found = append(found, fmt.Sprintf("arp_ignore = %d on %s", l.ARPIgnore, name))
		}
	}
	if len(found) > 0 {
		return Result{Warn, strings.Join(found, ", "), "0", "ask who set them: load balancers in direct-return mode need them on real servers; else net.ipv4.conf.LINK.arp_ignore = 0 and arp_filter = 0"}
	}
	return pass("arp_filter and arp_ignore are 0")
}
