package packetfilter

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// NFT adds rules in the language of nft. The file is "" for the rules in the kernel. It returns the
// patterns of included files.
func (s *Set) NFT(file, text string) (includes []string) {
	p := nftParser{set: s}
	for _, st := range statements(text) {
		if s.full() {
			return includes
		}
		if m := nftInclude.FindStringSubmatch(st.text); m != nil {
			includes = append(includes, strings.TrimPrefix(path.Clean(m[1]), "/"))
			continue
		}
		p.take(st.text, place(file, st.line))
	}
	return includes
}

type nftParser struct {
	set   *Set
	table string
	chain *chain
	other int    // depth of blocks that are neither a table nor a chain
	named string // the set of the block
}

var (
	nftInclude = regexp.MustCompile(`^include "([^"]+)"`)
	nftTable   = regexp.MustCompile(`^(?:(?:add|create) )?table (?:(ip|ip6|inet|arp|bridge|netdev) )?(\S+) ?\{$`)
	nftChain   = regexp.MustCompile(`^(?:(?:add|create) )?chain (?:(?:(ip|ip6|inet|arp|bridge|netdev) )?(\S+) )?(\S+) ?\{$`)
	nftRule    = regexp.MustCompile(`^(add|insert) rule (?:(ip|ip6|inet|arp|bridge|netdev) )?(\S+) (\S+) (?:(?:position|handle|index) \d+ )?(.+)$`)
	nftSet     = regexp.MustCompile(`^set (\S+) \{$`)
	nftHook    = regexp.MustCompile(`^type \w+ hook (\w+)\b`)
	nftFlush   = regexp.MustCompile(`^flush ruleset\b`)
	nftNoise   = regexp.MustCompile(`\bcounter(?: name "?\S+"?)?(?: packets \d+ bytes \d+)?|\bcomment "[^"]*"|\blog\b(?: (?:prefix "[^"]*"|level \w+|flags \w+(?: \w+)?|group \d+|snaplen \d+|queue-threshold \d+))*|\bxt match "comment"`)
	nftVerdict = regexp.MustCompile(`(?:^|\s)(accept|drop|return|reject(?: with .*)?|(jump|goto) (\S+)|xt target "(DROP|REJECT|ACCEPT)"|# xt_(DROP|REJECT|ACCEPT))$`)
)

func family(name string) string {
	if name == "" {
		return "ip"
	}
	return name
}

func (p *nftParser) take(text, at string) {
	switch {
	case text == "}":
		switch {
		case p.other > 0:
			p.other--
			p.named = ""
		case p.chain != nil:
			p.chain = nil
		default:
			p.table = ""
		}
	case p.other > 0:
		if strings.HasSuffix(text, "{") {
			p.other++
		}
		if elements, are := strings.CutPrefix(text, "elements = "); are && p.named != "" {
			p.set.elements(p.table+" "+p.named, elements)
		}
	case nftFlush.MatchString(text):
		p.set.rules.Flushes = list(p.set.rules.Flushes, at)
	case nftTable.MatchString(text):
		m := nftTable.FindStringSubmatch(text)
		p.table, p.chain = family(m[1])+" "+m[2], nil
	case nftChain.MatchString(text):
		m := nftChain.FindStringSubmatch(text)
		table := p.table
		if table == "" {
			table = family(m[1]) + " " + m[2]
		}
		p.chain = p.set.chain(table, m[3], at)
	case strings.HasSuffix(text, "{"):
		p.other++
		if m := nftSet.FindStringSubmatch(text); m != nil && p.table != "" {
			p.named = m[1]
			p.set.elements(p.table+" "+p.named, "")
		}
	case nftRule.MatchString(text):
		m := nftRule.FindStringSubmatch(text)
		c := p.set.chain(family(m[2])+" "+m[3], m[4], at)
		if m[1] == "insert" {
			c.rules = append(nftRules(m[5], at), c.rules...)
		} else {
			c.rules = append(c.rules, nftRules(m[5], at)...)
		}
	case p.chain != nil:
		p.inChain(text, at)
	}
}

func (p *nftParser) inChain(text, at string) {
	if m := nftHook.FindStringSubmatch(text); m != nil {
		p.chain.hook, p.chain.device = m[1], text
		return
	}
	if policy, is := strings.CutPrefix(text, "policy "); is {
		p.chain.policy, p.chain.policyAt = policy, at
		return
	}
	p.chain.rules = append(p.chain.rules, nftRules(text, at)...)
}

// maxElements is the number of elements of a set that are kept: lists of blocked addresses can be long.
const maxElements = 10_000

