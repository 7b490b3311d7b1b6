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
	// Dynamic are the addresses that expire, as those from DHCP do.
	Dynamic []netip.Addr `yaml:"dynamic,omitempty" json:"dynamic,omitempty"`
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
			Local   string `json:"local"`
			Length  int    `json:"prefixlen"`
			Dynamic bool   `json:"dynamic"`
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
			if a.Dynamic {
				link.Dynamic = append(link.Dynamic, prefix.Addr())
			}
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
				return judgeLasting(f, l, a.Addr())
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

// judgeLasting warns if the address may be another one after a reboot: certificates and the other hosts' settings name it.
func judgeLasting(f *Facts, l Link, address netip.Addr) Result {
	if found := f.fromDHCP(l, address); found != "" {
		return Result{Warn, found, "an address that stays with the host",
			"set it by hand: nmcli connection modify NAME ipv4.method manual ipv4.addresses ADDRESS/LENGTH ipv4.gateway GATEWAY; or reserve it in the DHCP server as long as the node exists"}
	}
	return pass("%s on %s", address, l.Name)
}
