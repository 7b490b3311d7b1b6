package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/packetfilter"
)

// PacketRules are the rules of the packet filter: in the kernel, and in the files that a service
// loads at boot.
type PacketRules struct {
	Now   packetfilter.Rules   `yaml:"now" json:"now"`
	Saved []packetfilter.Saved `yaml:"saved,omitempty" json:"saved,omitempty"`
}

// ruleServices are the services that load saved rules.
func ruleServices() []string {
	return []string{"iptables.service", "ip6tables.service", "nftables.service"}
}

// readRulesNow needs root. Without nft, iptables-save reads the rules; it creates no table.
func readRulesNow(ctx context.Context, r reader, f *Facts) error {
	set := packetfilter.New()
	switch {
	case r.has("nft"):
		out, err := r.output(ctx, "nft", "--stateless", "list", "ruleset")
		if err != nil {
			return err
		}
		set.NFT("", out)
	case r.has("iptables"):
		out, err := r.output(ctx, "iptables-save")
		if err != nil {
			return err
		}
		set.Iptables("", "ip", out)
	}
	f.PacketRules.Now = set.Rules()
	return nil
}

func readRulesSaved(_ context.Context, r reader, f *Facts) (err error) {
	f.PacketRules.Saved, err = packetfilter.ReadSaved(r.content, r.names)
	return err
}

// judgeBlocks returns the rules that stop the cluster's packets, and the rules of which this cannot be
// told.
func judgeBlocks(f *Facts, blocks []packetfilter.Block, w *Want) (stop, unclear []string) {
	var ports []int
	for _, p := range w.Ports {
		ports = append(ports, p.Number)
	}
	for _, b := range blocks {
		if b.Hook == "output" || b.Policy && b.At == "" || b.Hook == "forward" && f.Asked.PodPath.passed() && b.At == "" {
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
func judgeSaved(f *Facts, w *Want) (stop, unclear []string) {
	for _, name := range ruleServices() {
		unit := f.unit(name)
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
