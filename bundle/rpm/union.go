package rpm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// union collects the packages that several servers need from one universe.
type union struct {
	universe *universe
	locked   []Locked
	kept     []*entry // the locked packages that are still available
	packages map[*entry]*usage
	wrong    map[string][]string // hosts by problem
	order    []string            // problems in the order of their discovery
	without  []string            // hosts without the wanted packages
	together map[string]string   // the version of Extra.Together, by host
}

// usage lists the packages and the servers that need a package.
type usage struct{ by, hosts map[string]bool }

func newUnion(u *universe, locked []Locked) *union {
	n := &union{universe: u, locked: locked, packages: map[*entry]*usage{}, wrong: map[string][]string{}, together: map[string]string{}}
	for _, l := range locked {
		if e := u.exactly(l); e != nil {
			n.kept = append(n.kept, e)
		}
	}
	return n
}

// exactly returns the package with the locked checksum, or nil.
func (u *universe) exactly(l Locked) *entry {
	if i := slices.IndexFunc(u.byName[l.Name], l.is); i >= 0 {
		return u.byName[l.Name][i]
	}
	return nil
}

// unavailable returns sentences about locked packages that are no longer in a
// repository, so that another build was chosen. It omits packages for which
// install requests another version.
func (n *union) unavailable(install []string) []string {
	var all []string
	for _, l := range n.locked {
		if n.universe.exactly(l) != nil {
			continue
		}
		for e := range n.packages {
			if e.Name == l.Name && !slices.ContainsFunc(install, func(spec string) bool { return spec != e.Name && slices.Contains(n.universe.named(spec), e) }) {
				all = append(all, fmt.Sprintf("%s is locked, but no repository has it with the locked checksum any longer; to use %s instead, run airgap bundle --update %s", l, e.People(), l.Name))
			}
		}
	}
	slices.Sort(all)
	return all
}

// add resolves the packages for one server, or for several with the same packages.
// Between alternatives it prefers locked packages and packages of other servers.
func (n *union) add(ctx context.Context, s system, req Request) error {
	more, version, problem := n.universe.extra(s, req.only(s), n.locked)
	if problem != "" {
		n.note(problem, s)
		return nil
	}
	if version != "" {
		for _, host := range s.hosts() {
			n.together[host] = version
		}
	}
	asks := append(listed(req.Install, InstallList), more...)
	with := append(slices.Clone(asks), listed(req.Wanted, WantedList)...)
	if len(req.Wanted) > 0 {
		p, err := n.problem(ctx, s, with)
		if err != nil {
			return err
		}
		chosen, ok, err := p.solve()
		if err != nil {
			return err
		}
		if ok {
			n.take(p, s, chosen)
			return nil
		}
		if n.without = append(n.without, s.hosts()...); len(s.hosts()) == 0 {
			n.without = []string{"every server"}
		}
	}
	p, err := n.problem(ctx, s, asks)
	if err != nil {
		return err
	}
	chosen, ok, err := p.solve()
	if err != nil {
		return err
	}
	if !ok {
		for _, problem := range p.explain() {
			n.note(problem, s)
		}
		return context.Cause(ctx)
	}
	n.take(p, s, chosen)
	return nil
}

// problem asks for packages on one server. It prefers the packages of an earlier plan and those of other servers.
func (n *union) problem(ctx context.Context, s system, asks []asking) (*problem, error) {
	p, err := newProblem(ctx, n.universe, s, asks)
	if err != nil {
		return nil, err
	}
	for _, e := range n.kept {
		p.preferred[e] = true
	}
	for e := range n.packages {
		p.preferred[e] = true
	}
	return p, nil
}

// take adds the chosen packages for the servers of s.
func (n *union) take(p *problem, s system, chosen []*entry) {
	for _, e := range chosen {
		if n.packages[e] == nil {
			n.packages[e] = &usage{map[string]bool{}, map[string]bool{}}
		}
		for _, host := range s.hosts() {
			n.packages[e].hosts[host] = true
		}
	}
	numbers := make([]int, 0, len(chosen))
	for _, e := range chosen {
		numbers = append(numbers, p.number[e])
	}
	for _, c := range p.only(numbers).clauses {
		n.credit(c)
	}
}

// note records a problem of the servers of s.
func (n *union) note(problem string, s system) {
	if n.wrong[problem] == nil {
		n.order = append(n.order, problem)
	}
	n.wrong[problem] = append(n.wrong[problem], s.hosts()...)
}

// twice returns sentences about packages that servers need from several repositories with
// different contents: a bundle has one file for each name and version.
func (n *union) twice() []string {
	var all []string
	first := map[string]*entry{}
	for _, e := range slices.SortedFunc(maps.Keys(n.packages), func(a, b *entry) int { return strings.Compare(a.source.Name, b.source.Name) }) {
		if other := first[e.String()]; other != nil {
			all = append(all, fmt.Sprintf("the servers need different packages %s, from the repositories %s and %s: remove one of the repositories, or build a bundle for each of the servers",
				e.People(), other.source.Name, e.source.Name))
		}
		first[e.String()] = e
	}
	slices.Sort(all)
	return all
}

// credit records which package or list needs the chosen packages that satisfy a clause.
func (n *union) credit(c clause) {
	by := c.text
	switch {
	case c.kind == asked:
		by = c.list
	case c.by != nil:
		by = c.by.Name
	}
	for _, a := range c.atoms {
		for _, e := range a.members {
			if !a.not && e.Name != by {
				n.packages[e].by[by] = true
			}
		}
	}
}

// problems returns the problems, with the hosts if not all hosts have them.
func (n *union) problems(hosts int) []string {
	var all []string
	for _, problem := range n.order {
		if have := n.wrong[problem]; len(have) < hosts {
			problem = "on " + strings.Join(have, ", ") + ": " + problem
		}
		all = append(all, problem)
	}
	return all
}

// closure returns all packages with their elements of upstream's metadata.
func (n *union) closure(ctx context.Context, hosts int) ([]Package, error) {
	byEntry := map[*entry]*Package{}
	for e, use := range n.packages {
		sum, err := n.sum256(ctx, e)
		if err != nil {
			return nil, err
		}
		p := e.pack(sum)
		p.NeededBy = slices.Sorted(maps.Keys(use.by))
		if len(use.hosts) < hosts {
			p.Hosts = slices.Sorted(maps.Keys(use.hosts))
		}
		byEntry[e] = p
	}
	for _, s := range n.universe.sources {
		if err := s.elements(ctx, byEntry); err != nil {
			return nil, s.wrap(err)
		}
	}
	all := make([]Package, 0, len(byEntry))
	for e, p := range byEntry {
		p.useSum(e.id())
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Package) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

func (e *entry) pack(sum string) *Package {
	return &Package{
		NEVRA: e.NEVRA, Repository: e.source.Name, URL: e.from(), Mirrors: e.mirrors(), FileName: e.FileName(),
		Size: e.size, SHA256: sum, License: e.license, built: e.built,
	}
}
