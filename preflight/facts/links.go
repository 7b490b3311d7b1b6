package facts

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
	Master  string       `yaml:"master,omitempty" json:"master,omitempty"` // bond, bridge or VRF
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
		Master    string   `json:"master"`
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
		link := Link{Name: l.Name, MTU: l.MTU, MAC: l.MAC, Up: slices.Contains(l.Flags, "UP"), Master: l.Master}
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
