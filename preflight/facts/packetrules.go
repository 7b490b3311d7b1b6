package facts

import (
	"context"

	"airgap.dev/airgap/preflight/packetfilter"
)

// PacketRules are the rules of the packet filter: in the kernel, and in the files that a service
// loads at boot.
type PacketRules struct {
	Now   packetfilter.Rules   `yaml:"now" json:"now"`
	Saved []packetfilter.Saved `yaml:"saved,omitempty" json:"saved,omitempty"`
}

// RuleServices are the services that load saved rules.
func RuleServices() []string {
	return []string{"iptables.service", "ip6tables.service", "nftables.service",
		"shorewall.service", "shorewall6.service", "ufw.service", "csf.service", "ferm.service"} // not of Enterprise Linux; they replace all rules
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
