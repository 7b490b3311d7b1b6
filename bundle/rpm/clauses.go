package rpm

import (
	"context"
	"errors"
	"slices"

	"airgap.dev/airgap/internal/nevra"
)

// problem is a request as a satisfiability problem: numbered packages, and clauses
// that must all be true. Installed packages never change, so they have no numbers:
// they only make clauses true or packages impossible.
type problem struct {
	ctx       context.Context
	universe  *universe
	system    system
	entries   []*entry // the first has the number 1
	number    map[*entry]int
	clauses   []clause
	preferred map[*entry]bool // chosen first between alternatives
	sets      sets
	later     later
	core      []int // clauses that contradict each other, if solve found no solution
	steps     int64 // of its own work and of the SAT solver: a measure that does not depend on the machine
}

// clause is true if its package by is not installed, or if one of its atoms is true.
type clause struct {
	atoms []atom
	reason
}

// atom is that one of the packages is installed, or that none is.
type atom struct {
	*set
	not bool
}

// exclusive reports whether a clause excludes all packages of its only atom except by.
// Versions exclude each other.
func (c clause) exclusive() bool {
	one := c.by != nil && len(c.atoms) == 1 && c.atoms[0].not
	return c.kind == versions || one && (c.kind == obsoletes || c.itself())
}

// conditional reports whether the clause depends on the absence of packages.
func (c clause) conditional() bool {
	return slices.ContainsFunc(c.atoms, func(a atom) bool { return a.not })
}

// reason explains a clause.
type reason struct {
	kind     kind
	by       *entry     // has the requirement or conflict; nil for an entry of a list and for an installed package
	relation expression // the requirement or conflict
	text     string     // the entry of the list, why by is impossible, or the name of the installed package
	list     string     // the list with the entry: InstallList, or Extra.By
}

type kind int

const (
	asked     kind = iota // an entry of the list
	needs                 // by requires relation
	blocked               // the installed packages make by impossible
	conflicts             // by conflicts with relation
	obsoletes             // by obsoletes relation
	versions              // the packages are versions of one package
)

// asking is a package in a list.
type asking struct{ spec, list string }

func listed(install []string, list string) []asking {
	var all []asking
	for _, spec := range install {
		all = append(all, asking{spec, list})
	}
	return all
}

// newProblem returns the problem of installing all requested packages on s. It fails
// if it cannot read the file lists of a repository.
func newProblem(ctx context.Context, u *universe, s system, install []asking) (*problem, error) {
	p := unasked(ctx, u, s)
	for _, a := range install {
		if err := p.ask(a); err != nil {
			return nil, err
		}
	}
	if err := p.reach(); err != nil {
		return nil, err
	}
	p.exclude()
	return p, nil
}

// unasked returns a problem without clauses.
func unasked(ctx context.Context, u *universe, s system) *problem {
	return &problem{ctx: ctx, universe: u, system: s, number: map[*entry]int{}, preferred: map[*entry]bool{}, sets: newSets(), later: newLater()}
}

// ask adds the clause of a list's entry: a package, or as in dnf a capability that
// packages provide. An installed package needs no clause.
func (p *problem) ask(a asking) error {
	for _, want := range pins(a.spec) {
		available := p.universe.pinned(want)
		if p.present(want, available) {
			return nil
		}
		if len(available) == 0 {
			continue
		}
		if want.plain() {
			available = slices.Concat(available, p.universe.successors(p.ctx, want.name))
		}
		p.anyOf(a, available)
		return context.Cause(p.ctx)
	}
	return p.askFor(a)
}

// askFor is ask for a capability.
func (p *problem) askFor(a asking) error {
	wanted := expression{Capability: Capability{Name: a.spec}}
	there, err := p.system.providers(p.ctx, p.universe, wanted)
	if err != nil || len(there) > 0 {
		return err
	}
	candidates, err := p.universe.offering(p.ctx, wanted.Capability)
	p.anyOf(a, candidates)
	return err
}

func (p *problem) anyOf(a asking, candidates []*entry) {
	candidates = slices.Clone(candidates)
	sortStable(p.ctx, candidates, newer)
	p.enlist(clause{[]atom{{&set{members: candidates}, false}}, reason{kind: asked, text: a.spec, list: a.list}})
}

// enlist adds a clause, and numbers the packages that can make it true.
func (p *problem) enlist(c clause) {
	for _, a := range c.atoms {
		if !a.not {
			for _, e := range a.members {
				p.add(e)
			}
		}
	}
	p.clauses = append(p.clauses, c)
}

func (p *problem) add(e *entry) {
	if p.number[e] == 0 {
		p.entries = append(p.entries, e)
		p.number[e] = len(p.entries)
		p.later.wake(e)
	}
}

func (p *problem) entry(number int) *entry { return p.entries[number-1] }

// reach numbers every package that may be needed, and adds its clauses. A condition on a
// package without a number is never true.
func (p *problem) reach() error {
	for _, x := range p.system.conditions() {
		why, wanted := reason{kind: needs, relation: x.expression, text: x.by.Name}, x.expression
		if x.conflict {
			why.kind, wanted = conflicts, negated(wanted)
		}
		if err := p.demand(why, wanted); err != nil {
			return err
		}
	}
	for done := 0; ; {
		for ; done < len(p.entries); done++ {
			if err := p.describe(p.entries[done]); err != nil {
				return err
			}
		}
		if !p.activate() {
			p.clauses = append(p.clauses, p.later.sorted()...)
			return nil
		}
	}
}

