package rpm

import (
	"fmt"
	"slices"
	"strings"
)

// maxReasons limits the number of reasons.
const maxReasons = 30

// explain returns the reasons why the clauses cannot all be true. It searches one
// reason after the other, each time without the clauses of the reasons before.
func (p *problem) explain() []string {
	var found problems
	clauses := p.clauses
	for range maxReasons {
		if p.satisfiable(clauses) {
			break
		}
		core := p.core(nil, clauses, nil)
		p.report(&found, core)
		before := len(clauses)
		clauses = slices.DeleteFunc(slices.Clone(clauses), func(c clause) bool {
			return c.leaf() && slices.ContainsFunc(core, func(o clause) bool { return o.same(c.reason) })
		})
		if len(clauses) == before {
			break
		}
	}
	if all := found.all(); len(all) > 0 {
		return all
	}
	return []string{"no set of packages satisfies the request, and airgap cannot find the reason: report this with airgap.yaml and the facts"}
}

func (r reason) same(o reason) bool {
	return r.kind == o.kind && r.by == o.by && r.other == o.other && r.text == o.text && r.relation.String() == o.relation.String()
}

// leaf reports whether the clause is a reason, not a step to one.
func (c clause) leaf() bool {
	return !slices.ContainsFunc(c.literals, func(l int) bool { return l > 0 })
}

// core returns a minimal subset of candidates that contradicts base, with Junker's
// QuickXplain (AAAI 2004).
func (p *problem) core(base, candidates, added []clause) []clause {
	if len(added) > 0 && !p.satisfiable(base) {
		return nil
	}
	if len(candidates) == 1 {
		return candidates
	}
	half := len(candidates) / 2
	front, back := candidates[:half], candidates[half:]
	second := p.core(slices.Concat(base, front), back, front)
	first := p.core(slices.Concat(base, second), front, second)
	return slices.Concat(first, second)
}

// report adds the sentences of a core to found.
func (p *problem) report(found *problems, core []clause) {
	for _, c := range core {
		if !c.leaf() {
			continue
		}
		switch c.kind {
		case asked:
			found.missing(c.text, p.universe.hintFor(c.text), c.list)
		case needs:
			found.missing(c.relation.String(), p.universe.hint(c.relation), p.owner(core, c))
		case blocked:
			found.add("%s", p.context(core, c.by)+c.text)
		case conflicts:
			if c.by == nil {
				found.add("%s%s, which is installed, conflicts with %s", p.context(core, c.other), c.text, c.relation)
				continue
			}
			found.add("%s cannot be installed together with %s: it conflicts with %s%s", c.by.People(), p.opponent(c), c.relation, p.both(core, c))
		case obsoletes:
			found.add("%s and %s cannot be installed together: the first obsoletes the second%s", c.by.People(), c.other.People(), p.both(core, c))
		case versions:
			found.add("%s, %s: only one %s can be installed", p.requirement(core, c.by), p.requirement(core, c.other), c.onlyOne())
		}
	}
}

// onlyOne is "version", or for two packages with the same version "of them, from the
// repositories a and b,".
func (c clause) onlyOne() string {
	if c.by.NEVRA != c.other.NEVRA {
		return "version"
	}
	from := []string{c.by.source.Name, c.other.source.Name}
	slices.Sort(from)
	return "of them, from the repositories " + strings.Join(from, " and ") + ","
}

// owner returns the package with the requirement, and how the core leads to it.
func (p *problem) owner(core []clause, c clause) string {
	if c.by == nil {
		return c.text + ", which is installed"
	}
	return c.by.String() + p.path(core, c.by)
}

// opponent returns the other package of a conflict.
func (p *problem) opponent(c clause) string {
	if c.other != nil {
		return c.other.People()
	}
	there, err := p.system.providers(p.ctx, p.universe, c.relation)
	if err != nil || len(there) == 0 {
		return "an installed package"
	}
	return there[0].People() + ", which is installed"
}

// requirers returns the clauses of a core that e satisfies.
func (p *problem) requirers(core []clause, e *entry) []clause {
	return slices.DeleteFunc(slices.Clone(core), func(c clause) bool { return !slices.Contains(c.literals, p.number[e]) })
}

// requirement is "kubeadm-1.36.0-1.x86_64 needs cri-tools = 1.36, which cri-tools-1.36.0-1.x86_64 provides".
func (p *problem) requirement(core []clause, e *entry) string {
	for _, c := range p.requirers(core, e) {
		switch {
		case c.kind == asked:
			return fmt.Sprintf("%s asks for %s", c.list, c.text)
		case c.by != nil:
			return fmt.Sprintf("%s needs %s, which %s provides", c.by, c.relation, e)
		}
	}
	return e.People()
}

// context introduces the reason why a required package is impossible.
func (p *problem) context(core []clause, e *entry) string {
	for _, c := range p.requirers(core, e) {
		if c.kind == asked && c.text != e.Name {
			return fmt.Sprintf("%s asks for %s, but ", c.list, c.text)
		}
		if c.kind == needs && c.by != nil {
			return fmt.Sprintf("%s needs %s, which %s provides, but ", c.by, c.relation, e)
		}
	}
	return e.People() + " cannot be installed: "
}

func (p *problem) both(core []clause, c clause) string {
	if c.other == nil {
		return ""
	}
	return " (" + p.requirement(core, c.by) + "; " + p.requirement(core, c.other) + ")"
}

// path lists the packages through which a core requires e: " (for kubeadm-1.36.0-1.x86_64, which needs kubelet-1.36.0-1.x86_64)".
func (p *problem) path(core []clause, e *entry) string {
	var names []string
	seen := map[*entry]bool{}
	for at := e; at != nil && !seen[at]; {
		seen[at] = true
		var next *entry
		for _, c := range p.requirers(core, at) {
			if c.kind == needs {
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
