package packetfilter

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Packet is the first packet of a connection to a program on this host, or through it.
type Packet struct {
	From, To netip.Addr // IPv4
	Protocol string     // "tcp" or "udp"
	Port     int
	Link     string // interface by which it arrives
	Out      string // interface by which it leaves; "" for a program on this host
}

// End is the rule that ends the way of a packet.
type End struct {
	// Rule drops or rejects the packet: its text, chain and table. It is "" if no rule does.
	Rule string
	// Opens is true if the rule comes after the accept rules of the packet's zone in firewalld: an
	// accept rule that is added to the zone lets the packet through.
	Opens bool
	// Sure is false if the rule, or an earlier rule that accepts packets, has a condition that is not
	// understood.
	Sure bool
	// Table has the chain of the rule: "inet firewalld".
	Table string
	// Policy is true for the policy of a chain.
	Policy bool
}

// Empty reports whether there are no chains.
func (s *Set) Empty() bool { return len(s.chains) == 0 }

// End follows a packet through the chains that can stop it on its way. A rule that
// firewalld's zones cannot overrule has priority over one that they can: it stops the packet in any
// case.
func (s *Set) End(p Packet) End {
	var fixed, opens, doubt End
	for _, key := range s.order {
		c := s.chains[key]
		if !p.passes(c) {
			continue
		}
		w := &walker{set: s, packet: p}
		found, ended := w.walk(c, 0)
		if !ended && c.policy == "drop" {
			found = w.end(c, "policy drop")
			found.Policy = true
		}
		switch {
		case found.Rule != "" && found.Opens && opens.Rule == "":
			opens = found
		case found.Rule != "" && !found.Opens && (fixed.Rule == "" || found.Sure && !fixed.Sure):
			fixed = found
		}
		if doubt.Rule == "" {
			doubt.Rule = w.doubt
		}
	}
	switch {
	case fixed.Rule != "":
		return fixed
	case opens.Rule != "":
		return opens
	}
	return doubt
}

// passes reports whether the packet passes the chain's hook.
func (p Packet) passes(c *chain) bool {
	switch c.hook {
	case "prerouting":
		return true
	case "ingress":
		return slices.Contains(nameList.FindAllString(c.device, -1), p.Link)
	case "input":
		return p.Out == ""
	case "forward":
		return p.Out != ""
	}
	return false
}

// walker follows a packet through the chains of one hook.
type walker struct {
	set    *Set
	packet Packet
	steps  int
	behind bool   // the packet has passed the accept rules of its zone
	claim  string // the rule that selects a zone which the installation does not open
	spared bool   // a rule that is not understood may have accepted the packet
	doubt  string // the first rule that is not understood and may stop the packet
}

// end describes a rule that stops the packet.
func (w *walker) end(c *chain, text string) End {
	rule := fmt.Sprintf("%q in chain %s of table %s", text, c.name, c.table)
	if w.claim != "" {
		rule += fmt.Sprintf(", which %q selects", w.claim)
	}
	if len(rule) > 2*maxText {
		rule = rule[:2*maxText] + "..."
	}
	return End{Rule: strings.ToValidUTF8(rule, "?"), Opens: w.behind && w.claim == "", Sure: !w.spared, Table: c.table}
}

// walk returns the rule that stops the packet in this chain. ended is false if the packet leaves at
// the chain's end; with an empty rule, the chain accepts it.
func (w *walker) walk(c *chain, depth int) (found End, ended bool) {
	for _, r := range c.rules {
		w.steps++
		if w.steps >= maxSteps || depth > maxDepth {
			w.spared = true
			return End{}, false
		}
		meets := w.set.match(c.table, r)(w.packet)
		if meets == no {
			continue
		}
		switch r.verdict {
		case "accept":
			if meets == yes {
				return End{}, true
			}
			w.spared = true
		case "drop", "reject":
			if meets == yes {
				return w.end(c, r.text), true
			}
			w.doubted(c, r)
		case "return":
			if meets == yes {
				return End{}, false
			}
		case "jump", "goto":
			next := w.set.chains[c.table+" "+r.target]
			if next == nil {
				continue
			}
			if found, ended = w.follow(c, r, next, meets, depth); ended || r.verdict == "goto" && meets == yes {
				return found, ended
			}
		}
	}
	return End{}, false
}

// follow walks through the target of a jump. If the packet possibly does not jump, its end there is
// only a doubt.
func (w *walker) follow(c *chain, r rule, next *chain, meets tri, depth int) (found End, ended bool) {
	if meets == maybe {
		sub := *w
		found, ended = sub.walk(next, depth+1)
		w.steps = sub.steps
		switch {
		case ended && found.Rule != "":
			w.doubted(c, r)
		case ended || sub.spared:
			w.spared = true
		}
		if w.doubt == "" {
			w.doubt = sub.doubt
		}
		return End{}, false
	}
	before := w.claim
	if zoneChain.MatchString(next.name) && !strings.Contains(next.name, "policy_") && claimsOther.MatchString(r.condition) {
		w.claim = r.text
	}
	found, ended = w.walk(next, depth+1)
	w.claim = before
	if m := allowChain.FindStringSubmatch(next.name); m != nil && !strings.HasPrefix(m[1], "policy_") {
		w.behind = true
	}
	return found, ended
}

