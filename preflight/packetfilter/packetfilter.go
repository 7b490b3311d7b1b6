// Package packetfilter finds the rules of a packet filter that end the way of every packet. It reads
// the rules as text, as nft and iptables-save write them and as administrators write them in files,
// and runs no program.
//
// It does not decide whether a rule concerns the cluster: Block.Accepts has the earlier rules that
// accept a part of the packets, for the check that knows the cluster's ports and addresses.
package packetfilter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Rules is the part of a rule set that can stop or replace the rules of a cluster.
type Rules struct {
	Blocks []Block `yaml:"blocks,omitempty" json:"blocks,omitempty"`
	// Cluster are the chains of a Kubernetes cluster or a network plugin, with their places.
	Cluster []string `yaml:"cluster,omitempty" json:"cluster,omitempty"`
	// Chains are the tables and chains of other owners: "ip filter INPUT".
	Chains []string `yaml:"chains,omitempty" json:"chains,omitempty"`
	// Flushes are the places of statements that delete the rules of all owners.
	Flushes []string `yaml:"flushes,omitempty" json:"flushes,omitempty"`
	// Unread are the statements that are not understood, and the reason why a part is missing.
	Unread []string `yaml:"unread,omitempty" json:"unread,omitempty"`
}

// Block is a rule, or the policy of a chain, that drops or rejects every packet that reaches it.
type Block struct {
	At    string `yaml:"at" json:"at"`       // "/etc/sysconfig/iptables:12"; "" for the kernel's rules
	Table string `yaml:"table" json:"table"` // "ip filter"
	Chain string `yaml:"chain" json:"chain"`
	Hook  string `yaml:"hook" json:"hook"` // "input", "forward" or "output"
	Rule  string `yaml:"rule" json:"rule"` // "reject with icmp host-prohibited", "policy drop"
	// Policy is true for a chain's policy: rules that a program adds later apply before it.
	Policy bool `yaml:"policy,omitempty" json:"policy,omitempty"`
	// Accepts are the earlier rules that accept a part of the packets.
	Accepts []string `yaml:"accepts,omitempty" json:"accepts,omitempty"`
}

// Bounds for the rules of a host, which come from outside. A node of a large cluster has some ten
// thousand rules.
const (
	maxStatements = 200_000
	maxListed     = 100
	maxText       = 200
	maxDepth      = 16
	maxSteps      = 100_000 // rules that jump to each other can have very many ways
)

// Set collects the statements of one rule set, which can come from several files.
type Set struct {
	chains     map[string]*chain
	order      []string
	sets       map[string][]string // elements of nft's named sets, by table and name
	matchers   map[string]matcher  // by table and condition
	clauses    []clause
	statements int
	steps      int
	rules      Rules
}

type chain struct {
	table, name, hook, device, policy, policyAt string
	rules                                       []rule
}

type rule struct {
	at, text, condition, verdict, target string
	all                                  bool // every new connection meets the condition
}

// New returns an empty set.
func New() *Set {
	return &Set{chains: map[string]*chain{}, sets: map[string][]string{}, matchers: map[string]matcher{}, clauses: clauses()}
}

// full counts a statement, and reports whether there are too many.
func (s *Set) full() bool {
	s.statements++
	if s.statements == maxStatements {
		s.unread(fmt.Sprintf("more than %d statements", maxStatements))
	}
	return s.statements >= maxStatements
}

func (s *Set) unread(text string) { s.rules.Unread = list(s.rules.Unread, text) }

// list appends a text once, up to a number of texts.
func list(to []string, text string) []string {
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	if len(to) >= maxListed || slices.Contains(to, text) {
		return to
	}
	return append(to, strings.ToValidUTF8(text, "?"))
}

