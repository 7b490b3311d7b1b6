package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Link is a network interface.
type Link struct {
	Name      string         `yaml:"name" json:"name"`
	MTU       int            `yaml:"mtu" json:"mtu"`
	MAC       string         `yaml:"mac,omitempty" json:"mac,omitempty"`
	Up        bool           `yaml:"up" json:"up"`
	Addresses []netip.Prefix `yaml:"addresses,omitempty" json:"addresses,omitempty"`
}

func readLinks(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "ip", "-json", "address", "show")
	if err != nil {
		return err
	}
	f.Links, err = parseLinks(out)
	return err
}

func parseLinks(text string) ([]Link, error) {
	var raw []struct {
		Name      string   `json:"ifname"`
		MTU       int      `json:"mtu"`
		MAC       string   `json:"address"`
		Flags     []string `json:"flags"`
		Addresses []struct {
			Local  string `json:"local"`
			Length int    `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("parse the output of ip address: %w", err)
	}
	var links []Link
	for _, l := range raw {
		link := Link{Name: l.Name, MTU: l.MTU, MAC: l.MAC, Up: slices.Contains(l.Flags, "UP")}
		for _, a := range l.Addresses {
			if a.Local == "" { // ip prints empty objects for filtered addresses
				continue
			}
			local, _, _ := strings.Cut(a.Local, "%") // an IPv6 address may have a zone
			prefix, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", local, a.Length))
			if err != nil {
				return nil, fmt.Errorf("parse the output of ip address: %w", err)
			}
			link.Addresses = append(link.Addresses, prefix)
		}
		links = append(links, link)
	}
	return links, nil
}

var nodeIP = Check{
	ID: "node-ip", Title: "Host has the node's address", Source: "kubespray; embedded-cluster",
	Breaks: "The node would register with an address that it does not have.",
	Needs:  []string{"links"}, Run: judgeNodeIP,
}

func judgeNodeIP(f *Facts, w *Want) Result {
	var own []string
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if a.Addr().IsLoopback() || a.Addr().IsLinkLocalUnicast() {
				continue
			}
			if a.Addr().String() == w.NodeAddress {
				return pass("%s on %s", w.NodeAddress, l.Name)
			}
			own = append(own, a.Addr().String()+" on "+l.Name)
		}
	}
	switch {
	case len(own) == 0:
		return Result{Fail, "no address", "an IP address", "configure the network"}
	case w.NodeAddress != "":
		return Result{Fail, strings.Join(own, ", "), w.NodeAddress, "correct the node's address in airgap.yaml, or the address of the host"}
	default:
		return pass("%s", strings.Join(own, ", "))
	}
}
