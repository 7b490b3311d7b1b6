// Package alike puts hosts together that have the same text, such as an error.
package alike

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// Own stands for the name and the address of each host in a text of several hosts.
const Own = "HOST"

// Said is the text of a host.
type Said struct {
	Host, Address string
	Text          string
}

// Group has hosts with the same text.
type Group struct {
	Hosts []string
	Text  string // of a single host: as it is; of several: with Own for their names and addresses
}

// Groups returns the groups with most hosts first. Texts that differ only in the name and the address of their host are
// the same.
func Groups(all []Said) []Group {
	groups := InOrder(all)
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(len(b.Hosts), len(a.Hosts)) })
	return groups
}

// InOrder is Groups in the order of the first host of each.
func InOrder(all []Said) []Group {
	var keys []string
	by := map[string][]Said{}
	for _, s := range all {
		key := s.general()
		if by[key] == nil {
			keys = append(keys, key)
		}
		by[key] = append(by[key], s)
	}
	groups := make([]Group, 0, len(keys))
	for _, key := range keys {
		g := Group{Text: key}
		for _, s := range by[key] {
			g.Hosts = append(g.Hosts, s.Host)
		}
		if len(by[key]) == 1 {
			g.Text = by[key][0].Text
		}
		groups = append(groups, g)
	}
	return groups
}

// Name is the range of the hosts, with their number.
func (g Group) Name() string { return Name(g.Hosts) }

// Name is the range of hosts, with their number if there are several.
func Name(hosts []string) string {
	name := hostrange.Join(hosts)
	if n := len(hosts); n > 1 {
		name += fmt.Sprintf(" (%d hosts)", n)
	}
	return name
}

// freePort is the port that the kernel chose for a connection.
var freePort = regexp.MustCompile(`:\d{1,5}->`)

// general returns the text with Own, and without the ports that differ in each run.
func (s Said) general() string {
	text := freePort.ReplaceAllString(s.Text, "->")
	for _, own := range []string{s.Address, s.Host} {
		text = replaceWord(text, own)
	}
	return text
}

// replaceWord replaces a word that has no letter or digit before and after it.
func replaceWord(text, word string) string {
	if word == "" {
		return text
	}
	var b strings.Builder
	for rest, before := text, byte(' '); ; {
		at := strings.Index(rest, word)
		if at < 0 {
			return b.String() + rest
		}
		if at > 0 {
			before = rest[at-1]
		}
		end := at + len(word)
		if inWord(before) || end < len(rest) && inWord(rest[end]) {
			b.WriteString(rest[:end])
		} else {
			b.WriteString(rest[:at] + Own)
		}
		before, rest = rest[end-1], rest[end:]
	}
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// shown is the number of groups in a text: with two lines for each, the text fits on a terminal.
const shown = 7

// Lines are the groups for people, indented. more tells where the texts that do not fit are.
func Lines(all []Said, more string) []string {
	var lines []string
	groups := Groups(all)
	if len(groups) > shown+1 {
		groups = groups[:shown]
	}
	told := map[string]bool{}
	for _, g := range groups {
		text := strings.ReplaceAll(g.Name()+": "+g.Text, ": \n", ":\n")
		lines = append(lines, "  "+strings.ReplaceAll(text, "\n", "\n    "))
		for _, h := range g.Hosts {
			told[h] = true
		}
	}
	var rest []string
	for _, s := range all {
		if !told[s.Host] {
			rest = append(rest, s.Host)
		}
	}
	if len(rest) > 0 {
		lines = append(lines, fmt.Sprintf("  %s: %s; %s", Name(rest), ui.Count(len(Groups(all))-len(groups), "other problem"), more))
	}
	return lines
}
