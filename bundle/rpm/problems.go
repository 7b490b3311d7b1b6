package rpm

import (
	"fmt"
	"slices"
	"strings"
)

// PlanError has all problems that prevent a closure.
type PlanError struct {
	OS       string
	Searched []string // names of the repositories
	Problems []string // sentences
}

func (e *PlanError) Error() string {
	return fmt.Sprintf("plan packages for %s (searched: %s):\n  - %s",
		e.OS, strings.Join(e.Searched, ", "), strings.Join(e.Problems, "\n  - "))
}

// problems collects sentences. It merges requirements that several packages share.
type problems struct {
	sentences []string
	absent    []string
	requirers map[string][]string
}

func (p *problems) add(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(p.sentences, s) {
		p.sentences = append(p.sentences, s)
	}
}

// missing adds a requirement that no package satisfies. The hint says what the repositories have instead, or is "".
func (p *problems) missing(requirement, hint, by string) {
	if hint != "" {
		requirement += " (" + hint + ")"
	}
	if p.requirers == nil {
		p.requirers = map[string][]string{}
	}
	if p.requirers[requirement] == nil {
		p.absent = append(p.absent, requirement)
	}
	if !slices.Contains(p.requirers[requirement], by) {
		p.requirers[requirement] = append(p.requirers[requirement], by)
	}
}

func (p *problems) all() []string {
	all := slices.Clone(p.sentences)
	for _, requirement := range p.absent {
		all = append(all, fmt.Sprintf("no package provides %s, needed by %s", requirement, strings.Join(p.requirers[requirement], ", ")))
	}
	return all
}
