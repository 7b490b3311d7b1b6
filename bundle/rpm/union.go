package rpm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// union collects what several servers need from one universe.
type union struct {
	universe *universe
	locked   []Locked
	held     []*entry // the locked packages that are there in the same bytes
	packages map[*entry]*usage
	wrong    map[string][]string // problem to the hosts that have it
	order    []string            // problems as they came up
	together map[string]string   // the version of Extra.Together, by host
}

// usage is who needs a package: packages by name, and servers.
type usage struct{ by, hosts map[string]bool }

func newUnion(u *universe, locked []Locked) *union {
	n := &union{universe: u, locked: locked, packages: map[*entry]*usage{}, wrong: map[string][]string{}, together: map[string]string{}}
	for _, l := range locked {
		if e := u.exactly(l); e != nil {
			n.held = append(n.held, e)
		}
	}
	return n
}

// exactly is the package in the locked bytes, or nil.
func (u *universe) exactly(l Locked) *entry {
	for _, e := range u.byName[l.Name] {
		if e.NEVRA == l.NEVRA && e.id() == l.SHA256 {
			return e
		}
	}
	return nil
}

// gone are sentences about locked packages that others stand in for, because
// no repository has them any more. What is asked for in another version is no
// such case.
func (n *union) gone(install []string) []string {
	var all []string
	for _, l := range n.locked {
		if n.universe.exactly(l) != nil {
			continue
		}
		for e := range n.packages {
			if e.Name == l.Name && !slices.ContainsFunc(install, func(spec string) bool { return spec != e.Name && slices.Contains(n.universe.named(spec), e) }) {
				all = append(all, fmt.Sprintf("%s is locked, but no repository has it any more in the same bytes, only %s: airgap bundle --update %s takes that", l, e.People(), l.Name))
			}
		}
	}
	slices.Sort(all)
	return all
}

// add finds what a server needs, or several that are alike. Where there is a
// choice, it falls on what is locked or what other servers need already.
func (n *union) add(ctx context.Context, s system, install []string, only Extra) error {
	more, version, problem := n.universe.extra(s, only, n.locked)
	if problem != "" {
		n.note(problem, s)
		return nil
	}
	if version != "" {
		for _, host := range s.hosts() {
			n.together[host] = version
		}
	}
	p, err := newProblem(ctx, n.universe, s, append(listed(install, InstallList), more...))
	if err != nil {
		return err
	}
	for _, e := range n.held {
		p.liked[e] = true
	}
	for e := range n.packages {
		p.liked[e] = true
	}
	chosen, ok := p.solve()
	if !ok {
		for _, problem := range p.explain() {
			n.note(problem, s)
		}
		return nil
	}
	for _, e := range chosen {
		if n.packages[e] == nil {
			n.packages[e] = &usage{map[string]bool{}, map[string]bool{}}
		}
		for _, host := range s.hosts() {
			n.packages[e].hosts[host] = true
		}
	}
	for _, c := range p.clauses {
		n.credit(p, c, chosen)
	}
	return nil
}

// note keeps a problem that the servers of s have.
func (n *union) note(problem string, s system) {
	if n.wrong[problem] == nil {
		n.order = append(n.order, problem)
	}
	n.wrong[problem] = append(n.wrong[problem], s.hosts()...)
}

// credit notes by whom the packages that fulfil a clause are needed.
func (n *union) credit(p *problem, c clause, chosen []*entry) {
	var by string
	switch {
	case c.kind == asked:
		by = c.list
	case c.by == nil:
		by = c.text
	case slices.Contains(chosen, c.by):
		by = c.by.Name
	default:
		return
	}
	in := func(l int) bool { return slices.Contains(chosen, p.entry(l)) }
	if slices.ContainsFunc(c.literals, func(l int) bool { return l < 0 && !in(l) }) {
		return // a condition that did not come true
	}
	for _, l := range c.literals {
		if l > 0 && in(l) && p.entry(l).Name != by {
			n.packages[p.entry(l)].by[by] = true
		}
	}
}

// problems names the hosts of those that not all have.
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

// closure is all packages, with their elements of upstream's metadata.
func (n *union) closure(ctx context.Context, hosts int) ([]Package, error) {
	byEntry := map[*entry]*Package{}
	for e, use := range n.packages {
		p, err := e.pack()
		if err != nil {
			return nil, err
		}
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
	for _, p := range byEntry {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Package) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

func (e *entry) pack() (*Package, error) {
	if e.checksum.Type != "sha256" {
		return nil, fmt.Errorf("plan package %s: its checksum is a %s, only sha256 can be locked", e, e.checksum.Type)
	}
	return &Package{
		NEVRA: e.NEVRA, Repository: e.source.Name, URL: e.from(), Mirrors: e.mirrors(), FileName: e.FileName(),
		Size: e.size, SHA256: e.id(), License: e.license, built: e.built,
	}, nil
}
