package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
)

// sharedIdentities describes the identifiers that several surveys share: the servers are clones, or
// a server was surveyed twice. Each is named with its file. Names are equal in any case, and "localhost" is no name.
func sharedIdentities(all []survey) []string {
	var found []string
	for _, id := range []struct {
		name string
		of   func(*facts.Facts) []string
	}{
		{"host name", func(f *facts.Facts) []string { return []string{strings.ToLower(f.Host)} }},
		{"machine-id", func(f *facts.Facts) []string { return []string{f.Identity.MachineID} }},
		{"product_uuid", func(f *facts.Facts) []string { return []string{strings.ToLower(f.Identity.ProductUUID)} }},
		{"MAC address", macs},
		{"IP address", ips},
	} {
		hosts := map[string][]string{}
		var order []string
		for _, s := range all {
			for _, value := range id.of(s.facts) {
				if value == "" || slices.Contains(preflight.CommonUUIDs(), value) {
					continue
				}
				if hosts[value] == nil {
					order = append(order, value)
				}
				hosts[value] = append(hosts[value], s.name())
			}
		}
		for _, value := range order {
			if len(hosts[value]) > 1 {
				found = append(found, fmt.Sprintf("%s have the same %s %s", strings.Join(hosts[value], " and "), id.name, value))
			}
		}
	}
	return found
}

// name is the host with its file: two surveys of one server have the same host name.
func (s survey) name() string { return s.facts.Host + " (" + filepath.Base(s.file) + ")" }

// macs are the addresses of the links with an IP address: bridges and bonds repeat those of others.
func macs(f *facts.Facts) []string {
	var all []string
	for _, l := range f.Links {
		mac := strings.ToLower(l.MAC)
		if len(l.Addresses) > 0 && mac != "" && strings.Trim(mac, "0:") != "" && !slices.Contains(all, mac) && !isContainerLink(l.Name) {
			all = append(all, mac)
		}
	}
	return all
}

func ips(f *facts.Facts) []string {
	var all []string
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if ip := a.Addr(); !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !isContainerLink(l.Name) && !slices.Contains(all, ip.String()) {
				all = append(all, ip.String())
			}
		}
	}
	return all
}

// isContainerLink reports whether every host can have a link with this name and the same address.
func isContainerLink(name string) bool {
	for _, prefix := range []string{"docker", "br-", "virbr", "podman", "cni", "veth", "lxc", "cali", "tun", "vxlan", "kube-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
