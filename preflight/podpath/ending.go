package podpath

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/packetfilter"
)

// ending are the rules without counters that stop the lost packets, by the text of the rules: nft's, and
// those of iptables-legacy. It leaves out rules that may stop them or not. It also leaves out firewalld's
// rules, because install adds the interfaces of pods to a zone, and policies, because network plugins add
// rules before them.
func ending(ctx context.Context, h host.Host, lost []*attempt) []string {
	if len(lost) == 0 {
		return nil
	}
	var rules []string
	for _, set := range ruleSets(ctx, h) {
		for _, a := range lost {
			found := set.End(a.packet)
			fixed := found.Rule != "" && found.Sure && !found.Policy && !strings.HasSuffix(found.Table, " firewalld")
			if fixed && !slices.Contains(rules, found.Rule) {
				rules = append(rules, found.Rule)
			}
		}
	}
	return rules
}

// ruleSets are the rules in the kernel. Without an answer the rule is not named.
func ruleSets(ctx context.Context, h host.Host) []*packetfilter.Set {
	output := func(name string, args ...string) (string, error) {
		out, err := h.Run(ctx, host.Cmd{Name: name, Args: args, Env: []string{"LC_ALL=C"}})
		return string(out), err
	}
	var sets []*packetfilter.Set
	if set, err := packetfilter.Kernel(output); err == nil {
		sets = append(sets, set)
	}
	// The file exists if the module of the legacy backend is loaded: the command would load it.
	tables, err := fs.ReadFile(h.FS(), "proc/net/ip_tables_names")
	if err != nil || len(tables) == 0 {
		return sets
	}
	if text, err := output("iptables-legacy-save"); err == nil {
		legacy := packetfilter.New()
		legacy.Iptables("", "ip", text)
		sets = append(sets, legacy)
	}
	return sets
}
