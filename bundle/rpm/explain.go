package rpm

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxReasons = 30
	fewSteps   = 300_000 // that each explanation may make
)

// explain returns the reasons why the clauses cannot all be true. It searches one
// reason after the other, each time without the clauses of the reasons before. It makes about as
// many steps as the solution at most: then some reasons are missing, or have needless parts.
func (p *problem) explain() []string {
	var found problems
	limit := p.steps + max(p.steps, fewSteps)
	core, left := p.core, []int(nil)
	for i := range p.clauses {
		left = append(left, i)
	}
	for range maxReasons {
		if core == nil {
			if core = p.contradiction(p.question(p.number, left), limit); core == nil {
				break
			}
		}
		core = p.shrink(core, limit)
		p.report(&found, core)
		before := len(left)
		left = p.without(left, core)
		if core = nil; len(left) == before || p.steps > limit || p.ctx.Err() != nil {
			break
		}
	}
	if all := found.all(); len(all) > 0 {
		return all
	}
	return []string{"no set of packages satisfies the request, and airgap cannot find the reason: report this with airgap.yaml and the facts"}
}

// without removes the clauses that are the reason of a core, and equal ones.
func (p *problem) without(left, core []int) []int {
	type key struct {
		kind     kind
		by       *entry
		text     string
		relation string
	}
	of := func(c clause) key { return key{c.kind, c.by, c.text, c.relation.String()} }
	gone := map[key]bool{}
	for _, i := range core {
		if c := p.clauses[i]; !c.positive() {
			gone[of(c)] = true
		}
	}
	return slices.DeleteFunc(left, func(i int) bool { c := p.clauses[i]; return !c.positive() && gone[of(c)] })
}

// contradiction returns clauses that contradict each other, or nil if there are none or the steps do not suffice.
func (p *problem) contradiction(q *question, limit int64) []int {
	q.Limit = max(1, limit-p.steps)
	defer func() { p.steps += q.Steps }()
	if ok, err := q.Satisfiable(); ok || err != nil {
		return nil
	}
	return q.Core()
}

// shrink returns a minimal contradiction within a core, as far as the steps permit.
func (p *problem) shrink(core []int, limit int64) []int {
	for p.steps < limit {
		smaller := p.contradiction(p.part(core), limit)
		if smaller == nil || len(smaller) == len(core) {
			break
		}
		core = smaller
	}
	return p.minimal(nil, core, nil, limit)
}

// minimal returns a minimal subset of candidates that contradicts base, with Junker's
// QuickXplain (AAAI 2004).
func (p *problem) minimal(base, candidates, added []int, limit int64) []int {
	if len(added) > 0 && p.steps < limit && p.contradiction(p.part(base), limit) != nil {
		return nil
	}
	if len(candidates) <= 1 || p.steps >= limit {
		return candidates
	}
	half := len(candidates) / 2
	front, back := candidates[:half], candidates[half:]
	second := p.minimal(slices.Concat(base, front), back, front, limit)
	first := p.minimal(slices.Concat(base, second), front, second, limit)
	return slices.Concat(first, second)
}

// story is a core with the clauses that each package makes true.
type story struct {
	*problem
	core      []clause
	requirers map[*entry][]int // indexes in core
}

func (p *problem) story(core []int) *story {
	s := &story{problem: p, requirers: map[*entry][]int{}}
	for i, n := range core {
		c := p.clauses[n]
		s.core = append(s.core, c)
		for _, a := range c.atoms {
			if !a.not {
				for _, e := range a.members {
					s.requirers[e] = append(s.requirers[e], i)
				}
			}
		}
	}
	return s
}

// report adds the sentences of a core to found.
func (p *problem) report(found *problems, core []int) {
	s := p.story(core)
	for _, c := range s.core {
		if c.positive() {
			continue
		}
		switch c.kind {
		case asked:
			found.missing(c.text, p.universe.hintFor(c.text), func() string { return c.list })
			continue
		case needs:
			found.missing(brief(c.relation), p.universe.hint(c.relation), func() string { return s.owner(c) })
			continue
		}
		if found.full() {
			continue
		}
		switch c.kind {
		case blocked:
			found.add("%s", s.context(c.by)+c.text)
		case conflicts:
			other := s.opponent(c)
			if c.by == nil {
				found.add("%s%s, which is installed, conflicts with %s", s.context(other), c.text, brief(c.relation))
				continue
			}
			found.add("%s cannot be installed together with %s: it conflicts with %s%s", c.by.People(), s.named(c, other), brief(c.relation), s.both(c, other))
		case obsoletes:
			other := s.opponent(c)
			found.add("%s and %s cannot be installed together: the first obsoletes the second%s", c.by.People(), s.named(c, other), s.both(c, other))
		case versions:
			found.add("%s", s.rivals(c))
		}
	}
}

