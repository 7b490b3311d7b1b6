package preflight

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var cidrOverlap = Check{
	ID: "cidr-overlap", Title: "Pod and Service subnets are free", Source: "kubespray; embedded-cluster",
	Breaks: "The cluster would treat the site's hosts as pods or Services, and could not reach them.",
	Needs:  []string{"links", "routes", "resolv", "hosts", "timeServers"}, Run: judgeOverlap,
}

// usedRange is an address range that the site already uses.
type usedRange struct {
	prefix netip.Prefix
	by     string
}

// subnetFix is the hint for an invalid subnet.
const subnetFix = "correct kubernetes.podSubnet and serviceSubnet in airgap.yaml, such as 10.244.0.0/16"

func judgeOverlap(f *facts.Facts, w *Want) Result {
	pods, err := parseSubnets("pod", w.PodSubnet)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: subnetFix}
	}
	services, err := parseSubnets("Service", w.ServiceSubnet)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: subnetFix}
	}
	if len(pods)+len(services) == 0 {
		return skipped("no subnets configured")
	}
	used := usedRanges(f, w)
	found := overlaps(pods, services)
	found = append(found, overlaps(append(pods, services...), used)...)
	if len(found) > 0 {
		return Result{Fail, strings.Join(found, "; "), "subnets that nothing else uses",
			"set other values for kubernetes.podSubnet and serviceSubnet: pods could not reach these addresses"}
	}
	return pass("pods %s, Services %s", w.PodSubnet, w.ServiceSubnet)
}

func overlaps(subnets, used []usedRange) []string {
	var found []string
	for _, s := range subnets {
		for _, u := range used {
			if s.prefix.Overlaps(u.prefix) {
				found = append(found, fmt.Sprintf("%s %s overlaps %s %s", s.by, s.prefix, u.by, u.prefix))
			}
		}
	}
	return found
}

func parseSubnets(kind, list string) ([]usedRange, error) {
	var subnets []usedRange
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("parse %s subnet: %w", kind, err)
		}
		subnets = append(subnets, usedRange{prefix.Masked(), kind + " subnet"})
	}
	return subnets, nil
}

// usedRanges lists the site's addresses that the host knows, and the ones in airgap.yaml.
func usedRanges(f *facts.Facts, w *Want) []usedRange {
	var used []usedRange
	for _, l := range f.Links {
		if w.Managed && facts.IsPodLink(l.Name) {
			continue
		}
		for _, a := range l.Addresses {
			used = append(used, usedRange{a.Masked(), "the network of " + l.Name})
		}
	}
	for _, r := range f.Routes {
		// Without a tunnel, routes through other nodes lead to their pods.
		toPods := w.Managed && (facts.IsPodLink(r.Device) || slices.Contains(w.OtherAddresses, r.Gateway))
		if r.To.Bits() > 0 && !toPods && !f.Connected(r) {
			used = append(used, usedRange{r.To, "the route through " + r.Device})
		}
	}
	if !w.Managed { // the pod network adds its own tables
		used = append(used, inOtherTables(f)...)
	}
	for _, s := range slices.Concat(f.Resolv.Nameservers, f.Resolv.Upstream) {
		used = addAddress(used, s, "the name server")
	}
	for _, s := range f.Time.Servers {
		used = addHost(used, f, s, "the time server")
	}
	for _, a := range w.OtherAddresses {
		used = addHost(used, f, a, "the address")
	}
	for _, text := range w.SiteRanges {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			used = append(used, usedRange{prefix, "network.siteRanges"})
		}
	}
	return addHost(used, f, registryHost(w.SiteRegistry), "the site registry")
}

// inOtherTables are the destinations of the routing tables that rules of policy routing or VRFs use. The check
// policy-routing reports if these rules are not known.
func inOtherTables(f *facts.Facts) []usedRange {
	var used []usedRange
	for _, r := range f.Rules {
		by := "the route in table " + r.Table
		switch r.Table {
		case "main":
			continue
		case facts.VRFTables:
			by = "the route in a VRF"
		}
		for _, to := range r.Routes {
			if r.To.IsValid() && to.Overlaps(r.To) && r.To.Bits() > to.Bits() {
				to = r.To // the rule uses only this part of the route
			}
			one := usedRange{to, by}
			if to.Bits() > 0 && (!r.To.IsValid() || to.Overlaps(r.To)) && !inOwnNetwork(f, to) && !slices.Contains(used, one) {
				used = append(used, one)
			}
		}
	}
	return used
}

// inOwnNetwork reports whether a link's network contains the destination. It is already in the list.
func inOwnNetwork(f *facts.Facts, to netip.Prefix) bool {
	return slices.ContainsFunc(f.Links, func(l facts.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(a netip.Prefix) bool { return a.Bits() <= to.Bits() && a.Contains(to.Addr()) })
	})
}

// SiteNames are the names of the site's systems that pods and nodes connect to. Their addresses must
// not be in the cluster's subnets.
func (w *Want) SiteNames(f *facts.Facts) []string {
	return slices.Concat([]string{w.EndpointHost}, w.OtherAddresses, []string{registryHost(w.SiteRegistry)}, f.Time.Servers)
}

// addHost adds an address, or the addresses of a name as far as this host knows them.
func addHost(used []usedRange, f *facts.Facts, host, by string) []usedRange {
	for _, a := range f.Lookup(host) {
		used = addAddress(used, a.String(), by+" "+host)
	}
	return addAddress(used, host, by)
}

// registryHost is HOST of HOST[:PORT]/PROJECT.
func registryHost(address string) string {
	at, _, _ := strings.Cut(address, "/")
	if _, err := netip.ParseAddr(at); err == nil {
		return at
	}
	return (&url.URL{Host: at}).Hostname()
}

func addAddress(used []usedRange, text, by string) []usedRange {
	address, err := netip.ParseAddr(text)
	if err != nil { // a host name
		return used
	}
	return append(used, usedRange{netip.PrefixFrom(address, address.BitLen()), by})
}
