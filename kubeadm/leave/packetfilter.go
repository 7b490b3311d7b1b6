package leave

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// ruleset is the kernel's packet filter in the format of `nft --json`. It has all rules: iptables
// of Enterprise Linux uses the same packet filter.
type ruleset struct {
	Objects []struct {
		Table *table
		Chain *chain
		Rule  *rule
	} `json:"nftables"`
}

type table struct{ Family, Name string }

type chain struct{ Family, Table, Name, Hook, Policy string }

type rule struct {
	Family, Table, Chain string
	Handle               int
	Expr                 []map[string]json.RawMessage
}

// words is the name of an object in commands of nft.
func (t table) words() string { return t.Family + " " + t.Name }
func (c chain) words() string { return c.Family + " " + c.Table + " " + c.Name }

// ruleset lists the packet filter's rules. A host without nft has none.
func (m Member) ruleset(ctx context.Context) (ruleset, error) {
	var r ruleset
	out, err := m.Host.Run(ctx, host.Cmd{Name: "nft", Args: []string{"--json", "--handle", "list", "ruleset"}})
	if errors.Is(err, exec.ErrNotFound) {
		return r, nil
	}
	if err == nil && len(out) > 0 {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		return r, fmt.Errorf("list the packet filter's rules: %w", err)
	}
	return r, nil
}

func (r ruleset) tables() (all []table) {
	for _, o := range r.Objects {
		if o.Table != nil {
			all = append(all, *o.Table)
		}
	}
	return all
}

func (r ruleset) chains() (all []chain) {
	for _, o := range r.Objects {
		if o.Chain != nil {
			all = append(all, *o.Chain)
		}
	}
	return all
}

// cleanFilter deletes the cluster's rules from the packet filter in one transaction. It keeps the
// rules of other programs in the same tables.
func (m Member) cleanFilter(ctx context.Context, before record) error {
	rules, err := m.ruleset(ctx)
	if err != nil {
		return err
	}
	script := rules.cleanup(m.traces(), before)
	if script == "" {
		return nil
	}
	_, err = m.Host.Run(ctx, host.Cmd{Name: "nft", Args: []string{"--file", "-"}, Stdin: strings.NewReader(script)})
	if err != nil {
		return fmt.Errorf("remove the cluster's rules from the packet filter: %w", err)
	}
	return nil
}

// cleanup is an nft script that deletes the cluster's tables and chains and the rules that jump to
// them. It also deletes tables and chains of iptables that are now empty and did not exist before
// the cluster.
func (r ruleset) cleanup(t HostArtifacts, before record) string {
	gone, used := map[string]bool{}, map[string]bool{} // by their words; used: with rules of other programs
	var rules, chains, tables []string
	for _, at := range r.tables() {
		gone[at.words()] = slices.Contains(t.Tables, at.Name) && !slices.Contains(before.Tables, at.words())
	}
	for _, c := range r.chains() {
		switch in := (table{c.Family, c.Table}).words(); {
		case gone[in]:
		case isOurs(t, c) && !slices.Contains(before.Chains, c.words()):
			gone[c.words()] = true
			chains = append(chains, c.words())
		case c.Hook == "" || c.Policy != "accept":
			used[in] = true
		}
	}
	for _, o := range r.Objects {
		if o.Rule == nil {
			continue
		}
		switch in := (table{o.Rule.Family, o.Rule.Table}).words(); {
		case gone[in], gone[in+" "+o.Rule.Chain]:
		case gone[in+" "+o.Rule.target()]:
			rules = append(rules, fmt.Sprintf("%s %s handle %d", in, o.Rule.Chain, o.Rule.Handle))
		default:
			used[in], used[in+" "+o.Rule.Chain] = true, true
		}
	}
	for _, c := range r.chains() {
		in := table{c.Family, c.Table}
		unused := in.madeByIptables() && c.Hook != "" && c.Policy == "accept" && !used[c.words()] && !slices.Contains(before.Chains, c.words())
		if unused && slices.Contains(before.Tables, in.words()) {
			chains = append(chains, c.words())
		}
	}
	for _, at := range r.tables() {
		unused := at.madeByIptables() && !used[at.words()] && !slices.Contains(before.Tables, at.words())
		if gone[at.words()] || unused {
			tables = append(tables, at.words())
		}
	}
	return each("delete rule", rules) + each("flush chain", chains) + each("delete chain", chains) + each("delete table", tables)
}

func each(command string, objects []string) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintln(&b, command, o)
	}
	return b.String()
}

// isOurs reports whether the name of a chain has a prefix of the cluster.
func isOurs(t HostArtifacts, c chain) bool {
	return slices.ContainsFunc(t.Chains, func(prefix string) bool { return strings.HasPrefix(c.Name, prefix) })
}

// target is the target chain of a rule's jump or goto, or "".
func (r *rule) target() string {
	for _, e := range r.Expr {
		for _, verdict := range []string{"jump", "goto"} {
			var to struct{ Target string }
			if raw, ok := e[verdict]; ok && json.Unmarshal(raw, &to) == nil {
				return to.Target
			}
		}
	}
	return ""
}

// madeByIptables reports whether iptables creates this table at its first use.
func (t table) madeByIptables() bool {
	return (t.Family == "ip" || t.Family == "ip6") && slices.Contains([]string{"filter", "nat", "mangle", "raw", "security"}, t.Name)
}
