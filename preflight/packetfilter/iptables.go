package packetfilter

import (
	"regexp"
	"strings"
)

// Iptables adds rules in the format of iptables-save. The family is "ip" or "ip6".
func (s *Set) Iptables(file, family, text string) {
	table := ""
	line := 0
	for each := range strings.SplitSeq(text, "\n") {
		line++
		each = strings.TrimSpace(iptablesCounters.ReplaceAllString(strings.TrimSpace(each), ""))
		if each == "" || each[0] == '#' || each == "COMMIT" {
			continue
		}
		if s.full() {
			return
		}
		at := place(file, line)
		switch {
		case each[0] == '*':
			table = family + " " + each[1:]
		case table == "":
			s.unread(strings.TrimSpace(at + " no table: " + each))
		case each[0] == ':':
			fields := append(strings.Fields(each[1:]), "", "")
			s.declare(s.chain(table, fields[0], at), fields[1], at)
		default:
			s.iptablesRule(table, each, at)
		}
	}
}

var (
	iptablesCounters = regexp.MustCompile(`^\[\d+:\d+\] `)
	iptablesRule     = regexp.MustCompile(`^(-A|--append|-I|--insert) (\S+)(?: \d+)?(?: (.*))?$`)
	iptablesPolicy   = regexp.MustCompile(`^(?:-P|--policy) (\S+) (\w+)`)
	iptablesTarget   = regexp.MustCompile(`(?:^|\s)(-j|--jump|-g|--goto) (\S+)(?: .*)?$`)
	iptablesComment  = regexp.MustCompile(`-m comment|--comment ("[^"]*"|\S+)`)
)

// declare sets the policy of a chain. Chains of the table nat have no hook here: they stop no packets.
func (s *Set) declare(c *chain, policy, at string) {
	hooks := map[string]string{"INPUT": "input", "FORWARD": "forward", "OUTPUT": "output", "PREROUTING": "prerouting"}
	if policy != "-" && (strings.HasSuffix(c.table, " filter") || strings.HasSuffix(c.table, " mangle") || strings.HasSuffix(c.table, " raw") || strings.HasSuffix(c.table, " security")) {
		c.hook = hooks[c.name]
	}
	if strings.EqualFold(policy, "DROP") {
		c.policy, c.policyAt = "drop", at
	}
}

func (s *Set) iptablesRule(table, text, at string) {
	if m := iptablesPolicy.FindStringSubmatch(text); m != nil {
		s.declare(s.chain(table, m[1], at), m[2], at)
		return
	}
	m := iptablesRule.FindStringSubmatch(text)
	if m == nil {
		s.unread(strings.TrimSpace(at + " " + text))
		return
	}
	c := s.chain(table, m[2], at)
	r := rule{at: at, text: text}
	plain := strings.Join(strings.Fields(iptablesComment.ReplaceAllString(m[3], "")), " ")
	if t := iptablesTarget.FindStringSubmatchIndex(plain); t != nil {
		sub := iptablesTarget.FindStringSubmatch(plain)
		r.condition = strings.TrimSpace(plain[:t[0]])
		r.all = everyPacket(r.condition)
		switch sub[2] {
		case "ACCEPT", "DROP", "REJECT", "RETURN":
			r.verdict = strings.ToLower(sub[2])
		default:
			r.verdict, r.target = "jump", sub[2]
			if strings.HasPrefix(sub[1], "-g") || sub[1] == "--goto" {
				r.verdict = "goto"
			}
		}
	}
	if strings.HasPrefix(m[1], "-I") || m[1] == "--insert" {
		c.rules = append([]rule{r}, c.rules...)
	} else {
		c.rules = append(c.rules, r)
	}
}
