package settings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os/exec"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// view is one of firewalld's two configurations: the active one, and the one of
// the next boot.
type firewallView struct {
	name string
	argv []string
}

func viewRuntime() firewallView { return firewallView{"runtime", []string{"firewall-cmd"}} }
func viewPermanent() firewallView {
	return firewallView{"permanent", []string{"firewall-cmd", "--permanent"}}
}
func viewOffline() firewallView { return firewallView{"permanent", []string{"firewall-offline-cmd"}} }

// zoneChange adds or removes openings of one zone in one view.
type zoneChange struct {
	view firewallView
	zone string
	verb string // "add" or "remove"
	what []string
}

// argvs are the commands that make it, one for each kind of opening: firewall-cmd refuses
// interfaces, sources and rules in one command.
func (c zoneChange) argvs() [][]string {
	var all [][]string
	kinds := map[string]int{}
	for _, o := range c.what {
		kind, _, _ := strings.Cut(o, "=")
		at, known := kinds[kind]
		if !known {
			at = len(all)
			kinds[kind] = at
			all = append(all, append(slices.Clone(c.view.argv), "--zone="+c.zone))
		}
		all[at] = append(all[at], "--"+c.verb+"-"+o)
	}
	return all
}

// commandLines has a line for each opening.
func commandLines(changes []zoneChange) []string {
	var lines []string
	for _, c := range changes {
		for _, o := range c.what {
			name, value, _ := strings.Cut(o, "=")
			lines = append(lines, fmt.Sprintf("%s --zone=%s --%s-%s='%s'", strings.Join(c.view.argv, " "), c.zone, c.verb, name, value))
		}
	}
	return lines
}

// changes returns the changes from the state of a view to the wanted state. Obsolete
// entries of ours go.
func (v firewallView) changes(have zoneStates, want, ours openings) []zoneChange {
	var all []zoneChange
	for _, zone := range slices.Sorted(maps.Keys(union(want, ours))) {
		there := have[zone].openings
		missing := slices.DeleteFunc(slices.Clone(want[zone]), func(o string) bool { return slices.Contains(there, o) })
		stale := slices.DeleteFunc(slices.Clone(ours[zone]), func(o string) bool { return want.has(zone, o) || !slices.Contains(there, o) })
		if len(missing) > 0 {
			all = append(all, zoneChange{v, zone, "add", missing})
		}
		if len(stale) > 0 {
			all = append(all, zoneChange{v, zone, "remove", stale})
		}
	}
	return all
}

// union has every opening of both once.
func union(a, b openings) openings {
	all := openings{}
	for _, o := range []openings{a, b} {
		for zone, list := range o {
			for _, opening := range list {
				if !all.has(zone, opening) {
					all[zone] = append(all[zone], opening)
				}
			}
		}
	}
	return all
}

// zoneStates are firewalld's zones by name, as far as they matter here.
type zoneStates map[string]zoneState

type zoneState struct {
	openings []string // as in openings
	sources  []netip.Prefix
}

func (s zoneState) links() []string {
	var links []string
	for _, o := range s.openings {
		if link, is := strings.CutPrefix(o, "interface="); is {
			links = append(links, link)
		}
	}
	return links
}

// read asks once for all zones: each call of firewall-cmd takes a third of a
// second.
func (v firewallView) read(ctx context.Context, m host.Machine) (zoneStates, error) {
	out, err := m.Host.Run(ctx, host.Cmd{Name: v.argv[0], Args: append(slices.Clone(v.argv[1:]), "--list-all-zones")})
	if err != nil {
		return nil, fmt.Errorf("read firewalld's zones: %w", err)
	}
	return parseZones(string(out)), nil
}

// parseZones reads the names of zones in the first column, their entries below,
// and their rules, one per line after a tab.
func parseZones(text string) zoneStates {
	all := zoneStates{}
	zone := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		state := all[zone]
		switch {
		case len(words) == 0:
		case line[0] == '\t' && words[0] == "rule":
			state.openings = append(state.openings, "rich-rule="+strings.TrimSpace(line))
		case line[0] != ' ' && line[0] != '\t':
			zone, state = words[0], zoneState{}
		case words[0] == "interfaces:":
			for _, link := range words[1:] {
				state.openings = append(state.openings, "interface="+link)
			}
		case words[0] == "sources:":
			state.sources = parseSources(words[1:])
			for _, source := range words[1:] {
				state.openings = append(state.openings, "source="+source)
			}
		}
		if zone != "" {
			all[zone] = state
		}
	}
	return all
}

// parseSources leaves out those by hardware address or by ipset: they cannot
// be compared with a node's.
func parseSources(words []string) []netip.Prefix {
	var networks []netip.Prefix
	for _, word := range words {
		if a, err := netip.ParseAddr(word); err == nil {
			networks = append(networks, netip.PrefixFrom(a, a.BitLen()))
		} else if network, err := netip.ParsePrefix(word); err == nil {
			networks = append(networks, network)
		}
	}
	return networks
}

func (c zoneChange) make(ctx context.Context, m host.Machine) error {
	for _, argv := range c.argvs() {
		if err := m.Run(ctx, argv[0], argv[1:]...); err != nil {
			return &host.Failure{What: "change zone " + c.zone + " of firewalld", Err: err,
				Next: "if another team manages the firewall, set hostSettings.firewalld: leave in airgap.yaml and ask the team to open the ports that airgap preflight lists"}
		}
	}
	return nil
}

// offline reports whether firewalld can be changed while it does not run: it
// may have been uninstalled since.
func offline(ctx context.Context, m host.Machine) (bool, error) {
	_, err := m.Host.Run(ctx, host.Cmd{Name: viewOffline().argv[0], Args: []string{"--version"}})
	if errors.Is(err, exec.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
