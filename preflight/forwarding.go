package preflight

import (
	"net/netip"
	"slices"
	"strings"
)

var ipForward = Check{
	ID: "ip-forward", Title: "IP forwarding stays on", Source: "kubeadm; hardening guides switch it off",
	Breaks: "A hardened setting returns at the next boot. From then on the kernel drops packets between pods and nodes.",
	Needs:  []string{"sysctls", "tuned", "links"}, Run: judgeForwarding,
}

// judgeForwarding also judges the interfaces: the kernel forwards a packet only if the interface that
// receives it has forwarding on. Interfaces of pods copy net.ipv4.conf.default.forwarding.
func judgeForwarding(f *Facts, w *Want) Result {
	r := judgeSysctl(f, w, forwardingParameter)
	if r.Status != Pass {
		return r
	}
	later := f.sysctl(defaultForwardingParameter)
	if overrides(later, f, w, "1") {
		r := overridden(later, "1")
		r.Found += ": the interfaces of pods, which are created later, do not forward"
		return r
	}
	if w.SysctlFile != "" {
		if r, found := judgeLinkForwarding(f, w); found {
			return r
		}
	}
	switch {
	case r.Found != "1":
		return r
	case later.Boot == "0":
		return pass("1, but %s at every boot; install sets it to 1 in a later file", later.line())
	case later.Value == "0":
		return pass("1, but 0 for new interfaces; install sets %s to 1", defaultForwardingParameter)
	}
	return r
}

// judgeLinkForwarding fails for the interfaces of pods and of the node's address, and warns for
// others: pods do not reach their networks.
func judgeLinkForwarding(f *Facts, w *Want) (Result, bool) {
	var found []string
	var first Sysctl
	status := Warn
	for _, link := range slices.Concat(laterLinks(), f.uplinks()) {
		s := f.sysctl(linkParameter(link, "forwarding"))
		if s.Boot != "0" || !staysOff(s, f, w) {
			continue
		}
		if found = append(found, link); len(found) == 1 {
			first = s
		}
		if isPodLink(link) || w.NodeAddress == "" || f.hasAddress(link, w.NodeAddress) {
			status = Fail
		}
	}
	if len(found) == 0 {
		return Result{}, false
	}
	return Result{status, first.line() + " at every boot: off for " + strings.Join(found, ", "), "1", first.fix("1")}, true
}

// staysOff reports whether a line of an interface wins over install's file. install sets a glob for
// all interfaces, which wins over earlier globs. A line for one interface wins over every glob.
func staysOff(s Sysctl, f *Facts, w *Want) bool {
	switch s.Key {
	case "", s.Name:
		return true
	case forwardingParameter, linkParameter("all", "forwarding"), defaultForwardingParameter:
		return false
	}
	return wins(s, f, w)
}

func (f *Facts) hasAddress(link, address string) bool {
	return slices.ContainsFunc(f.Links, func(l Link) bool {
		return l.Name == link && slices.ContainsFunc(l.Addresses, func(a netip.Prefix) bool { return a.Addr().String() == address })
	})
}
