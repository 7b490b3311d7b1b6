package rpm

import (
	"context"
	"slices"
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
	offers    map[Capability][]*entry
}

// clause is true if one of its literals is: N if package N is installed, -N if
// it is not. Better packages come first.
type clause struct {
	literals []int
	reason
}

// reason explains a clause.
type reason struct {
	kind     kind
	by       *entry     // has the requirement or conflict; nil for an entry of a list and for an installed package
	relation expression // the requirement or conflict
	other    *entry     // the package that conflicts with by
	text     string     // the entry of the list, why by is impossible, or the name of the installed package
	list     string     // the list with the entry: InstallList, or Extra.By
}

type kind int

const (
	asked     kind = iota // an entry of the list
	needs                 // by requires relation
	blocked               // the installed packages make by impossible
	conflicts             // by conflicts with other
	obsoletes             // by obsoletes other
	versions              // by and other are versions of one package
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
	p := &problem{ctx: ctx, universe: u, system: s, number: map[*entry]int{}, preferred: map[*entry]bool{}, offers: map[Capability][]*entry{}}
	for _, a := range install {
		if err := p.ask(a); err != nil {
			return nil, err
		}
	}
	later, err := p.reach()
	if err != nil {
		return nil, err
	}
	p.clauses = append(p.clauses, later...)
	p.exclude()
	return p, nil
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
			available = slices.Concat(available, p.universe.successors(want.name))
		}
		p.anyOf(a, slices.SortedStableFunc(slices.Values(available), newer))
		return nil
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
	p.anyOf(a, slices.SortedStableFunc(slices.Values(candidates), newer))
	return err
}

func (p *problem) anyOf(a asking, candidates []*entry) {
	c := clause{reason: reason{kind: asked, text: a.spec, list: a.list}}
	for _, e := range candidates {
		c.literals = append(c.literals, p.add(e))
	}
	p.clauses = append(p.clauses, c)
}

func (p *problem) add(e *entry) int {
	if p.number[e] == 0 {
		p.entries = append(p.entries, e)
		p.number[e] = len(p.entries)
	}
	return p.number[e]
}

func (p *problem) entry(literal int) *entry { return p.entries[max(literal, -literal)-1] }

// reach numbers every package that may be needed and adds its requirements. It
// returns the clauses that depend on the set of numbered packages: conditions and
// conflicts. A condition on a package without a number is never true.
func (p *problem) reach() ([]clause, error) {
	done := 0
	for {
		for ; done < len(p.entries); done++ {
			if err := p.describe(p.entries[done]); err != nil {
				return nil, err
			}
		}
		later, err := p.conditional()
		if err != nil || done == len(p.entries) {
			return later, err
		}
	}
}

// describe adds the requirements of a package, or the reason why it is impossible.
func (p *problem) describe(e *entry) error {
	why, err := p.impossible(e)
	if err != nil {
		return err
	}
	if why != "" {
		p.clauses = append(p.clauses, clause{[]int{-p.number[e]}, reason{kind: blocked, by: e, text: why}})
		return nil
	}
	for _, x := range e.requires {
		if !x.conditional() {
			more, err := p.demand(reason{kind: needs, by: e, relation: x}, x)
			if err != nil {
				return err
			}
			p.clauses = append(p.clauses, more...)
		}
	}
	return nil
}

// conditional returns the clauses of the rich requirements and the conflicts of
// numbered and of installed packages.
func (p *problem) conditional() ([]clause, error) {
	var all []clause
	demand := func(why reason, x expression) error {
		more, err := p.demand(why, x)
		all = append(all, more...)
		return err
	}
	for _, x := range p.system.conditions() {
		why, wanted := reason{kind: needs, relation: x.expression, text: x.by.Name}, x.expression
		if x.conflict {
			why.kind, wanted = conflicts, expression{op: "not", terms: []expression{wanted}}
		}
		if err := demand(why, wanted); err != nil {
			return nil, err
		}
	}
	for _, e := range slices.Clone(p.entries) {
		for _, x := range e.requires {
			if x.conditional() {
				if err := demand(reason{kind: needs, by: e, relation: x}, x); err != nil {
					return nil, err
				}
			}
		}
		for _, x := range e.conflicts {
			if err := demand(reason{kind: conflicts, by: e, relation: x}, expression{op: "not", terms: []expression{x}}); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// demand returns an expression as clauses, which are true if why.by is not taken.
// It numbers the packages of the positive literals.
func (p *problem) demand(why reason, x expression) ([]clause, error) {
	if err := why.relation.supported(); err != nil {
		if why.by == nil {
			return nil, nil // rpm checked it at installation
		}
		return []clause{{[]int{-p.number[why.by]}, reason{kind: blocked, by: why.by, text: err.Error()}}}, nil
	}
	self := why.by // a package does not conflict with itself, but it can be its own condition
	if why.kind != conflicts || why.relation.several() {
		self = nil
	}
	forms, err := p.normal(x.plain(), false, self)
	if err != nil {
		return nil, err
	}
	var all []clause
	for _, form := range forms {
		c := clause{reason: why}
		if why.by != nil {
			c.literals = append(c.literals, -p.number[why.by])
		}
		slices.SortStableFunc(form, func(a, b literal) int { return better(a.entry, b.entry, why.relation.Name) })
		for _, l := range form {
			n := p.add(l.entry)
			if l.not {
				n = -n
				c.other = l.entry
			}
			c.literals = append(c.literals, n)
		}
		if c = c.tidy(); c.literals == nil || why.by == nil && c.broken() {
			continue
		}
		all = append(all, c)
	}
	return all, nil
}

// tidy removes duplicate literals. The literals of a clause that is always true
// are nil.
func (c clause) tidy() clause {
	literals := make([]int, 0, len(c.literals))
	for _, l := range c.literals {
		if slices.Contains(literals, -l) {
			return clause{}
		}
		if !slices.Contains(literals, l) {
			literals = append(literals, l)
		}
	}
	c.literals = literals
	return c
}

// broken reports whether the clause is false if no package is chosen.
func (c clause) broken() bool {
	return !slices.ContainsFunc(c.literals, func(l int) bool { return l < 0 })
}

// exclude adds the clauses of numbered packages that exclude each other by name:
// versions of one package, and packages that obsolete another.
func (p *problem) exclude() {
	byName := map[string][]*entry{}
	for _, e := range p.entries {
		byName[e.Name] = append(byName[e.Name], e)
	}
	for _, e := range p.entries {
		for _, other := range byName[e.Name] {
			if p.number[e] < p.number[other] && (!e.parallel() || e.NEVRA == other.NEVRA) {
				p.clauses = append(p.clauses, clause{[]int{-p.number[e], -p.number[other]}, reason{kind: versions, by: e, other: other}})
			}
		}
		if e.parallel() {
			continue
		}
		for _, c := range e.obsoletes {
			for _, other := range byName[c.Name] {
				if other.Name != e.Name && self(other.NEVRA).satisfies(c) {
					p.clauses = append(p.clauses, clause{[]int{-p.number[e], -p.number[other]}, reason{kind: obsoletes, by: e, relation: expression{Capability: c}, other: other}})
				}
			}
		}
	}
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
	return "", p.ctx.Err()
}
