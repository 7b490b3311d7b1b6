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

// Limits of an explanation.
const (
	maxSentences = 60
	maxNames     = 12 // in one sentence
)

// problems collects sentences. It merges requirements that several packages share.
type problems struct {
	sentences []string
	absent    []*absence
	by        map[string]*absence // by the requirement
	more      int                 // problems without a sentence
}

// absence is a requirement that no package satisfies.
type absence struct {
	requirement string
	requirers   []string
	more        int
}

// full reports that no more sentences fit. It counts one that the caller leaves out.
func (p *problems) full() bool {
	if len(p.sentences) < maxSentences {
		return false
	}
	p.more++
	return true
}

func (p *problems) add(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(p.sentences, s) {
		p.sentences = append(p.sentences, s)
	}
}

// missing adds a requirement that no package satisfies. The hint says what the repositories have instead, or is "".
func (p *problems) missing(requirement, hint string, by func() string) {
	if hint != "" {
		requirement += " (" + hint + ")"
	}
	a := p.by[requirement]
	switch {
	case a == nil && len(p.absent) == maxSentences:
		p.more++
		return
	case a == nil:
		a = &absence{requirement: requirement}
		p.absent = append(p.absent, a)
		if p.by == nil {
			p.by = map[string]*absence{}
		}
		p.by[requirement] = a
	case len(a.requirers) == maxNames:
		a.more++
		return
	}
	if name := by(); !slices.Contains(a.requirers, name) {
		a.requirers = append(a.requirers, name)
	}
}

func (p *problems) all() []string {
	all := slices.Clone(p.sentences)
	for _, a := range p.absent {
		by := strings.Join(a.requirers, ", ")
		if a.more > 0 {
			by += fmt.Sprintf(", and %d more", a.more)
		}
		all = append(all, fmt.Sprintf("no package provides %s, needed by %s", a.requirement, by))
	}
	if p.more > 0 {
		all = append(all, fmt.Sprintf("%d more problems of this request", p.more))
	}
	return all
}
