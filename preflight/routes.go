package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var defaultRoute = Check{
	ID: "default-route", Title: "Host has a default route", Source: "kubeadm and kube-proxy: Service addresses need a route",
	Breaks: "No interface has the addresses of Services: without a default route the kernel rejects packets to them.",
	Needs:  []string{"routes", "links"}, Run: judgeDefaultRoute,
}

// judgeDefaultRoute checks only IPv4, because Services have IPv4 addresses.
func judgeDefaultRoute(f *facts.Facts, w *Want) Result {
	var found []string
	for _, r := range f.Routes {
		if r.To.Bits() == 0 && r.To.Addr().Is4() {
			found = append(found, strings.TrimSpace(r.Gateway+" "+r.Device))
		}
	}
	if len(found) == 0 {
		return Result{Fail, "none for IPv4", "a default route, even to a gateway without a connection",
			"run nmcli connection modify NAME ipv4.gateway ADDRESS; without the route the host cannot reach Service addresses"}
	}
	return pass("%s%s", strings.Join(found, ", "), masqueraded(f, w))
}

// masqueraded is the address that other systems see for packets of pods, if it is not the node's one.
// Firewalls of the site must know it.
func masqueraded(f *facts.Facts, w *Want) string {
	i := slices.IndexFunc(f.Routes, func(r facts.Route) bool { return r.To.Bits() == 0 && r.To.Addr().Is4() })
	for _, l := range f.Links {
		if l.Name != f.Routes[i].Device || ownNetwork(&facts.Facts{Links: []facts.Link{l}}, w.NodeAddress).IsValid() {
			continue
		}
		for _, a := range l.Addresses {
			if a.Addr().Is4() && w.NodeAddress != "" {
				return fmt.Sprintf("; other systems see packets of pods from %s (%s), not from %s", a.Addr(), l.Name, w.NodeAddress)
			}
		}
	}
	return ""
}
