package preflight

import (
	"net/netip"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var hostsFile = Check{
	ID: "hosts-file", Title: "/etc/hosts has the right addresses for the host name and localhost", Source: "airgap: a loopback address would be advertised; projectcalico/calico: probes of calico-node use localhost",
	Breaks: "The node would advertise a loopback address, and no other host could reach it. Without a line for localhost, probes of Calico and of other pods on the host network fail.",
	Needs:  []string{"hosts", "kernel", "nextKernel"}, Run: judgeHosts,
}

func judgeHosts(f *facts.Facts, w *Want) Result {
	for _, e := range f.Hosts {
		if !slices.Contains(e.Names, f.Host) {
			continue
		}
		address, err := netip.ParseAddr(e.Address)
		switch {
		case err == nil && address.IsLoopback():
			r := Result{Fail, f.Host + " is " + e.Address, "the node's own address", "remove " + f.Host + " from the line of " + e.Address}
			if w.NodeAddress != "" {
				r.Status = Warn // airgap passes the address to all programs, so none looks up the name
			}
			return r
		case w.NodeAddress != "" && err == nil && address.Is4() && e.Address != w.NodeAddress:
			return Result{Warn, f.Host + " is " + e.Address, w.NodeAddress, "correct /etc/hosts, or the node's address in airgap.yaml"}
		}
	}
	return judgeLocalhost(f, w)
}

// judgeLocalhost: pods on the host network get a copy of /etc/hosts. Without a line, their programs
// ask a name server for localhost.
func judgeLocalhost(f *facts.Facts, w *Want) Result {
	loopback, of4 := false, false
	for _, e := range f.Hosts {
		if !slices.Contains(e.Names, "localhost") {
			continue
		}
		if !isLoopback(e.Address) {
			return Result{Fail, "localhost is " + e.Address, "127.0.0.1", "remove localhost from the line of " + e.Address + " in /etc/hosts"}
		}
		loopback, of4 = true, of4 || !strings.Contains(e.Address, ":")
	}
	if off := ipv6Off(f); loopback && !of4 && off != "" {
		return Result{Fail, "localhost is only ::1, and IPv6 is off: " + off, "127.0.0.1", "add the line 127.0.0.1 localhost to /etc/hosts"}
	}
	if !loopback {
		r := Result{Warn, "/etc/hosts has no line for localhost", "127.0.0.1 localhost", "add the line 127.0.0.1 localhost to /etc/hosts"}
		if w.Network.Localhost {
			r.Status = Fail
		}
		return r
	}
	return pass("no wrong line")
}

var resolvConf = Check{
	ID: "resolv-conf", Title: "Pods can use the host's name servers", Source: "kubespray; embedded-cluster: CoreDNS forwards to them",
	Breaks: "CoreDNS forwards to the host's name servers. Without any it does not start. With a loopback address it queries itself in a loop.",
	Needs:  []string{"resolv", "units"}, Run: judgeResolv,
}

func judgeResolv(f *facts.Facts, w *Want) Result {
	servers := f.Resolv.Nameservers
	list := strings.Join(servers, ", ")
	switch {
	case len(servers) == 0 && w.NoDNS:
		return pass("none, as in airgap.yaml")
	case len(servers) == 0:
		return Result{Fail, "none in /etc/resolv.conf", "the site's name servers", "add the site's name servers, or set kubernetes.dns: none in airgap.yaml: CoreDNS does not start without a server to forward to"}
	case slices.ContainsFunc(servers, isLoopback):
		return judgeLoopback(f, w, list)
	case len(servers) > 3:
		return Result{Warn, list, "at most 3", "keep at most three: the resolver and the kubelet use only the first three"}
	default:
		return pass("%s", list)
	}
}

// judgeLoopback fails for a name server on the host itself: in a pod the address is the pod's own,
// and CoreDNS exits with "Loop detected". kubeadm reads the real servers of systemd-resolved.
func judgeLoopback(f *facts.Facts, w *Want, list string) Result {
	const want = "servers that pods can also reach"
	switch {
	case w.NoDNS:
		return pass("%s; CoreDNS does not forward", list)
	case w.ResolvConf != "":
		return pass("%s; the kubelet uses %s", list, w.ResolvConf)
	case f.Unit("systemd-resolved.service").Active() && len(f.Resolv.Upstream) > 0 && !slices.ContainsFunc(f.Resolv.Upstream, isLoopback):
		return pass("%s; kubeadm gives the servers of systemd-resolved to the kubelet: %s", list, strings.Join(f.Resolv.Upstream, ", "))
	}
	return Result{Fail, list + " in /etc/resolv.conf", want, "set kubernetes.overrides.kubelet.resolvConf in airgap.yaml to a file with the real servers " +
		"(with dns=dnsmasq: /run/NetworkManager/no-stub-resolv.conf), or write the real servers to /etc/resolv.conf: CoreDNS would query itself in a loop"}
}

func isLoopback(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.IsLoopback()
}
