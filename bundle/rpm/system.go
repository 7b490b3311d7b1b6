package rpm

import (
	"context"
	"fmt"
	"strings"
)

// system is the server that packages are for: known from facts, or assumed.
type system interface {
	// has reports whether something installed satisfies c.
	has(ctx context.Context, u *universe, c Capability) (bool, error)
	// installed is the package of that name, and whether there is one.
	installed(name string) (NEVRA, bool)
	proof() string
}

// known is a server whose rpm database was read.
type known struct {
	host     string
	packages map[string]NEVRA
	provides map[string][]Capability
}

func newKnown(in *Installed) *known {
	k := &known{host: in.Host, packages: map[string]NEVRA{}, provides: map[string][]Capability{}}
	for _, p := range in.Packages {
		if have, ok := k.packages[p.Name]; !ok || have.Compare(p.EVR) < 0 {
			k.packages[p.Name] = p.NEVRA
		}
		for _, c := range append(p.Provides, p.self()) {
			k.provides[c.Name] = append(k.provides[c.Name], c)
		}
	}
	return k
}

// self is the capability that every package has.
func (n NEVRA) self() Capability { return Capability{Name: n.Name, Flags: "EQ", EVR: n.EVR} }

func (k *known) has(ctx context.Context, u *universe, c Capability) (bool, error) {
	for _, p := range k.provides[c.Name] {
		if p.satisfies(c) {
			return true, nil
		}
	}
	if !strings.HasPrefix(c.Name, "/") {
		return false, nil
	}
	// Facts do not list every file. The package that has it elsewhere is
	// taken to have it here.
	owners, err := u.offering(ctx, c)
	for _, e := range owners {
		if _, ok := k.packages[e.Name]; ok {
			return true, nil
		}
	}
	return false, err
}

func (k *known) installed(name string) (NEVRA, bool) { n, ok := k.packages[name]; return n, ok }
func (k *known) proof() string                       { return "proven against " + k.host }

// has takes the profile's words for granted, and what the repositories'
// builds of its packages provide.
func (p *profile) has(ctx context.Context, u *universe, c Capability) (bool, error) {
	offering, err := u.offering(ctx, c)
	if err != nil {
		return false, err
	}
	for _, e := range offering {
		if p.words[e.Name] {
			return true, nil
		}
	}
	// Repositories that do carry the package, but not so new, know better.
	return len(u.byName[c.Name]) == 0 && p.lists(c.Name), nil
}

// installed has no version: nobody looked.
func (p *profile) installed(name string) (NEVRA, bool) { return NEVRA{Name: name}, p.words[name] }
func (p *profile) proof() string                       { return fmt.Sprintf("assumed (profile %s)", p.name) }