// describe adds the requirements and conflicts of a package, or the reason why it is impossible.
func (p *problem) describe(e *entry) error {
	why, err := p.impossible(e)
	if err != nil {
		return err
	}
	if why != "" {
		p.clauses = append(p.clauses, clause{nil, reason{kind: blocked, by: e, text: why}})
		return nil
	}
	for _, x := range e.requires {
		if err := p.demand(reason{kind: needs, by: e, relation: x}, x); err != nil {
			return err
		}
	}
	for _, x := range e.conflicts {
		if err := p.demand(reason{kind: conflicts, by: e, relation: x}, negated(x)); err != nil {
			return err
		}
	}
	return nil
}

// demand adds an expression as clauses, which are true if why.by is not taken.
func (p *problem) demand(why reason, x expression) error {
	if err := why.relation.supported(); err != nil {
		p.unusable(why, err)
		return nil
	}
	forms, err := p.normal(x.plain(), false)
	if errors.Is(err, errForms) {
		p.unusable(why, err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, form := range forms {
		p.require(clause{form, why})
	}
	return nil
}

func negated(x expression) expression { return expression{op: "not", terms: []expression{x}} }

// unusable makes a package impossible if airgap cannot use one of its relations. Installed packages
// stay: rpm checked them at installation.
func (p *problem) unusable(why reason, err error) {
	if why.by != nil {
		p.clauses = append(p.clauses, clause{nil, reason{kind: blocked, by: why.by, text: err.Error()}})
	}
}

// require adds a clause. One that depends on conditions waits until they are possible.
func (p *problem) require(c clause) {
	c, open := p.tidy(c)
	conditional, positive := c.conditional(), slices.ContainsFunc(c.atoms, func(a atom) bool { return !a.not })
	switch {
	case !open, c.by == nil && !conditional: // rpm checked it at installation
	case conditional && positive:
		p.later.wait(c, p.number)
	case conditional:
		p.later.add(p.later.next(), c)
	default:
		p.enlist(c)
	}
}

// tidy removes duplicate atoms, and conditions that are false once by is installed. It returns false if the clause is
// always true.
func (p *problem) tidy(c clause) (clause, bool) {
	atoms, seen := make([]atom, 0, len(c.atoms)), map[atom]bool{}
	for _, a := range c.atoms {
		if c.by != nil && !c.exclusive() && slices.Contains(a.members, c.by) {
			switch {
			case !a.not:
				return c, false
			case !c.itself():
				continue
			}
			a.set = p.except(a.set, c.by)
		}
		if a.not && len(a.members) == 0 || seen[atom{a.set, !a.not}] {
			return c, false
		}
		if !seen[a] {
			seen[a] = true
			atoms = append(atoms, a)
		}
	}
	c.atoms = atoms
	return c, true
}

// itself reports whether by is no reason against itself: a package does not conflict with itself, but it can be its own
// condition.
func (c clause) itself() bool { return c.kind == conflicts && !c.relation.several() }

// exclude adds the clauses of numbered packages that exclude each other by name:
// versions of one package, and packages that obsolete another.
func (p *problem) exclude() {
	byName, byBuild := map[string][]*entry{}, map[nevra.NEVRA][]*entry{}
	for _, e := range p.entries {
		byName[e.Name] = append(byName[e.Name], e)
		byBuild[e.NEVRA] = append(byBuild[e.NEVRA], e)
	}
	for _, e := range p.entries {
		if all := byName[e.Name]; all[0] == e && slices.ContainsFunc(all, func(o *entry) bool { return !o.parallel() }) {
			p.onlyOne(all)
		} else if all := byBuild[e.NEVRA]; all[0] == e && e.parallel() {
			p.onlyOne(all)
		}
		if e.parallel() {
			continue
		}
		for _, c := range e.obsoletes {
			if s := p.obsoleted(c); c.Name != e.Name && p.later.watch(s, p.number) {
				p.clauses = append(p.clauses, clause{[]atom{{s, true}}, reason{kind: obsoletes, by: e, relation: expression{Capability: c}}})
			}
		}
	}
}

// onlyOne adds the clause that packages of one name exclude each other.
func (p *problem) onlyOne(all []*entry) {
	if len(all) > 1 {
		p.clauses = append(p.clauses, clause{[]atom{{&set{members: all}, true}}, reason{kind: versions, text: all[0].Name}})
	}
}

// sameBuild reports whether all packages have one version: they are from different repositories.
func sameBuild(all []*entry) bool {
	return !slices.ContainsFunc(all, func(e *entry) bool { return e.NEVRA != all[0].NEVRA })
}

// parallel reports whether several versions can be installed together, as in
// dnf's default installonlypkgs for kernels and their modules.
func (e *entry) parallel() bool {
	if e.Name == "kernel" {
		return true
	}
	return slices.ContainsFunc(e.provides, func(c Capability) bool {
		return c.Name == "installonlypkg(kernel)" || c.Name == "installonlypkg(kernel-module)" || c.Name == "installonlypkg(vm)" || c.Name == "multiversion(kernel)"
	})
}

// impossible returns why the installed packages exclude e, or "".
func (p *problem) impossible(e *entry) (string, error) {
	for _, have := range p.system.installed(e.Name) {
		if have == e.NEVRA {
			return have.People() + " is already installed", nil
		}
		if !e.parallel() && SameColor(have.Arch, e.Arch) {
			return have.People() + " is installed and would be replaced", nil
		}
	}
	if why := p.system.excludes(e); why != "" {
		return why, nil
	}
	return "", context.Cause(p.ctx)
}
