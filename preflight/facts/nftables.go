package facts

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