func place(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// chain returns a chain, and creates it.
func (s *Set) chain(table, name, at string) *chain {
	key := table + " " + name
	c := s.chains[key]
	if c == nil {
		c = &chain{table: table, name: name}
		s.chains[key] = c
		s.order = append(s.order, key)
		if clusterChain.MatchString(name) || clusterChain.MatchString(table[strings.LastIndex(table, " ")+1:]) {
			s.rules.Cluster = list(s.rules.Cluster, strings.TrimSpace(name+" "+at))
		} else {
			s.rules.Chains = list(s.rules.Chains, key)
		}
	}
	return c
}

// clusterChain matches the chains and tables of kube-proxy, the kubelet and network plugins.
var clusterChain = regexp.MustCompile(`^(KUBE-|cali-|CNI-|FLANNEL-|CILIUM_|kube-proxy$|flannel-|cali$|calico$)`)

// Rules judges the chains at the hooks input, forward and output.
func (s *Set) Rules() Rules {
	for _, key := range s.order {
		c := s.chains[key]
		if c.hook != "input" && c.hook != "forward" && c.hook != "output" || s.isFirewalld(c.table) {
			continue
		}
		var accepts []string
		found := s.walk(c, &accepts, 0)
		if found == nil && c.policy == "drop" {
			found = &Block{At: c.policyAt, Rule: "policy drop", Policy: true}
		}
		if found == nil || found.Rule == "" || len(s.rules.Blocks) >= maxListed {
			continue
		}
		found.Table, found.Chain, found.Hook, found.Accepts = c.table, c.name, c.hook, accepts
		s.rules.Blocks = append(s.rules.Blocks, *found)
	}
	return s.rules
}

// isFirewalld reports whether the table is firewalld's. With its iptables backend, these are chains
// of the usual tables.
func (s *Set) isFirewalld(table string) bool {
	return strings.HasSuffix(table, " firewalld") || s.chains[table+" FORWARD_direct"] != nil || s.chains[table+" INPUT_direct"] != nil
}

// walk returns the rule that stops every packet in this chain. Rule is "" if a rule accepts every
// packet first; nil if packets leave at the chain's end.
func (s *Set) walk(c *chain, accepts *[]string, depth int) *Block {
	for _, r := range c.rules {
		if s.tired() {
			return nil
		}
		all := r.all
		switch r.verdict {
		case "accept":
			if all && !strings.Contains(r.condition, "new") {
				return &Block{}
			}
			*accepts = list(*accepts, r.text)
		case "drop", "reject":
			if all {
				return &Block{At: r.at, Rule: strings.ToValidUTF8(r.text, "?")}
			}
		case "return":
			if r.condition == "" {
				return nil
			}
		case "jump", "goto":
			next := s.chains[c.table+" "+r.target]
			switch {
			case next == nil || depth >= maxDepth:
			case !all:
				if s.canAccept(next, depth+1) {
					*accepts = list(*accepts, r.text)
				}
			default:
				if found := s.walk(next, accepts, depth+1); found != nil || r.verdict == "goto" {
					return found
				}
			}
		}
	}
	return nil
}

// tired counts a step, and reports whether there were too many.
func (s *Set) tired() bool {
	s.steps++
	if s.steps == maxSteps {
		s.unread("too many jumps between chains")
	}
	return s.steps >= maxSteps
}

func (s *Set) canAccept(c *chain, depth int) bool {
	for _, r := range c.rules {
		if r.verdict == "accept" || s.tired() {
			return true
		}
		if next := s.chains[c.table+" "+r.target]; r.target != "" && next != nil && depth < maxDepth && s.canAccept(next, depth+1) {
			return true
		}
	}
	return false
}

// broad matches conditions that every new connection of a protocol meets.
var broad = regexp.MustCompile(`meta nfproto (ipv4|ipv6)|meta l4proto (tcp|udp|6|17|\{ ?(tcp, udp|6, 17) ?\})|ip protocol (tcp|udp)|` +
	`ct state (new|\{[^}]*new[^}]*\}|[a-z,]*\bnew\b[a-z,]*)|-p (tcp|udp|all|ip)\b|-m (tcp|udp|conntrack|state|comment)\b|--(ct)?state (\S*NEW\S*)|-s 0\.0\.0\.0/0|-d 0\.0\.0\.0/0`)

// everyPacket reports whether a condition holds for every new TCP or UDP connection.
func everyPacket(condition string) bool {
	return strings.TrimSpace(broad.ReplaceAllString(condition, "")) == ""
}
