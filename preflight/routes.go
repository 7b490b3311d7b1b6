package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var defaultRoute = Check{
	ID: "default-route", Title: "Host has a default route", Source: "kubeadm and kube-proxy: Service addresses need a route",
	Breaks: "No interface has the addresses of Services: without a default route the kernel rejects packets to them.",
	Needs:  []string{"routes"}, Run: judgeDefaultRoute,
}

// judgeDefaultRoute checks only IPv4, because Services have IPv4 addresses.
func judgeDefaultRoute(f *facts.Facts, _ *Want) Result {
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
	return pass("%s", strings.Join(found, ", "))
}
