package rpm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plan reads the repositories and finds every package that the list needs and
// the server does not have. What is wrong with the request comes as a
// *PlanError that holds every problem.
func Plan(ctx context.Context, f Fetcher, req Request) (*Closure, error) {
	system, err := req.system()
	if err != nil {
		return nil, err
	}
	u, err := readUniverse(ctx, f, req.Repositories, req.Arch)
	if err != nil {
		return nil, err
	}
	r := newResolver(ctx, u, system)
	if err := r.resolve(req.Install); err != nil {
		return nil, err
	}
	r.conflicts(req.Installed)
	c := &Closure{OS: req.OS, Proof: system.proof()}
	for _, s := range u.sources {
		c.Repositories = append(c.Repositories, s.Searched)
	}
	if problems := r.problems.all(); len(problems) > 0 {
		return nil, &PlanError{OS: req.OS, Searched: u.names(), Problems: problems}
	}
	c.Packages, err = r.packages()
	return c, err
}

func (req Request) system() (system, error) {
	if req.Installed != nil {
		return newKnown(req.Installed), nil
	}
	return readProfile(req.OS)
}

func (u *universe) names() []string {
	var all []string
	for _, s := range u.sources {
		all = append(all, s.Name)
	}
	return all
}

// packages turns what was chosen into the closure's packages, with their
// elements of upstream's metadata.
func (r *resolver) packages() ([]Package, error) {
	byEntry := map[*entry]*Package{}
	for _, e := range r.order {
		p, err := e.pack(r.parents(e))
		if err != nil {
			return nil, err
		}
		byEntry[e] = p
	}
	for _, s := range r.universe.sources {
		if err := s.elements(r.ctx, byEntry); err != nil {
			return nil, s.wrap(err)
		}
	}
	all := make([]Package, 0, len(byEntry))
	for _, p := range slices.SortedFunc(maps.Values(byEntry), func(a, b *Package) int {
		return strings.Compare(a.String(), b.String())
	}) {
		all = append(all, *p)
	}
	return all, nil
}

func (e *entry) pack(neededBy []string) (*Package, error) {
	if e.checksum.Type != "sha256" {
		return nil, fmt.Errorf("plan package %s: its checksum is a %s, only sha256 can be locked", e, e.checksum.Type)
	}
	return &Package{
		NEVRA: e.NEVRA, Repository: e.source.Name, URL: e.from(), FileName: e.FileName(),
		Size: e.size, SHA256: e.id(), NeededBy: neededBy, built: e.built,
	}, nil
}

// elements fills in the XML elements of the packages that come from s.
func (s *source) elements(ctx context.Context, packages map[*entry]*Package) error {
	wanted := map[int]*Package{}
	for e, p := range packages {
		if e.source == s {
			wanted[e.ordinal] = p
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ordinal := 0
	err := s.primary.each(func(element []byte) error {
		if p := wanted[ordinal]; p != nil {
			p.primary = slices.Clone(element)
		}
		ordinal++
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return s.eachFilelist(ctx, func(id string, element []byte) error {
		if p := packages[s.byID[id]]; p != nil {
			p.filelists = slices.Clone(element)
		}
		return ctx.Err()
	})
}
