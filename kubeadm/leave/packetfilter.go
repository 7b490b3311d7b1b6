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

// ruleset is the kernel's packet filter as `nft --json` lists it. iptables of
// Enterprise Linux writes into the same one, so these are all rules there are.
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

// nft names an object by these words in its commands.
func (t table) words() string { return t.Family + " " + t.Name }
func (c chain) words() string { return c.Family + " " + c.Table + " " + c.Name }

// ruleset reads it. Where nft is not installed nobody has made rules yet.
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

// cleanFilter takes the cluster's rules out of the packet filter, all or none.
// Other people's rules in the same tables stay.
func (m Member) cleanFilter(ctx context.Context, before record) error {
	rules, err := m.ruleset(ctx)
	if err != nil {
		return err
	}
	script := rules.withdrawal(m.traces(), before)
	if script == "" {
		return nil
	}
	_, err = m.Host.Run(ctx, host.Cmd{Name: "nft", Args: []string{"--file", "-"}, Stdin: strings.NewReader(script)})
	if err != nil {
		return fmt.Errorf("take the cluster's rules out of the packet filter: %w", err)
	}
	return nil
}

// withdrawal is nft's script that removes what the cluster brought: its tables,
// its chains, the rules that lead to them, and the tables and chains that iptables
// makes for itself, where nothing is left in one that was not there before.
func (r ruleset) withdrawal(t Traces, before record) string {
	gone, used := map[string]bool{}, map[string]bool{} // by their words; used has what holds rules of others
	var rules, chains, tables []string
	for _, at := range r.tables() {
		gone[at.words()] = slices.Contains(t.Tables, at.Name) && !slices.Contains(before.Tables, at.words())
	}
	for _, c := range r.chains() {
		switch in := (table{c.Family, c.Table}).words(); {
		case gone[in]:
		case claims(t, c) && !slices.Contains(before.Chains, c.words()):
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
		deserted := in.madeByIptables() && c.Hook != "" && c.Policy == "accept" && !used[c.words()] && !slices.Contains(before.Chains, c.words())
		if deserted && slices.Contains(before.Tables, in.words()) {
			chains = append(chains, c.words())
		}
	}
	for _, at := range r.tables() {
		deserted := at.madeByIptables() && !used[at.words()] && !slices.Contains(before.Tables, at.words())
		if gone[at.words()] || deserted {
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

// claims reports whether a chain has one of the cluster's names.
func claims(t Traces, c chain) bool {
	return slices.ContainsFunc(t.Chains, func(beginning string) bool { return strings.HasPrefix(c.Name, beginning) })
}

// target is the chain that a rule jumps or goes to, or "".
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

// madeByIptables names the tables that iptables makes as soon as it is used.
func (t table) madeByIptables() bool {
	return (t.Family == "ip" || t.Family == "ip6") && slices.Contains([]string{"filter", "nat", "mangle", "raw", "security"}, t.Name)
}
