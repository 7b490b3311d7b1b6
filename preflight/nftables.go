package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// DropChain is a chain of the packet filter that drops what none of its rules takes.
type DropChain struct {
	Family string `yaml:"family" json:"family"` // "ip", "inet"
	Table  string `yaml:"table" json:"table"`
	Chain  string `yaml:"chain" json:"chain"`
	Hook   string `yaml:"hook" json:"hook"` // "input", "forward" or "output"
}

// readDropChains needs root. Without nft nobody can have set such chains but by
// iptables' old kind, which iptables-backend looks at.
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
	ID: "nft-foreign", Title: "No other packet filter drops by default", Source: "netfilter: a packet has to be accepted in every table; moby: FORWARD drops",
	Breaks: "Whatever the cluster accepts in its own tables, this one drops it: pods do not reach each other.",
	Needs:  []string{"dropChains"}, Run: judgeDropChains,
}

// judgeDropChains leaves firewalld's own table to the check of firewalld.
func judgeDropChains(f *Facts, w *Want) Result {
	if w.Ours {
		return skipped("the cluster's own rules are among them")
	}
	var found []string
	for _, c := range f.DropChains {
		if c.Table != "firewalld" {
			found = append(found, fmt.Sprintf("chain %s of table %s %s (%s)", c.Chain, c.Family, c.Table, c.Hook))
		}
	}
	if len(found) > 0 {
		return Result{Warn, strings.Join(found, ", ") + " drops by default", "accept, or rules that let the cluster's traffic pass",
			"ask who made it (nft list table ...); have it accept the pods' subnet and the ports that airgap preflight lists under ports-free"}
	}
	return pass("none")
}
