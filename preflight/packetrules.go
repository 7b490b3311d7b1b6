package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/packetfilter"
)

// judgeBlocks returns the rules that stop the cluster's packets, and the rules of which this cannot be
// told.
func judgeBlocks(f *facts.Facts, blocks []packetfilter.Block, w *Want) (stop, unclear []string) {
	var ports []int
	for _, p := range w.Ports {
		ports = append(ports, p.Number)
	}
	for _, b := range blocks {
		if b.Hook == "output" || b.Policy && b.At == "" || b.Hook == "forward" && f.Asked.PodPath.Passed() && b.At == "" {
			continue // the policies in the kernel are the fact dropChains; and packets passed
		}
		text := fmt.Sprintf("chain %s of table %s (%s) ends with %q", b.Chain, b.Table, b.Hook, b.Rule)
		if b.At != "" {
			text += " in " + b.At
		}
		accepts := slices.DeleteFunc(slices.Clone(b.Accepts), func(rule string) bool { return !packetfilter.CanAccept(b.Hook, rule, ports) })
		switch {
		case len(accepts) > 0:
			unclear = append(unclear, fmt.Sprintf("%s; %d earlier rules accept packets, such as %q", text, len(accepts), accepts[0]))
		case b.Policy:
			unclear = append(unclear, text)
		default:
			stop = append(stop, text)
		}
	}
	return stop, unclear
}

// judgeSaved judges the services that load saved rules, if they run now or at the next boot.
func judgeSaved(f *facts.Facts, w *Want) (stop, unclear []string) {
	for _, name := range facts.RuleServices() {
		unit := f.Unit(name)
		if !unit.Active() && !strings.HasPrefix(unit.Enabled, "enabled") {
			continue
		}
		unclear = append(unclear, fmt.Sprintf("%s is %s: its restart or stop deletes the cluster's rules", name, strings.Join(slices.DeleteFunc([]string{unit.State, unit.Enabled}, func(s string) bool { return s == "" }), " and ")))
		for _, saved := range f.PacketRules.Saved {
			if saved.Unit != name {
				continue
			}
			s, u := judgeBlocks(f, saved.Rules.Blocks, w)
			stop, unclear = append(stop, s...), append(unclear, u...)
			if stale := saved.Rules.Cluster; len(stale) > 0 && !w.Managed {
				stop = append(stop, fmt.Sprintf("%s loads rules of an earlier cluster: %s", name, strings.Join(stale[:min(len(stale), 3)], ", ")))
			}
			for _, setting := range saved.SaveOnStop {
				unclear = append(unclear, setting+": "+name+" saves the cluster's rules, and loads them at the next boot")
			}
			for _, unread := range saved.Rules.Unread {
				unclear = append(unclear, name+" loads a line that airgap cannot read: "+unread)
			}
		}
	}
	return stop, unclear
}
