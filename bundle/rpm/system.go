package rpm

import (
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// system is the server that packages are for: known from facts, or assumed.
type system interface {
	// providers are the installed packages that satisfy x, a capability or a
	// set of them.
	providers(ctx context.Context, u *universe, x expression) ([]nevra.NEVRA, error)
	// installed are the packages of that name.
	installed(name string) []nevra.NEVRA
	// against says why e does not go together with what is installed, or "".
	against(e *entry) string
	// conditions are what installed packages ask of those that may come.
	conditions() []condition
	hosts() []string // none for a profile that stands for all servers
}

// known is a server whose rpm database was read.
type known struct {
	names     []string // of the servers that have just these packages
	packages  map[string][]nevra.NEVRA
	provides  map[string][]claim
	conflicts map[string][]claim
	obsoletes map[string][]claim
	rich      []condition
}

// condition is a rich requirement of an installed package, or the opposite of
// a rich conflict.
type condition struct {
	expression
	by nevra.NEVRA
}

// claim is a capability and the installed package that has it.
type claim struct {
	Capability
	by nevra.NEVRA
}

func newKnown(in Installed) *known {
	k := &known{packages: map[string][]nevra.NEVRA{}, provides: map[string][]claim{}, conflicts: map[string][]claim{}, obsoletes: map[string][]claim{}}
	for _, p := range in.Packages {
		k.packages[p.Name] = append(k.packages[p.Name], p.NEVRA)
		note := func(claims map[string][]claim, list ...Capability) {
			for _, c := range list {
				claims[c.Name] = append(claims[c.Name], claim{c, p.NEVRA})
			}
		}
		note(k.provides, self(p.NEVRA))
		note(k.provides, p.Provides...)
		note(k.obsoletes, p.Obsoletes...)
		for _, c := range p.Conflicts {
			if x := parseExpression(c); x.op != "" {
				k.rich = append(k.rich, condition{expression{op: "not", terms: []expression{x}}, p.NEVRA})
				continue
			}
			note(k.conflicts, c)
		}
		for _, c := range p.Requires {
			if x := parseExpression(c); x.op != "" {
				k.rich = append(k.rich, condition{x, p.NEVRA})
			}
		}
	}
	return k
}

// self is what each package provides by its name.
func self(n nevra.NEVRA) Capability { return Capability{Name: n.Name, Flags: "EQ", EVR: n.EVR} }

func (k *known) providers(ctx context.Context, u *universe, x expression) ([]nevra.NEVRA, error) {
	if x.op != "" {
		return members(x, func(term expression) ([]nevra.NEVRA, error) { return k.providers(ctx, u, term) })
	}
	var all []nevra.NEVRA
	for _, c := range k.provides[x.Name] {
		if c.satisfies(x.Capability) && !slices.Contains(all, c.by) {
			all = append(all, c.by)
		}
	}
	if len(all) > 0 || !strings.HasPrefix(x.Name, "/") {
		return all, nil
	}
	// Facts do not list every file. The package that has it elsewhere is
	// taken to have it here.
	owners, err := u.offering(ctx, x.Capability)
	for _, e := range owners {
		all = append(all, k.packages[e.Name]...)
	}
	return all, err
}

func (k *known) installed(name string) []nevra.NEVRA { return k.packages[name] }
func (k *known) conditions() []condition             { return k.rich }
func (k *known) hosts() []string                     { return k.names }

// against judges by the names of what e obsoletes; that it conflicts with
// something is a clause of its own.
func (k *known) against(e *entry) string {
	for _, c := range k.obsoletes[e.Name] {
		if self(e.NEVRA).satisfies(c.Capability) {
			return c.by.People() + ", which is installed, obsoletes it"
		}
	}
	for _, p := range e.provides {
		for _, c := range k.conflicts[p.Name] {
			if p.satisfies(c.Capability) {
				return c.by.People() + ", which is installed, conflicts with " + c.String()
			}
		}
	}
	if e.parallel() {
		return ""
	}
	for _, c := range e.obsoletes {
		for _, have := range k.packages[c.Name] {
			if self(have).satisfies(c) {
				return "it obsoletes " + have.People() + ", which would be removed"
			}
		}
	}
	return ""
}

// providers takes the profile's words for granted, and what the repositories'
// builds of its packages provide.
func (p *profile) providers(ctx context.Context, u *universe, x expression) ([]nevra.NEVRA, error) {
	if x.op != "" {
		return members(x, func(term expression) ([]nevra.NEVRA, error) { return p.providers(ctx, u, term) })
	}
	offering, err := u.offering(ctx, x.Capability)
	if err != nil {
		return nil, err
	}
	var all []nevra.NEVRA
	for _, e := range offering {
		if p.words[e.Name] {
			all = append(all, nevra.NEVRA{Name: e.Name})
		}
	}
	// Repositories that do carry the package, but not so new, know better.
	if len(all) == 0 && len(u.byName[x.Name]) == 0 && p.lists(x.Name) {
		all = append(all, nevra.NEVRA{Name: x.Name})
	}
	return all, nil
}

// installed has no version: nobody looked.
func (p *profile) installed(name string) []nevra.NEVRA {
	if p.words[name] {
		return []nevra.NEVRA{{Name: name}}
	}
	return nil
}

func (p *profile) against(*entry) string   { return "" }
func (p *profile) conditions() []condition { return nil }
func (p *profile) hosts() []string         { return p.names }
