package rpm

import (
	"fmt"
	"slices"
	"strings"
)

// maxReasons bounds how many reasons are looked for.
const maxReasons = 30

// explain says why the clauses cannot all hold: everything that is in the way,
// found one thing after the other, each time as if those before were mended.
func (p *problem) explain() []string {
	var found problems
	clauses := p.clauses
	for range maxReasons {
		if p.satisfiable(clauses) {
			break
		}
		core := p.core(nil, clauses, nil)
		p.tell(&found, core)
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
	return []string{"no set of packages satisfies the request, for a reason that airgap cannot tell: please report it with airgap.yaml and the facts"}
}

func (r reason) same(o reason) bool {
	return r.kind == o.kind && r.by == o.by && r.other == o.other && r.text == o.text && r.what.String() == o.what.String()
}

// leaf reports whether the clause is a reason in itself, not a step to one.
func (c clause) leaf() bool {
	return !slices.ContainsFunc(c.literals, func(l int) bool { return l > 0 })
}

// core is a smallest part of candidates that contradicts base: no clause of it
// can be left out. It is Junker's QuickXplain (AAAI 2004).
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

// tell puts a core into sentences.
func (p *problem) tell(found *problems, core []clause) {
	for _, c := range core {
		if !c.leaf() {
			continue
		}
		switch c.kind {
		case asked:
			found.missing(c.text, "", c.list)
		case needs:
			found.missing(c.what.String(), p.universe.nearest(c.what.Name), p.owner(core, c))
		case blocked:
			found.add("%s", p.want(core, c.by)+c.text)
		case conflicts:
			found.add("%s does not go together with %s: it conflicts with %s%s", c.by.People(), p.opponent(c), c.what, p.both(core, c))
		case obsoletes:
			found.add("%s and %s do not go together: the first obsoletes the other%s", c.by.People(), c.other.People(), p.both(core, c))
		case versions:
			found.add("%s, %s: there can be one version only", p.wanted(core, c.by), p.wanted(core, c.other))
		}
	}
}

// owner is whose requirement a clause is.
func (p *problem) owner(core []clause, c clause) string {
	if c.by == nil {
		return c.text + ", which is installed"
	}
	return c.by.String() + p.path(core, c.by)
}

// opponent is what a conflict is with.
func (p *problem) opponent(c clause) string {
	if c.other != nil {
		return c.other.People()
	}
	there, err := p.system.providers(p.ctx, p.universe, c.what)
	if err != nil || len(there) == 0 {
		return "what is installed"
	}
	return there[0].People() + ", which is installed"
}

// wanters are the clauses of a core that e would fulfil.
func (p *problem) wanters(core []clause, e *entry) []clause {
	return slices.DeleteFunc(slices.Clone(core), func(c clause) bool { return !slices.Contains(c.literals, p.number[e]) })
}

// wanted is "kubeadm-1.36.0-1.x86_64 needs cri-tools = 1.36, which cri-tools-1.36.0-1.x86_64 has".
func (p *problem) wanted(core []clause, e *entry) string {
	for _, c := range p.wanters(core, e) {
		switch {
		case c.kind == asked:
			return fmt.Sprintf("%s asks for %s", c.list, c.text)
		case c.by != nil:
			return fmt.Sprintf("%s needs %s, which %s has", c.by, c.what, e)
		}
	}
	return e.People()
}

// want leads to why a package that is wanted cannot be taken.
func (p *problem) want(core []clause, e *entry) string {
	for _, c := range p.wanters(core, e) {
		if c.kind == asked && c.text != e.Name {
			return fmt.Sprintf("%s asks for %s, but ", c.list, c.text)
		}
		if c.kind == needs && c.by != nil {
			return fmt.Sprintf("%s needs %s, which %s has, but ", c.by, c.what, e)
		}
	}
	return e.People() + " cannot be planned: "
}

func (p *problem) both(core []clause, c clause) string {
	if c.other == nil {
		return ""
	}
	return " (" + p.wanted(core, c.by) + "; " + p.wanted(core, c.other) + ")"
}

// path is by which ways a core comes to e: " (for packages.install, kubeadm)".
func (p *problem) path(core []clause, e *entry) string {
	var names []string
	seen := map[*entry]bool{}
	for at := e; at != nil && !seen[at]; {
		seen[at] = true
		var next *entry
		for _, c := range p.wanters(core, at) {
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
