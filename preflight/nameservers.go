package preflight

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// dnsTeam is the owner of the checks of name servers.
const (
	dnsTeam  = "dns"
	ownerDNS = " (owner: DNS team)"
)

var nameServers = Check{
	ID: "name-servers", Owner: dnsTeam, Title: "Every name server answers by UDP and TCP", Source: "RFC 7766; resolv.conf(5): 5 s for a server that does not answer; Kubernetes: ndots:5",
	Breaks: "Each lookup waits seconds for a dead server. Long answers are lost without TCP. A search domain that has an address for every name sends pods to a wrong host.",
	Needs:  []string{"resolv"}, Run: judgeNameServers,
}

// judgeNameServers never fails: a site may work with one server of two, and CoreDNS leaves dead ones
// out after a while.
func judgeNameServers(f *facts.Facts, w *Want) Result {
	asked := f.Asked.NameServers
	switch {
	case w.NoDNS:
		return skipped("CoreDNS does not forward, as in airgap.yaml")
	case !asked.Outcome.Done:
		return skipped("not asked: only preflight on the server itself asks them")
	case asked.Outcome.Failed != "":
		return Result{Status: Error, Found: "not asked: " + asked.Outcome.Failed, Fix: "run airgap preflight again"}
	case len(asked.Servers) == 0:
		return skipped("none in /etc/resolv.conf")
	}
	var found, fix, fine []string
	add := func(what, how string) {
		found = append(found, what+ownerDNS)
		if !slices.Contains(fix, how) {
			fix = append(fix, how)
		}
	}
	for _, s := range asked.Servers {
		what := serverFault(s)
		if what == "" {
			fine = append(fine, s.Address)
			continue
		}
		add(s.Address+": "+what, "ask the DNS team whether the server runs and serves this host, and the network team to allow UDP and TCP 53 to it; or remove it from /etc/resolv.conf: nmcli connection modify NAME ipv4.dns \"ADDRESSES\"")
	}
	for _, c := range asked.Wildcards {
		add(fmt.Sprintf("%s has an address (%s) for every name in %s", c.Server, c.Address, c.Domain), fmt.Sprintf("ask the DNS team to remove the record *.%s, or remove the domain from the search list of the pods: "+
			"nmcli connection modify NAME ipv4.dns-search \"DOMAINS\", or kubernetes.overrides.kubelet.resolvConf; otherwise pods ask for HOST.%s first and get this address", c.Domain, c.Domain))
	}
	if len(found) > 0 {
		return Result{Warn, strings.Join(found, "\n"), "an answer by UDP and by TCP, and no address for unknown names", strings.Join(fix, "\n")}
	}
	return pass("%s", strings.Join(fine, ", "))
}

func serverFault(s facts.NameServer) string {
	switch {
	case s.UDP != "" && s.UDP == s.TCP:
		return s.UDP + ", neither by UDP nor by TCP"
	case s.UDP != "" && s.TCP != "":
		return s.UDP + " by UDP, " + s.TCP + " by TCP"
	case s.UDP != "":
		return s.UDP + " by UDP; it answers by TCP"
	case s.TCP != "":
		return s.TCP + " by TCP; it answers by UDP, so answers longer than a packet are lost"
	case s.Refuses:
		return "it refuses every question of this host"
	}
	return ""
}

var endpointName = Check{
	ID: "endpoint-name", Owner: dnsTeam, Title: "Control-plane endpoint's name has an address before the cluster runs", Source: "kubeadm: controlPlaneEndpoint; every kubelet and kube-proxy connects to it",
	Breaks: "No node reaches the API server. If only a server in the cluster knows the name, the cluster does not start again after all hosts were off.",
	Needs:  []string{"hosts", "resolv"}, Run: judgeEndpointName,
}

func judgeEndpointName(f *facts.Facts, w *Want) Result {
	name := w.EndpointHost
	if _, err := netip.ParseAddr(name); err == nil || name == "" {
		return skipped("the endpoint is an address")
	}
	if i := slices.IndexFunc(f.Hosts, func(e facts.HostsEntry) bool { return slices.Contains(e.Names, name) }); i >= 0 {
		return pass("%s is %s in /etc/hosts", name, f.Hosts[i].Address)
	}
	if asked := f.Asked.NameServers.Outcome; !asked.Done || asked.Failed != "" {
		return skipped("not asked: " + cmp.Or(asked.Failed, "only preflight on the server itself asks name servers"))
	}
	hosts := "add the line ADDRESS " + name + " to /etc/hosts of every server"
	inside := insideCluster(w)
	var outside, within, without []string
	for _, s := range f.Asked.NameServers.Servers {
		addresses, answered := s.Names[name]
		switch {
		case !answered:
		case len(addresses) == 0:
			without = append(without, s.Address)
		case inside(s.Address):
			within = append(within, s.Address)
		default:
			outside = append(outside, s.Address)
		}
	}
	found := strings.Join(append(slices.Clone(outside), within...), ", ")
	switch {
	case found == "":
		r := Result{Fail, name + " has no address: not in /etc/hosts, and from no name server" + ownerDNS, "an address of the load balancer", "ask the DNS team to add the name; or " + hosts}
		if w.Managed {
			r.Status = Warn
		}
		return r
	case len(without) > 0:
		return Result{Warn, fmt.Sprintf("%s knows %s, %s does not", found, name, strings.Join(without, ", ")) + ownerDNS, "the same answer from every name server",
			"ask the DNS team to add the name to each of its servers: the answer of the first one that replies counts; or " + hosts}
	case len(outside) == 0:
		return Result{Warn, fmt.Sprintf("only %s knows %s, and has an address of this cluster's hosts, pods or Services", found, name) + ownerDNS, "a name server that runs without the cluster",
			hosts + "; or let the DNS team add the name to a server outside of the cluster"}
	}
	return pass("%s, from %s", name, found)
}

// insideCluster reports whether a name server has an address of the cluster: a program on one of its
// hosts, a pod or a Service. Whether a server on a host runs in the cluster cannot be seen from here.
func insideCluster(w *Want) func(string) bool {
	var ranges []usedRange
	for _, list := range []string{w.PodSubnet, w.ServiceSubnet} {
		if subnets, err := parseSubnets("", list); err == nil {
			ranges = append(ranges, subnets...)
		}
	}
	return func(text string) bool {
		address, err := netip.ParseAddr(text)
		return slices.Contains(w.OtherAddresses, text) || err == nil && slices.ContainsFunc(ranges, func(r usedRange) bool { return r.prefix.Contains(address) })
	}
}