func (w *walker) doubted(c *chain, r rule) {
	if w.doubt == "" {
		w.doubt = w.end(c, r.text).Rule
	}
}

// Names of firewalld's chains for packets to this host, in the order of a zone: pre, log, deny,
// allow, post. With its iptables backend, the names have no prefix.
var (
	allowChain = regexp.MustCompile(`^(?:filter_)?IN_(.+)_allow$`)
	zoneChain  = regexp.MustCompile(`^(?:filter_)?IN_`)
	// claimsOther matches zones of sources that are sets or hardware addresses: the installation opens
	// only zones of interfaces and of IP addresses.
	nameList    = regexp.MustCompile(`[^\s"{},=]+`)
	claimsOther = regexp.MustCompile(`@|ether |--match-set|--mac-source|set`)
)

// tri is whether a packet meets a condition.
type tri int

const (
	no tri = iota
	maybe
	yes
)

func is(b bool) tri {
	if b {
		return yes
	}
	return no
}

func (t tri) not() tri { return yes - t }

// matcher reports whether a packet meets the condition of a rule.
type matcher func(Packet) tri

// every combines the parts of a condition.
func every(parts []matcher) matcher {
	return func(p Packet) tri {
		all := yes
		for _, part := range parts {
			all = min(all, part(p))
		}
		return all
	}
}

func always(t tri) matcher { return func(Packet) tri { return t } }

// match returns the matcher of a rule. It reads each condition once.
func (s *Set) match(table string, r rule) matcher {
	key := table + "\x00" + r.condition
	m := s.matchers[key]
	if m == nil {
		if strings.HasPrefix(r.condition, "-") || strings.HasPrefix(r.condition, "! -") {
			m = iptablesMatch(r.condition)
		} else {
			m = s.nftMatch(table, r.condition)
		}
		s.matchers[key] = m
	}
	return m
}

// values is one operand of a condition: a list of addresses, networks, ports or names. It is unknown
// if it is a set whose elements are not known.
type values struct {
	items   []string
	unknown bool
}

func (s *Set) values(table, text string) values {
	if name, is := strings.CutPrefix(text, "@"); is {
		items, known := s.sets[table+" "+name]
		return values{items, !known}
	}
	return values{items: splitItems(strings.Trim(text, "{ }"))}
}

func splitItems(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// any reports whether one item matches. A certain match counts more than an unknown one.
func (v values) any(match func(item string) tri) tri {
	best := no
	if v.unknown {
		best = maybe
	}
	for _, item := range v.items {
		best = max(best, match(item))
	}
	return best
}

func hasAddress(a netip.Addr) func(string) tri {
	return func(item string) tri {
		if fields := strings.Fields(item); len(fields) > 1 && fields[1] == "." { // a concatenation
			return maybe
		} else if len(fields) > 1 { // an element with a timeout
			item = fields[0]
		}
		if first, last, isRange := strings.Cut(item, "-"); isRange {
			from, errFrom := netip.ParseAddr(first)
			to, errTo := netip.ParseAddr(last)
			if errFrom != nil || errTo != nil {
				return maybe
			}
			return is(from.Compare(a) <= 0 && a.Compare(to) <= 0)
		}
		if one, err := netip.ParseAddr(item); err == nil {
			return is(one == a)
		}
		if network, err := netip.ParsePrefix(item); err == nil {
			return is(network.Contains(a))
		}
		return maybe
	}
}

func hasPort(port int) func(string) tri {
	return func(item string) tri {
		m := portRange.FindStringSubmatch(item)
		if m == nil || m[0] != item {
			return maybe
		}
		first, last := number(m[1]), number(m[2])
		return is(port >= first && port <= max(first, last))
	}
}

// hasName compares the name of an interface. A wildcard is * for nft and + for iptables.
func hasName(name string) func(string) tri {
	return func(item string) tri {
		item = strings.Trim(item, `"`)
		start := strings.TrimRight(item, "*+")
		return is(item == name || start != item && strings.HasPrefix(name, start))
	}
}

// hasProtocol knows the names and the numbers of protocols.
func hasProtocol(protocol string) func(string) tri {
	return func(item string) tri {
		same := map[string][]string{"tcp": {"tcp", "6", "all", "ip"}, "udp": {"udp", "17", "all", "ip"}}
		return is(slices.Contains(same[protocol], item))
	}
}

// hasState is for the first packet of a connection.
func hasState(item string) tri { return is(strings.EqualFold(item, "new")) }
