package facts

import (
	"context"
	"strings"
)

// Resolv is /etc/resolv.conf.
type Resolv struct {
	Nameservers []string `yaml:"nameservers,omitempty" json:"nameservers,omitempty"`
	Search      []string `yaml:"search,omitempty" json:"search,omitempty"`
	// Upstream are the name servers that systemd-resolved itself asks. kubeadm gives this file to the
	// kubelet if systemd-resolved runs.
	Upstream []string `yaml:"upstream,omitempty" json:"upstream,omitempty"`
}

// HostsEntry is a line of /etc/hosts.
type HostsEntry struct {
	Address string   `yaml:"address" json:"address"`
	Names   []string `yaml:"names,flow" json:"names"`
}

func readResolv(_ context.Context, r reader, f *Facts) error {
	text, err := r.optional("etc/resolv.conf")
	if err != nil {
		return err
	}
	f.Resolv = parseResolv(text)
	text, err = r.optional(resolvedFile)
	f.Resolv.Upstream = parseResolv(text).Nameservers
	return err
}

// resolvedFile has the name servers that systemd-resolved asks.
const resolvedFile = "run/systemd/resolve/resolv.conf"

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
