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
	ID: "nft-foreign", Title: "No other packet filter drops by default", Source: "netfilter: every table must accept a packet; moby: FORWARD drops",
	Breaks: "The other packet filter drops packets that the cluster's tables accept: pods do not reach each other.",
	Needs:  []string{"dropChains"}, Run: judgeDropChains,
}

// judgeDropChains skips firewalld's table, because the check firewalld covers it.
func judgeDropChains(f *Facts, w *Want) Result {
	if w.Managed {
		return skipped("the chains include the cluster's own rules")
	}
	var found []string
	for _, c := range f.DropChains {
		if c.Table != "firewalld" {
			found = append(found, fmt.Sprintf("chain %s of table %s %s (%s)", c.Chain, c.Family, c.Table, c.Hook))
		}
	}
	if len(found) > 0 {
		return Result{Warn, strings.Join(found, ", ") + " drops by default", "policy accept, or rules that accept the cluster's traffic",
			"find the program that created it (nft list table ...); configure it to accept the pod subnet and the ports that airgap preflight lists in ports-free"}
	}
	return pass("none")
}
