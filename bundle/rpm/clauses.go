package rpm

import (
	"context"
	"slices"
)

// problem is what a request comes to: the packages in question, each with a
// number, and clauses over them that all have to hold. What is installed stays
// as it is, so it has no numbers: it makes clauses true or packages impossible.
type problem struct {
	ctx      context.Context
	universe *universe
	system   system
	entries  []*entry // number 1 is the first
	number   map[*entry]int
	clauses  []clause
	liked    map[*entry]bool // to be preferred where there is a choice
	offers   map[Capability][]*entry
}

// clause holds if one of its literals does: number N says that package N is
// installed, -N that it is not. What is better to install comes first.
type clause struct {
	literals []int
	reason
}

// reason is why a clause is there.
type reason struct {
	kind  kind
	by    *entry     // whose requirement or conflict it is; nil for a list's entry and for what is installed
	what  expression // the requirement or conflict
	other *entry     // the package that by does not go together with
	text  string     // the list's entry, why by cannot be taken at all, or the name of what is installed
	list  string     // whose entry that is: InstallList, or Extra.By
}

type kind int

const (
	asked     kind = iota // the list names it
	needs                 // by requires what
	blocked               // by cannot be taken because of what is installed
	conflicts             // by conflicts with other
	obsoletes             // by obsoletes other
	versions              // by and other are versions of one package
)

// asking is a package that somebody's list names.
type asking struct{ spec, list string }

func listed(install []string, list string) []asking {
	var all []asking
	for _, spec := range install {
		all = append(all, asking{spec, list})
	}
	return all
}

// newProblem writes down what has to hold for everything that is asked for to be
// installed. The error is for what cannot be read.
func newProblem(ctx context.Context, u *universe, s system, install []asking) (*problem, error) {
	p := &problem{ctx: ctx, universe: u, system: s, number: map[*entry]int{}, liked: map[*entry]bool{}, offers: map[Capability][]*entry{}}
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

// ask notes that a list names a package, or, as for dnf, what packages of other
// names provide; what is installed already is there.
func (p *problem) ask(a asking) error {
	spec := a.spec
	if len(p.system.installed(spec)) > 0 {
		return nil
	}
	candidates := slices.Clone(p.universe.named(spec))
	if len(candidates) == 0 {
		return p.askFor(a)
	}
	for _, e := range candidates {
		for _, have := range p.system.installed(e.Name) {
			if have.Version == "" || have == e.NEVRA {
				return nil
			}
		}
	}
	slices.SortStableFunc(candidates, newer)
	if len(candidates) > 0 && candidates[0].Name == spec {
		candidates = append(p.universe.successors(candidates[0]), candidates...)
	}
	p.anyOf(a, candidates)
	return nil
}

// askFor asks for a capability.
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

// reach numbers every package that may be needed, with what it requires, and
// gives the clauses of what depends on which packages those are: conditions
// and conflicts. A condition on a package that nothing leads to never comes
// true, so it leads nowhere itself.
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

// describe writes down what a package requires, or why it cannot be taken.
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
			more, err := p.demand(reason{kind: needs, by: e, what: x}, x)
			if err != nil {
				return err
			}
			p.clauses = append(p.clauses, more...)
		}
	}
	return nil
}

// conditional are the clauses of rich requirements and of conflicts, of the
// numbered packages and of what is installed.
func (p *problem) conditional() ([]clause, error) {
	var all []clause
	demand := func(why reason, x expression) error {
		more, err := p.demand(why, x)
		all = append(all, more...)
		return err
	}
	for _, x := range p.system.conditions() {
		if err := demand(reason{kind: needs, what: x.expression, text: x.by.Name}, x.expression); err != nil {
			return nil, err
		}
	}
	for _, e := range slices.Clone(p.entries) {
		for _, x := range e.requires {
			if x.conditional() {
				if err := demand(reason{kind: needs, by: e, what: x}, x); err != nil {
					return nil, err
				}
			}
		}
		for _, x := range e.conflicts {
			if err := demand(reason{kind: conflicts, by: e, what: x}, expression{op: "not", terms: []expression{x}}); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// demand turns an expression into clauses that hold if why.by is not taken.
// Its positive packages are numbered.
func (p *problem) demand(why reason, x expression) ([]clause, error) {
	if err := why.what.supported(); err != nil {
		if why.by == nil {
			return nil, nil // it is installed, so rpm found it fulfilled
		}
		return []clause{{[]int{-p.number[why.by]}, reason{kind: blocked, by: why.by, text: err.Error()}}}, nil
	}
	forms, err := p.normal(x.plain(), false, why.by)
	if err != nil {
		return nil, err
	}
	var all []clause
	for _, form := range forms {
		c := clause{reason: why}
		if why.by != nil {
			c.literals = append(c.literals, -p.number[why.by])
		}
		slices.SortStableFunc(form, func(a, b literal) int { return better(a.entry, b.entry, why.what.Name) })
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

// tidy leaves out what is said twice; nil literals are a clause that holds
// whatever is chosen.
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

// broken reports whether nothing chosen leaves the clause unfulfilled.
func (c clause) broken() bool {
	return !slices.ContainsFunc(c.literals, func(l int) bool { return l < 0 })
}

// exclude notes which numbered packages do not go together by their names:
// versions of one package, and those that obsolete another.
func (p *problem) exclude() {
	byName := map[string][]*entry{}
	for _, e := range p.entries {
		byName[e.Name] = append(byName[e.Name], e)
	}
	for _, e := range p.entries {
		for _, other := range byName[e.Name] {
			if p.number[e] < p.number[other] && !e.parallel() {
				p.clauses = append(p.clauses, clause{[]int{-p.number[e], -p.number[other]}, reason{kind: versions, by: e, other: other}})
			}
		}
		if e.parallel() {
			continue
		}
		for _, c := range e.obsoletes {
			for _, other := range byName[c.Name] {
				if other.Name != e.Name && self(other.NEVRA).satisfies(c) {
					p.clauses = append(p.clauses, clause{[]int{-p.number[e], -p.number[other]}, reason{kind: obsoletes, by: e, what: expression{Capability: c}, other: other}})
				}
			}
		}
	}
}

// parallel reports whether several versions may be installed at a time, as
// dnf's default installonlypkgs has it for kernels and their modules.
func (e *entry) parallel() bool {
	if e.Name == "kernel" {
		return true
	}
	return slices.ContainsFunc(e.provides, func(c Capability) bool {
		return c.Name == "installonlypkg(kernel)" || c.Name == "installonlypkg(kernel-module)" || c.Name == "installonlypkg(vm)" || c.Name == "multiversion(kernel)"
	})
}

// impossible says why a package cannot be taken whatever else is chosen, or "".
func (p *problem) impossible(e *entry) (string, error) {
	for _, have := range p.system.installed(e.Name) {
		if have == e.NEVRA {
			return have.People() + " is installed already", nil
		}
		if !e.parallel() {
			return have.People() + " is installed and would be replaced", nil
		}
	}
	if why := p.system.against(e); why != "" {
		return why, nil
	}
	return "", p.ctx.Err()
}
