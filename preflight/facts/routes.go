package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// Route is an entry of the main routing table.
type Route struct {
	To      netip.Prefix `yaml:"to" json:"to"` // 0.0.0.0/0 or ::/0 for a default route
	Gateway string       `yaml:"gateway,omitempty" json:"gateway,omitempty"`
	Device  string       `yaml:"device,omitempty" json:"device,omitempty"`
}

func readRoutes(ctx context.Context, r reader, f *Facts) error {
	for _, family := range []string{"-4", "-6"} {
		out, err := r.output(ctx, "ip", "-json", family, "route", "show")
		if err != nil {
			return err
		}
		routes, err := parseRoutes(out, family == "-6")
		if err != nil {
			return err
		}
		f.Routes = append(f.Routes, routes...)
	}
	return nil
}

// routeType matches a type that ip up to 5.9 prints without a key, such as "unreachable" for the
// routes that Enterprise Linux adds for IPv6 (iproute2#37).
var routeType = regexp.MustCompile(`\{\s*("[a-z]+")\s*,`)

func parseRoutes(text string, v6 bool) ([]Route, error) {
	if strings.TrimSpace(text) == "" { // some versions of ip print nothing for an empty table
		return nil, nil
	}
	var raw []struct {
		To      string `json:"dst"`
		Gateway string `json:"gateway"`
		Device  string `json:"dev"`
	}
	if err := json.Unmarshal([]byte(routeType.ReplaceAllString(text, `{"type":$1,`)), &raw); err != nil {
		return nil, fmt.Errorf("parse the output of ip route: %w", err)
	}
	var routes []Route
	for _, r := range raw {
		if r.To == "" {
			continue // no destination: an entry of another kind
		}
		to, err := parseDestination(r.To, v6)
		if err != nil {
			return nil, fmt.Errorf("parse the output of ip route: %w", err)
		}
		routes = append(routes, Route{to, r.Gateway, r.Device})
	}
	return routes, nil
}

// parseDestination reads "default", a prefix, or an address.
func parseDestination(text string, v6 bool) (netip.Prefix, error) {
	switch {
	case text == "default" && v6:
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0), nil
	case text == "default":
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), nil
	case strings.Contains(text, "/"):
		return netip.ParsePrefix(text)
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(address, address.BitLen()), nil
}
