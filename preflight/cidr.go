package preflight

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

var cidrOverlap = Check{
	ID: "cidr-overlap", Title: "Pod and Service subnets are free", Source: "kubespray; embedded-cluster",
	Breaks: "Hosts of the site would be taken for pods or Services, and could not be reached from the cluster.",
	Needs:  []string{"links", "routes", "resolv", "timeServers"}, Run: judgeOverlap,
}

// taken is a range of addresses that the site already uses.
type taken struct {
	prefix netip.Prefix
	by     string
}

// subnetFix is for what is no subnet at all.
const subnetFix = "correct kubernetes.podSubnet and serviceSubnet in airgap.yaml, such as 10.244.0.0/16"

func judgeOverlap(f *Facts, w *Want) Result {
	pods, err := parseSubnets("pod", w.PodSubnet)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: subnetFix}
	}
	services, err := parseSubnets("Service", w.ServiceSubnet)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: subnetFix}
	}
	if len(pods)+len(services) == 0 {
		return skipped("no subnets given")
	}
	used := f.takenBy(w)
	clashes := overlaps(pods, services)
	clashes = append(clashes, overlaps(append(pods, services...), used)...)
	if len(clashes) > 0 {
		return Result{Fail, strings.Join(clashes, "; "), "subnets that nothing else uses",
			"choose other kubernetes.podSubnet and serviceSubnet: pods could not reach these addresses"}
	}
	return pass("pods %s, Services %s", w.PodSubnet, w.ServiceSubnet)
}

func overlaps(subnets, used []taken) []string {
	var clashes []string
	for _, s := range subnets {
		for _, u := range used {
			if s.prefix.Overlaps(u.prefix) {
				clashes = append(clashes, fmt.Sprintf("%s %s overlaps %s %s", s.by, s.prefix, u.by, u.prefix))
			}
		}
	}
	return clashes
}

func parseSubnets(kind, list string) ([]taken, error) {
	var subnets []taken
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("parse %s subnet: %w", kind, err)
		}
		subnets = append(subnets, taken{prefix.Masked(), kind + " subnet"})
	}
	return subnets, nil
}

// takenBy lists what the host can see of the site's addresses, and those that
// the configuration names.
func (f *Facts) takenBy(w *Want) []taken {
	var used []taken
	for _, l := range f.Links {
		if w.Ours && isPodLink(l.Name) {
			continue
		}
		for _, a := range l.Addresses {
			used = append(used, taken{a.Masked(), "the network of " + l.Name})
		}
	}
	for _, r := range f.Routes {
		// Without a tunnel the pods of other nodes are reached through these.
		ours := w.Ours && (isPodLink(r.Device) || slices.Contains(w.OtherAddresses, r.Gateway))
		if r.To.Bits() > 0 && !ours && !f.connected(r) {
			used = append(used, taken{r.To, "the route through " + r.Device})
		}
	}
	for _, s := range f.Resolv.Nameservers {
		used = addAddress(used, s, "the name server")
	}
	for _, s := range f.Time.Servers {
		used = addAddress(used, s, "the time server")
	}
	for _, a := range w.OtherAddresses {
		used = addAddress(used, a, "the address")
	}
	return addAddress(used, registryHost(w.SiteRegistry), "the site's registry")
}

// registryHost is the host of HOST[:PORT]/PROJECT.
func registryHost(address string) string {
	at, _, _ := strings.Cut(address, "/")
	if _, err := netip.ParseAddr(at); err == nil {
		return at
	}
	return (&url.URL{Host: at}).Hostname()
}

func addAddress(used []taken, text, by string) []taken {
	address, err := netip.ParseAddr(text)
	if err != nil { // a name: whatever it stands for is not known here
		return used
	}
	return append(used, taken{netip.PrefixFrom(address, address.BitLen()), by})
}

// connected reports whether the route is that of a link's own network, which
// need not be told twice.
func (f *Facts) connected(r Route) bool {
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if l.Name == r.Device && a.Masked() == r.To {
				return true
			}
		}
	}
	return false
}

// isPodLink tells the links that a pod network makes.
func isPodLink(name string) bool {
	for _, prefix := range []string{"cni0", "flannel.", "flannel-", "flannel0", "cali", "vxlan.calico", "tunl0", "cilium_", "lxc", "kube-", "veth"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
