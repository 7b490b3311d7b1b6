package preflight

import (
	"context"
	"net/netip"
	"slices"
	"strings"
)

// Resolv is /etc/resolv.conf.
type Resolv struct {
	Nameservers []string `yaml:"nameservers,omitempty" json:"nameservers,omitempty"`
	Search      []string `yaml:"search,omitempty" json:"search,omitempty"`
}

// HostsEntry is a line of /etc/hosts.
type HostsEntry struct {
	Address string   `yaml:"address" json:"address"`
	Names   []string `yaml:"names,flow" json:"names"`
}

func readResolv(_ context.Context, r reader, f *Facts) error {
	text, err := r.optional("etc/resolv.conf")
	f.Resolv = parseResolv(text)
	return err
}

func parseResolv(text string) Resolv {
	var resolv Resolv
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			resolv.Nameservers = append(resolv.Nameservers, words[1])
		case "search", "domain": // the last line counts
			resolv.Search = words[1:]
		}
	}
	return resolv
}

func readHosts(_ context.Context, r reader, f *Facts) error {
	text, err := r.optional("etc/hosts")
	f.Hosts = parseHosts(text)
	return err
}

func parseHosts(text string) []HostsEntry {
	var entries []HostsEntry
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) >= 2 {
			entries = append(entries, HostsEntry{words[0], words[1:]})
		}
	}
	return entries
}

var hostsFile = Check{
	ID: "hosts-file", Title: "/etc/hosts has the right address for the host name", Source: "airgap: a loopback address would be advertised",
	Breaks: "The node would advertise a loopback address, and no other host could reach it.",
	Needs:  []string{"hosts", "kernel"}, Run: judgeHosts,
}

func judgeHosts(f *Facts, w *Want) Result {
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
	return pass("no wrong line")
}

var resolvConf = Check{
	ID: "resolv-conf", Title: "Pods can use the host's name servers", Source: "kubespray; embedded-cluster: CoreDNS forwards to them",
	Breaks: "CoreDNS forwards to the host's name servers. Without any it does not start. With a loopback address it queries itself in a loop.",
	Needs:  []string{"resolv"}, Run: judgeResolv,
}

func judgeResolv(f *Facts, w *Want) Result {
	servers := f.Resolv.Nameservers
	list := strings.Join(servers, ", ")
	switch {
	case len(servers) == 0 && w.NoDNS:
		return pass("none, as in airgap.yaml")
	case len(servers) == 0:
		return Result{Fail, "none in /etc/resolv.conf", "the site's name servers", "add the site's name servers, or set kubernetes.dns: none in airgap.yaml: CoreDNS does not start without a server to forward to"}
	case slices.ContainsFunc(servers, isLoopback):
		return Result{Warn, list, "servers that pods can also reach", "set resolvConf of the kubelet to the file with the real servers: CoreDNS would query itself in a loop"}
	case len(servers) > 3:
		return Result{Warn, list, "at most 3", "keep at most three: the resolver and the kubelet use only the first three"}
	default:
		return pass("%s", list)
	}
}

func isLoopback(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.IsLoopback()
}
