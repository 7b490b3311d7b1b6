package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Rule is a rule of policy routing for IPv4, except the three of every host. Empty fields match every
// packet.
type Rule struct {
	Priority int          `yaml:"priority" json:"priority"`
	From     netip.Prefix `yaml:"from" json:"from"`                       // invalid: all
	To       netip.Prefix `yaml:"to" json:"to"`                           // invalid: all
	Input    string       `yaml:"input,omitempty" json:"input,omitempty"` // link
	Other    string       `yaml:"other,omitempty" json:"other,omitempty"` // further conditions: "fwmark 0x1"
	Table    string       `yaml:"table" json:"table"`                     // VRFTables for those of all VRFs
	// Routes are the destinations in the table, unless it is the main one.
	Routes []netip.Prefix `yaml:"routes,omitempty,flow" json:"routes,omitempty"`
}

// VRFTables is the table of the rule that lets links in VRFs use the tables of their VRFs.
const VRFTables = "l3mdev"

// maxTableRoutes bounds the routes of a table in the facts.
const maxTableRoutes = 1024

// String is the rule as ip shows it.
func (r Rule) String() string {
	text := fmt.Sprintf("%d: from ", r.Priority)
	if r.From.IsValid() {
		text += r.From.String()
	} else {
		text += "all"
	}
	if r.To.IsValid() {
		text += " to " + r.To.String()
	}
	if r.Input != "" {
		text += " iif " + r.Input
	}
	if r.Other != "" {
		text += " " + r.Other
	}
	return text + " lookup " + r.Table
}

func readRules(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "ip", "-json", "-4", "rule", "show")
	if err != nil {
		return err
	}
	if f.Rules, err = parseRules(out); err != nil || len(f.Rules) == 0 {
		return err
	}
	if out, err = r.output(ctx, "ip", "-json", "-4", "route", "show", "table", "all"); err != nil {
		return err
	}
	tables, err := parseTables(out)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.Table == VRFTables }) {
		if out, err = r.output(ctx, "ip", "-json", "-details", "link", "show", "type", "vrf"); err != nil {
			return err
		}
		vrfs, err := parseVRFs(out)
		if err != nil {
			return err
		}
		tables[VRFTables] = routesOf(vrfs, tables)
	}
	for i := range f.Rules {
		f.Rules[i].Routes = tables[f.Rules[i].Table]
	}
	return nil
}

// routesOf are the destinations in the tables of VRFs.
func routesOf(vrfs []vrf, tables map[string][]netip.Prefix) []netip.Prefix {
	var all []netip.Prefix
	for _, v := range vrfs {
		all = append(all, tables[v.table]...)
	}
	return all
}

func parseRules(text string) ([]Rule, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var raw []map[string]any
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("parse the output of ip rule: %w", err)
	}
	var rules []Rule
	for _, fields := range raw {
		rule, err := parseRule(fields)
		if err != nil {
			return nil, fmt.Errorf("parse the output of ip rule: %w", err)
		}
		if plain := (Rule{Priority: rule.Priority, Table: rule.Table}); fmt.Sprint(rule) != fmt.Sprint(plain) || !slices.Contains([]string{"local", "main", "default"}, rule.Table) {
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

func parseRule(fields map[string]any) (Rule, error) {
	var rule Rule
	var err error
	var other []string
	number := func(name string) (int, bool) {
		n, is := fields[name].(float64)
		return int(n), is
	}
	network := func(name, length string) (netip.Prefix, error) {
		text, _ := fields[name].(string)
		if text == "" || text == "all" {
			return netip.Prefix{}, nil
		}
		address, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		bits, has := number(length)
		if !has {
			bits = address.BitLen()
		}
		return netip.PrefixFrom(address, bits).Masked(), nil
	}
	rule.Priority, _ = number("priority")
	if rule.From, err = network("src", "srclen"); err != nil {
		return rule, err
	}
	if rule.To, err = network("dst", "dstlen"); err != nil {
		return rule, err
	}
	rule.Input, _ = fields["iif"].(string)
	rule.Table, _ = fields["table"].(string)
	for _, name := range []string{"not", "fwmark", "oif", "ipproto", "sport", "dport", "uid_start", "tos", "suppress_prefixlen", "suppress_prefixlength"} {
		switch value := fields[name].(type) {
		case string, float64:
			other = append(other, fmt.Sprintf("%s %v", name, value))
		case nil:
			if _, has := fields[name]; has {
				other = append(other, name)
			}
		}
	}
	if action, _ := fields["action"].(string); action != "" && rule.Table == "" {
		rule.Table = action
	}
	if _, vrf := fields["l3mdev"]; vrf || strings.Contains(rule.Table, "l3mdev") {
		rule.Table = VRFTables
	}
	rule.Other = strings.Join(other, " ")
	return rule, nil
}

// parseTables returns the destinations by table, without those of the main table, which have no name.
func parseTables(text string) (map[string][]netip.Prefix, error) {
	if strings.TrimSpace(text) == "" {
		return map[string][]netip.Prefix{}, nil
	}
	var raw []struct {
		To    string `json:"dst"`
		Table any    `json:"table"` // a name or a number
	}
	if err := json.Unmarshal([]byte(routeType.ReplaceAllString(text, `{"type":$1,`)), &raw); err != nil {
		return nil, fmt.Errorf("parse the output of ip route: %w", err)
	}
	tables := map[string][]netip.Prefix{}
	for _, r := range raw {
		if r.Table == nil || r.To == "" {
			continue
		}
		name := tableName(r.Table)
		to, err := parseDestination(r.To, false)
		if err != nil {
			return nil, fmt.Errorf("parse the output of ip route: %w", err)
		}
		if name != "local" && len(tables[name]) < maxTableRoutes {
			tables[name] = append(tables[name], to)
		}
	}
	return tables, nil
}

// tableName is the name or number of a table, as ip prints it for rules.
func tableName(value any) string {
	if number, is := value.(float64); is {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// readVRFs reads the names of the VRFs, which have their own routing table and sockets.
func readVRFs(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "ip", "-json", "-details", "link", "show", "type", "vrf")
	if err != nil {
		return err
	}
	vrfs, err := parseVRFs(out)
	for _, v := range vrfs {
		f.VRFs = append(f.VRFs, v.name)
	}
	return err
}

type vrf struct{ name, table string }

func parseVRFs(text string) ([]vrf, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var raw []struct {
		Name string `json:"ifname"`
		Link struct {
			Data struct {
				Table any `json:"table"`
			} `json:"info_data"`
		} `json:"linkinfo"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("parse the output of ip link: %w", err)
	}
	var vrfs []vrf
	for _, l := range raw {
		if l.Name != "" { // some versions print empty objects for other links
			vrfs = append(vrfs, vrf{l.Name, tableName(l.Link.Data.Table)})
		}
	}
	return vrfs, nil
}
