package dryrun

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// Limits of the text about the other hosts, so that it fits on a terminal. --output json has everything.
const (
	shownGroups = 3
	shownLines  = 18
	shortLines  = 5  // of a group without its changes
	lineWidth   = 96 // of a list of steps
)

// others are the texts about the other hosts: equal hosts are together.
func others(hosts []Host) []string {
	by := map[string]Host{}
	var said []alike.Said
	for _, h := range hosts {
		by[h.Node] = h
		said = append(said, alike.Said{Host: h.Node, Address: h.Address, Text: ui.Words(h.Roles) + "\n" + h.says()})
	}
	groups := alike.Groups(said)
	shown := groups
	if len(groups) > shownGroups+1 {
		shown = groups[:shownGroups]
	}
	var texts []string
	left := shownLines
	for i, g := range shown {
		text := groupText(by[g.Hosts[0]], g, left-shortLines*(len(shown)-i-1))
		left -= strings.Count(text, "\n") + 1
		texts = append(texts, text)
	}
	var rest []string
	for _, g := range groups[len(shown):] {
		rest = append(rest, g.Hosts...)
	}
	if len(rest) > 0 {
		texts = append(texts, fmt.Sprintf("%s: %s, which --output json has", alike.Name(rest), ui.Count(len(groups)-len(shown), "other list")+" of changes"))
	}
	return texts
}

// groupText is the text of a group, with the changes if it then has at most this many lines.
func groupText(one Host, g alike.Group, most int) string {
	name := one.name()
	if n := len(g.Hosts); n > 1 {
		name = fmt.Sprintf("%s (%d hosts, %s)", hostrange.Join(g.Hosts), n, ui.Words(one.Roles))
	}
	_, says, _ := strings.Cut(g.Text, "\n")
	if strings.Count(says, "\n")+1 <= most {
		return name + ": " + says
	}
	return name + ": " + one.summary() + "\n" + one.stepNames()
}

// stepNames are the steps in a few lines, with the number of their changes.
func (h Host) stepNames() string {
	var lines []string
	line := " "
	for i, s := range h.Steps {
		word := s.Step
		if len(s.Changes) > 0 {
			word += fmt.Sprintf(" (%d)", len(s.Changes))
		}
		if i+1 < len(h.Steps) {
			word += ","
		}
		if len(line)+1+len(word) > lineWidth {
			lines, line = append(lines, line), " "
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}

// failedPreflight are the asked hosts on which preflight fails; "" if there are none.
func failedPreflight(hosts []Host) string {
	var names []string
	for _, h := range hosts {
		if h.Preflight != nil && !h.Preflight.Passed() {
			names = append(names, h.Node)
		}
	}
	return hostrange.Join(names)
}

// Answer replaces the steps of the plan by those in the answer of its host, which is the JSON of a plan.
func (h *Host) Answer(read func(any) error) {
	var answer Plan
	if err := read(&answer); err != nil {
		h.NotAsked = err.Error()
		return
	}
	if len(answer.Hosts) == 0 {
		h.NotAsked = "its answer has no plan"
		return
	}
	one := answer.Hosts[0]
	h.Asked, h.UpToDate, h.Holds, h.Steps, h.Preflight = true, one.UpToDate, one.Holds, one.Steps, &answer.Preflight
}
