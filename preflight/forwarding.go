package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var ipForward = Check{
	ID: "ip-forward", Title: "IP forwarding stays on", Source: "kubeadm; hardening guides switch it off",
	Breaks: "A hardened setting returns at the next boot. From then on the kernel drops packets between pods and nodes.",
	Needs:  []string{"sysctls", "tuned", "links"}, Run: judgeForwarding,
}

// judgeForwarding also judges the interfaces: the kernel forwards a packet only if the interface that
// receives it has forwarding on. Interfaces of pods copy net.ipv4.conf.default.forwarding.
func judgeForwarding(f *facts.Facts, w *Want) Result {
	r := judgeSysctl(f, w, facts.ForwardingParameter)
	if r.Status != Pass {
		return r
	}
	later := f.Sysctl(facts.DefaultForwardingParameter)
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
		return pass("1, but %s at every boot; install sets it to 1 in a later file", later.Setting())
	case later.Value == "0":
		return pass("1, but 0 for new interfaces; install sets %s to 1", facts.DefaultForwardingParameter)
	}
	return r
}

// judgeLinkForwarding fails for the interfaces of pods and of the node's address, and warns for
// others: pods do not reach their networks.
func judgeLinkForwarding(f *facts.Facts, w *Want) (Result, bool) {
	var found []string
	var first facts.Sysctl
	status := Warn
	for _, link := range slices.Concat(facts.LaterLinks(), f.Uplinks()) {
		s := f.Sysctl(facts.LinkParameter(link, "forwarding"))
		if s.Boot != "0" || !staysOff(s, f, w) {
			continue
		}
		if found = append(found, link); len(found) == 1 {
			first = s
		}
		if facts.IsPodLink(link) || w.NodeAddress == "" || f.HasAddress(link, w.NodeAddress) {
			status = Fail
		}
	}
	if len(found) == 0 {
		return Result{}, false
	}
	return Result{status, first.Setting() + " at every boot: off for " + strings.Join(found, ", "), "1", first.Fix("1")}, true
}

// staysOff reports whether a line of an interface wins over install's file. install sets a glob for
// all interfaces, which wins over earlier globs. A line for one interface wins over every glob.
func staysOff(s facts.Sysctl, f *facts.Facts, w *Want) bool {
	switch s.Key {
	case "", s.Name:
		return true
	case facts.ForwardingParameter, facts.LinkParameter("all", "forwarding"), facts.DefaultForwardingParameter:
		return false
	}
	return wins(s, f, w)
}