// elements keeps the elements of a set. A set with too many of them is unknown.
func (s *Set) elements(key, text string) {
	delete(s.sets, key)
	if items := splitItems(strings.Trim(text, "{ }")); len(items) <= maxElements && len(s.sets) < maxListed {
		s.sets[key] = items
	}
}

var nftMap = regexp.MustCompile(`^(.*) vmap \{([^}]*)\}$`)

// nftRules returns a rule for each verdict of a map, or the one rule of other statements.
func nftRules(text, at string) []rule {
	m := nftMap.FindStringSubmatch(text)
	if m == nil {
		return []rule{nftRead(text, at)}
	}
	var all []rule
	for _, item := range splitItems(m[2]) {
		value, verdict, _ := strings.Cut(item, " : ")
		r := nftRead(m[1]+" "+value+" "+verdict, at)
		r.text = text
		all = append(all, r)
	}
	return all
}

// nftRead splits a rule into its condition and its verdict.
func nftRead(text, at string) rule {
	r := rule{at: at, text: text}
	plain := strings.Join(strings.Fields(nftNoise.ReplaceAllString(text, "")), " ")
	m := nftVerdict.FindStringSubmatchIndex(plain)
	if m == nil {
		return r
	}
	sub := nftVerdict.FindStringSubmatch(plain)
	r.condition = strings.TrimSpace(plain[:m[0]])
	r.all = everyPacket(r.condition)
	switch {
	case sub[2] != "":
		r.verdict, r.target = sub[2], strings.Trim(sub[3], `"`)
	case sub[4]+sub[5] != "":
		r.verdict = strings.ToLower(sub[4] + sub[5])
	default:
		r.verdict, _, _ = strings.Cut(sub[1], " ")
	}
	return r
}

// Dropped returns the rules that drop or reject packets and count them, in their order, and their
// numbers of packets. The text is the output of nft with counters.
func Dropped(text string) (order []string, packets map[string]uint64) {
	s := New()
	s.NFT("", text)
	packets = map[string]uint64{}
	for _, key := range s.order {
		c := s.chains[key]
		for _, r := range c.rules {
			m := nftCounter.FindStringSubmatch(r.text)
			if m == nil || r.verdict != "drop" && r.verdict != "reject" {
				continue
			}
			name := fmt.Sprintf("chain %s of table %s: %s", c.name, c.table, nftCounter.ReplaceAllString(r.text, "counter"))
			if _, has := packets[name]; !has {
				order = append(order, name)
			}
			n, _ := strconv.ParseUint(m[1], 10, 64)
			packets[name] += n
		}
	}
	return order, packets
}

var nftCounter = regexp.MustCompile(`counter packets (\d+) bytes \d+`)

type statement struct {
	text string
	line int
}

// statements splits a text at newlines, semicolons and the braces of blocks. The braces of a set in a
// rule stay in the rule.
func statements(text string) []statement {
	var all []statement
	var now strings.Builder
	line, began, inline, quoted := 1, 1, 0, false
	end := func(with string) {
		if st := strings.TrimSpace(strings.Join(strings.Fields(now.String()), " ") + with); st != "" {
			all = append(all, statement{st, began})
		}
		now.Reset()
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if now.Len() == 0 {
			began = line
		}
		switch {
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i, line = i+1, line+1
			now.WriteByte(' ')
		case c == '\n':
			if line++; inline == 0 {
				end("")
			} else {
				now.WriteByte(' ')
			}
			quoted = false
		case c == '"' || quoted:
			quoted = quoted != (c == '"')
			now.WriteByte(c)
		case c == '#':
			comment, _, _ := strings.Cut(text[i:], "\n")
			if strings.HasPrefix(comment, "# xt_") {
				now.WriteString(comment)
			}
			i += len(comment) - 1
		case c == '{' && inline == 0 && opensBlock(now.String()):
			end(" {")
		case c == '{':
			inline++
			now.WriteByte(c)
		case c == '}' && inline > 0:
			inline--
			now.WriteByte(c)
		case c == '}':
			end("")
			all = append(all, statement{"}", line})
		case c == ';' && inline == 0:
			end("")
		default:
			now.WriteByte(c)
		}
	}
	end("")
	return all
}

var block = regexp.MustCompile(`^\s*((add|create) )?(table|chain|set|map|flowtable|counter|quota|limit|secmark|synproxy|ct (helper|timeout|expectation))\s[^{]*$`)

func opensBlock(before string) bool { return block.MatchString(before) }
