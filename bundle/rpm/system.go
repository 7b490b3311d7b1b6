package rpm

import (
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// system is a server: surveyed, or assumed from a profile.
type system interface {
	// providers returns the installed packages that satisfy x, a capability or a
	// set of terms.
	providers(ctx context.Context, u *universe, x expression) ([]nevra.NEVRA, error)
	// installed returns the packages of that name.
	installed(name string) []nevra.NEVRA
	// excludes says why an installed package excludes e, or "".
	excludes(e *entry) string
	// replaced reports whether an installed package obsoletes e.
	replaced(e *entry) bool
	// conditions returns the conditions of installed packages on new packages.
	conditions() []condition
	hosts() []string // none for a profile of all servers
}

// surveyed is a server with its rpm database from the facts.
type surveyed struct {
	names     []string // of the servers with exactly these packages
	packages  map[string][]nevra.NEVRA
	provides  map[string][]claim
	conflicts map[string][]claim
	obsoletes map[string][]claim
	rich      []condition
}

// condition is a rich requirement or a rich conflict of an installed package.
type condition struct {
	expression
	conflict bool
	by       nevra.NEVRA
}

// claim is a capability of an installed package.
type claim struct {
	Capability
	by nevra.NEVRA
}

func newSurveyed(in Installed) *surveyed {
	k := &surveyed{packages: map[string][]nevra.NEVRA{}, provides: map[string][]claim{}, conflicts: map[string][]claim{}, obsoletes: map[string][]claim{}}
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
				k.rich = append(k.rich, condition{x, true, p.NEVRA})
				continue
			}
			note(k.conflicts, c)
		}
		for _, c := range p.Requires {
			if x := parseExpression(c); x.op != "" {
				k.rich = append(k.rich, condition{x, false, p.NEVRA})
			}
		}
	}
	return k
}

// self is the capability that each package provides by its name.
func self(n nevra.NEVRA) Capability { return Capability{Name: n.Name, Flags: "EQ", EVR: n.EVR} }

func (k *surveyed) providers(ctx context.Context, u *universe, x expression) ([]nevra.NEVRA, error) {
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
	// The facts do not list every file. airgap assumes that an installed package
	// has the same files as its build in the repository.
	owners, err := u.offering(ctx, x.Capability)
	for _, e := range owners {
		all = append(all, k.packages[e.Name]...)
	}
	return all, err
}

func (k *surveyed) installed(name string) []nevra.NEVRA { return k.packages[name] }
func (k *surveyed) conditions() []condition             { return k.rich }
func (k *surveyed) hosts() []string                     { return k.names }

// excludes does not check the conflicts of e: they are separate clauses.
func (k *surveyed) excludes(e *entry) string {
	if c := k.obsoleter(e); c != nil {
		return c.by.People() + ", which is installed, obsoletes it"
	}
	if c := k.opponent(e); c != nil {
		return c.by.People() + ", which is installed, conflicts with " + c.String()
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

func (k *surveyed) replaced(e *entry) bool { return k.obsoleter(e) != nil }

// obsoleter returns the relation of an installed package that obsoletes e, or nil.
func (k *surveyed) obsoleter(e *entry) *claim {
	for _, c := range k.obsoletes[e.Name] {
		if c.by.Name != e.Name && self(e.NEVRA).satisfies(c.Capability) {
			return &c
		}
	}
	return nil
}

// opponent returns the relation of an installed package that conflicts with e, or nil.
func (k *surveyed) opponent(e *entry) *claim {
	for _, p := range e.provides {
		for _, c := range k.conflicts[p.Name] {
			if p.satisfies(c.Capability) {
				return &c
			}
		}
	}
	for _, file := range e.files {
		if list := k.conflicts[file]; len(list) > 0 {
			return &list[0]
		}
	}
	return nil
}

// providers assumes the entries of the profile, and everything that the
// repositories' builds of its packages provide.
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
	// If the repositories have the package, but only older builds, x is not satisfied.
	if len(all) == 0 && len(u.byName[x.Name]) == 0 && p.lists(x.Name) {
		all = append(all, nevra.NEVRA{Name: x.Name})
	}
	return all, nil
}

// installed returns names without a version, because the profile has none.
func (p *profile) installed(name string) []nevra.NEVRA {
	if p.words[name] {
		return []nevra.NEVRA{{Name: name}}
	}
	return nil
}

func (p *profile) excludes(*entry) string  { return "" }
func (p *profile) replaced(*entry) bool    { return false }
func (p *profile) conditions() []condition { return nil }
func (p *profile) hosts() []string         { return p.names }
