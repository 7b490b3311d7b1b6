package rpm

import (
	"fmt"
	"slices"
	"strings"
)

// PlanError is everything that stands in the way of a closure, at once.
type PlanError struct {
	OS       string
	Searched []string // names of the repositories
	Problems []string // sentences
}

func (e *PlanError) Error() string {
	return fmt.Sprintf("plan packages for %s (searched: %s):\n  - %s",
		e.OS, strings.Join(e.Searched, ", "), strings.Join(e.Problems, "\n  - "))
}

// problems collects sentences; what several packages miss is said once.
type problems struct {
	sentences []string
	absent    []string
	needers   map[string][]string
}

func (p *problems) add(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(p.sentences, s) {
		p.sentences = append(p.sentences, s)
	}
}

// missing notes that nobody has what a requirement asks for; instead is a
// package of the right name, or "".
func (p *problems) missing(what, instead, by string) {
	if instead != "" {
		what += ", only " + instead
	}
	if p.needers == nil {
		p.needers = map[string][]string{}
	}
	if p.needers[what] == nil {
		p.absent = append(p.absent, what)
	}
	if !slices.Contains(p.needers[what], by) {
		p.needers[what] = append(p.needers[what], by)
	}
}

func (p *problems) all() []string {
	all := slices.Clone(p.sentences)
	for _, what := range p.absent {
		all = append(all, fmt.Sprintf("no package has %s, needed by %s", what, strings.Join(p.needers[what], ", ")))
	}
	return all
}