// brief is a relation in a sentence: some have thousands of alternatives.
func brief(x expression) string {
	const most = 300
	text := x.String()
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// owner returns the package with the requirement, and how the core leads to it.
func (s *story) owner(c clause) string {
	if c.by == nil {
		return c.text + ", which is installed"
	}
	return c.by.String() + s.path(c.by)
}

// opponent returns the package of a conflict that the core requires, or nil.
func (s *story) opponent(c clause) *entry {
	var other *entry
	first := len(s.core)
	for _, a := range c.atoms {
		for _, e := range a.members {
			if list := s.requirers[e]; e != c.by && a.not && len(list) > 0 {
				if list[0] < first || list[0] == first && better(e, other, c.relation.Name) < 0 {
					first, other = list[0], e
				}
			}
		}
	}
	return other
}

// named returns the name of the other package of a conflict.
func (s *story) named(c clause, other *entry) string {
	if other != nil {
		return other.People()
	}
	there, err := s.system.providers(s.ctx, s.universe, c.relation)
	if err != nil || len(there) == 0 {
		return "an installed package"
	}
	return there[0].People() + ", which is installed"
}

// rivals says who needs which versions of a package.
func (s *story) rivals(c clause) string {
	var demands []string
	var rivals []*entry
	for _, o := range s.core {
		if e := o.chooses(c.text); e != nil {
			if text := s.demands(o, e); !slices.Contains(demands, text) {
				demands, rivals = append(demands, text), append(rivals, e)
			}
		}
	}
	if len(demands) == 0 {
		demands, rivals = []string{c.text}, c.atoms[0].members
	}
	if more := len(demands) - maxNames; more > 0 {
		demands = append(demands[:maxNames], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s: only one %s can be installed", strings.Join(demands, ", "), oneOf(rivals))
}

// oneOf is "version", or for packages with the same version "of them, from the repositories a and b,".
func oneOf(rivals []*entry) string {
	if !sameBuild(rivals) {
		return "version"
	}
	var from []string
	for _, e := range rivals {
		if !slices.Contains(from, e.source.Name) {
			from = append(from, e.source.Name)
		}
	}
	slices.Sort(from)
	return "of them, from the repositories " + strings.Join(from, " and ") + ","
}

// chooses returns the best package of the name that can make the clause true, or nil.
func (c clause) chooses(name string) *entry {
	var best *entry
	for _, a := range c.atoms {
		for _, e := range a.members {
			if !a.not && e.Name == name && (best == nil || better(e, best, c.relation.Name) < 0) {
				best = e
			}
		}
	}
	return best
}

// demands is "kubeadm-1.36.0-1.x86_64 needs cri-tools = 1.36, which cri-tools-1.36.0-1.x86_64 provides".
func (s *story) demands(c clause, e *entry) string {
	switch {
	case c.kind == asked:
		return fmt.Sprintf("%s asks for %s", c.list, c.text)
	case c.by != nil:
		return fmt.Sprintf("%s needs %s, which %s provides", c.by, brief(c.relation), e)
	}
	return e.People()
}

func (s *story) requirement(e *entry) string {
	for _, i := range s.requirers[e] {
		if c := s.core[i]; c.kind == asked || c.by != nil {
			return s.demands(c, e)
		}
	}
	return e.People()
}

// context introduces the reason why a required package is impossible.
func (s *story) context(e *entry) string {
	if e == nil {
		return ""
	}
	for _, i := range s.requirers[e] {
		switch c := s.core[i]; {
		case c.kind == asked && c.text != e.Name:
			return fmt.Sprintf("%s asks for %s, but ", c.list, c.text)
		case c.kind == needs && c.by != nil:
			return s.demands(c, e) + ", but "
		}
	}
	return e.People() + " cannot be installed: "
}

func (s *story) both(c clause, other *entry) string {
	if other == nil {
		return ""
	}
	return " (" + s.requirement(c.by) + "; " + s.requirement(other) + ")"
}

// path lists the packages through which a core requires e: " (for kubeadm-1.36.0-1.x86_64, which needs kubelet-1.36.0-1.x86_64)".
func (s *story) path(e *entry) string {
	var names []string
	seen := map[*entry]bool{}
	for at := e; at != nil && !seen[at] && len(names) <= maxNames; {
		seen[at] = true
		var next *entry
		for _, i := range s.requirers[at] {
			if c := s.core[i]; c.kind == needs {
				next = c.by
			}
		}
		if next != nil {
			names = append(names, next.People())
		}
		at = next
	}
	if len(names) == 0 {
		return ""
	}
	slices.Reverse(names)
	return " (for " + strings.Join(names, ", which needs ") + ")"
}
