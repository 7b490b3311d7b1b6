package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// DropChain is a base chain of the packet filter with the policy drop.
type DropChain struct {
	Family string `yaml:"family" json:"family"` // "ip", "inet"
	Table  string `yaml:"table" json:"table"`
	Chain  string `yaml:"chain" json:"chain"`
	Hook   string `yaml:"hook" json:"hook"` // "input", "forward" or "output"
}

// readDropChains needs root. Without nft, only the legacy backend of iptables can create such
// chains, and iptables-backend checks for it.
func readDropChains(ctx context.Context, r reader, f *Facts) error {
	if !r.has("nft") {
		return nil
	}
	out, err := r.output(ctx, "nft", "--json", "list", "chains")
	if err != nil {
		return err
	}
	f.DropChains, err = parseDropChains(out)
	return err
}

func parseDropChains(text string) ([]DropChain, error) {
	if strings.TrimSpace(text) == "" { // nft before 1.0 for an empty rule set
		return nil, nil
	}
	var raw struct {
		Objects []struct {
			Chain *struct {
				Family string `json:"family"`
				Table  string `json:"table"`
				Name   string `json:"name"`
				Hook   string `json:"hook"`
				Policy string `json:"policy"`
			} `json:"chain"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("parse the output of nft: %w", err)
	}
	var chains []DropChain
	for _, o := range raw.Objects {
		if c := o.Chain; c != nil && c.Policy == "drop" && slices.Contains([]string{"input", "forward", "output"}, c.Hook) {
			chains = append(chains, DropChain{c.Family, c.Table, c.Name, c.Hook})
		}
	}
	return chains, nil
}

var nftForeign = Check{
	ID: "nft-foreign", Title: "No other packet filter drops the cluster's packets", Source: "netfilter: every table must accept a packet; moby: FORWARD drops; flannel: FLANNEL-FWD comes after the rules of others",
	Breaks: "The other packet filter drops packets that the cluster's tables accept: pods do not reach each other.",
	Needs:  []string{"dropChains", "packetRules", "savedRules", "units"}, Run: judgeDropChains,
}

// judgeDropChains skips firewalld's table, because the check firewalld covers it. A rule at the end of
// a chain stops more than a policy: a network plugin adds its rules after it.
func judgeDropChains(f *Facts, w *Want) Result {
	if w.Managed {
		return skipped("the chains include the cluster's own rules")
	}
	var found []string
	for _, c := range f.DropChains {
		if c.Table != "firewalld" && !(c.Hook == "forward" && f.Asked.PodPath.passed()) {
			found = append(found, fmt.Sprintf("chain %s of table %s %s (%s) drops by default", c.Chain, c.Family, c.Table, c.Hook))
		}
	}
	stop, unclear := judgeBlocks(f, f.PacketRules.Now.Blocks, w)
	stopSaved, unclearSaved := judgeSaved(f, w)
	for _, unread := range f.PacketRules.Now.Unread {
		unclearSaved = append(unclearSaved, "the rules in the kernel have a part that airgap cannot read: "+unread)
	}
	stop, found = append(stop, stopSaved...), append(append(found, unclear...), unclearSaved...)
	const want = "rules that accept the cluster's traffic, and no service that replaces them"
	switch {
	case len(stop) > 0:
		return Result{Fail, strings.Join(append(stop, found...), "\n"), want,
			"accept the pod subnet and the ports that airgap preflight lists in ports-free before this rule, in the named file; or run systemctl disable --now for the service that loads the file, and reboot"}
	case len(found) > 0:
		return Result{Warn, strings.Join(found, "\n"), want,
			"find the program that created it (nft list table ...); configure it to accept the pod subnet and the ports that airgap preflight lists in ports-free; after a restart of such a service, restart the cluster's network (airgap verify finds what is missing)"}
	}
	return pass("none")
}
