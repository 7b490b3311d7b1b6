package packetfilter

import (
	"regexp"
	"strconv"
	"strings"
)

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// clause is a part of a condition in the language of nft. The groups of its form are the operator and
// the operand.
type clause struct {
	form *regexp.Regexp
	read func(values) matcher
}

const operand = `(!= |== )?(\{[^}]*\}|[^\s{]+)`

// clauses are the parts of conditions that are understood.
func clauses() []clause {
	form := func(before string) *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)` + before + ` ` + operand) }
	return []clause{
		{form(`meta nfproto`), func(v values) matcher {
			return always(v.any(func(item string) tri { return is(item == "ipv4" || item == "2") }))
		}},
		{form(`(?:meta l4proto|ip protocol)`), func(v values) matcher {
			return func(p Packet) tri { return v.any(hasProtocol(p.Protocol)) }
		}},
		{form(`ip saddr`), func(v values) matcher { return func(p Packet) tri { return v.any(hasAddress(p.From)) } }},
		{form(`ip daddr`), func(v values) matcher { return func(p Packet) tri { return v.any(hasAddress(p.To)) } }},
		{form(`(?:tcp|udp|th) dport`), func(v values) matcher { return func(p Packet) tri { return v.any(hasPort(p.Port)) } }},
		{form(`(?:meta )?iif(?:name)?`), func(v values) matcher { return func(p Packet) tri { return v.any(hasName(p.Link)) } }},
		{form(`(?:meta )?oif(?:name)?`), func(v values) matcher { return func(p Packet) tri { return p.leaves(v) } }},
		{form(`ct state`), func(v values) matcher { return always(v.any(hasState)) }},
		{form(`ct status`), func(values) matcher { return always(no) }},
	}
}

// leaves compares the interface by which the packet leaves. No packet to a program leaves.
func (p Packet) leaves(by values) tri {
	if p.Out == "" {
		return no
	}
	return by.any(hasName(p.Out))
}

var (
	// otherPacket matches parts of conditions that no first packet of TCP or UDP over IPv4 meets.
	otherPacket = regexp.MustCompile(`(?:^|\s)(?:ip6|icmp|icmpv6|icmpx|igmp|sctp|dccp|udplite|esp|ah|arp) \w+`)
	ofProtocol  = regexp.MustCompile(`(?:^|\s)(tcp|udp) \w+`)
)

// nftMatch reads a condition in the language of nft.
func (s *Set) nftMatch(table, condition string) matcher {
	if otherPacket.MatchString(condition) {
		return always(no)
	}
	var parts []matcher
	for _, m := range ofProtocol.FindAllStringSubmatch(condition, -1) {
		parts = append(parts, func(p Packet) tri { return is(p.Protocol == m[1]) })
	}
	rest := condition
	for _, c := range s.clauses {
		for _, m := range c.form.FindAllStringSubmatch(rest, -1) {
			part := c.read(s.values(table, m[2]))
			if m[1] == "!= " {
				plain := part
				part = func(p Packet) tri { return plain(p).not() }
			}
			parts = append(parts, part)
		}
		rest = c.form.ReplaceAllString(rest, " ")
	}
	if strings.TrimSpace(rest) != "" {
		parts = append(parts, always(maybe))
	}
	return every(parts)
}

// iptablesMatch reads a condition in the format of iptables-save.
func iptablesMatch(condition string) matcher {
	var parts []matcher
	words := strings.Fields(condition)
	next := func(i int) values {
		if i+1 < len(words) {
			return values{items: splitItems(words[i+1])}
		}
		return values{unknown: true}
	}
	negated := false
	for i := 0; i < len(words); i++ {
		if words[i] == "!" {
			negated = true
			continue
		}
		part, taken := iptablesPart(words[i], next(i))
		i += taken
		if words[i-taken] == "--tcp-flags" {
			part, i = synFlags(next(i-1), next(i)), i+1
		}
		if part != nil {
			if plain := part; negated {
				part = func(p Packet) tri { return plain(p).not() }
			}
			parts = append(parts, part)
		}
		negated = false
	}
	return every(parts)
}

// iptablesPart reads one option; taken is the number of its arguments.
func iptablesPart(option string, v values) (part matcher, taken int) {
	switch option {
	case "-m", "--match":
		known := v.any(func(item string) tri {
			return is(strings.Contains(" tcp udp state conntrack multiport comment ", " "+item+" "))
		})
		if known == yes {
			return nil, 1
		}
		return always(maybe), 1
	case "-p", "--protocol":
		return func(p Packet) tri { return v.any(hasProtocol(p.Protocol)) }, 1
	case "-s", "--source":
		return func(p Packet) tri { return v.any(hasAddress(p.From)) }, 1
	case "-d", "--destination":
		return func(p Packet) tri { return v.any(hasAddress(p.To)) }, 1
	case "-i", "--in-interface":
		return func(p Packet) tri { return v.any(hasName(p.Link)) }, 1
	case "-o", "--out-interface":
		return func(p Packet) tri { return p.leaves(v) }, 1
	case "--dport", "--dports", "--destination-port", "--destination-ports":
		return func(p Packet) tri { return v.any(hasPort(p.Port)) }, 1
	case "--state", "--ctstate":
		return always(v.any(hasState)), 1
	case "--syn":
		return always(yes), 0
	case "--tcp-flags":
		return nil, 1
	}
	return always(maybe), 0
}

// synFlags compares the flags of a SYN packet: it has SYN alone.
func synFlags(mask, want values) matcher {
	masked := mask.any(func(item string) tri { return is(item == "SYN" || item == "ALL") })
	has := len(want.items) == 1 && want.items[0] == "SYN"
	none := len(want.items) == 1 && want.items[0] == "NONE"
	return always(is(masked == yes && has || masked == no && none))
}
