package rpm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm/markup"
	"airgap.dev/airgap/internal/advice"
)

// Plan reads the repositories and resolves the packages that the servers need
// and do not have. It solves for each server separately, because a package that
// fits one may conflict on another. If the request has no solution, Plan returns
// a *PlanError with all problems.
func Plan(ctx context.Context, f Fetcher, req Request) (*Closure, error) {
	systems, err := req.systems()
	if err != nil {
		return nil, err
	}
	u, problems, err := readUniverse(ctx, f, req)
	if err != nil {
		return nil, err
	}
	n := newUnion(u, req.Locked)
	for _, s := range systems {
		if err := n.add(ctx, s, req); err != nil {
			return nil, err
		}
	}
	problems = slices.Concat(problems, n.problems(len(req.Hosts)+len(req.Assumed)), n.unavailable(req.Install), n.twice())
	if len(problems) > 0 {
		return nil, &PlanError{OS: req.OS, Searched: u.names(), Problems: problems}
	}
	assumed := "assumed (profile " + profileName(req.OS) + ")"
	c := &Closure{OS: req.OS, Together: n.together, Proof: assumed, Without: n.without}
	for _, h := range req.Hosts {
		c.Hosts = append(c.Hosts, h.Host)
	}
	if len(c.Hosts) > 0 {
		c.Proof = "proven against " + strings.Join(c.Hosts, ", ")
		if len(req.Assumed) > 0 {
			c.Proof += "; " + assumed + " for " + strings.Join(req.Assumed, ", ")
		}
	}
	if c.Packages, err = n.closure(ctx, len(c.Hosts)+len(req.Assumed)); err != nil {
		return nil, err
	}
	files, err := n.fileConflicts(ctx, systems, c.Packages)
	if len(files.problems) > 0 {
		return nil, advice.Add(&PlanError{OS: req.OS, Searched: u.names(), Problems: files.problems},
			"leave one of the two packages out of packages.install, or remove the installed one from the servers and survey them again")
	}
	if err != nil {
		return nil, err
	}
	for _, s := range u.sources {
		c.Repositories = append(c.Repositories, s.Searched)
	}
	c.Notices = files.notices
	return c, nil
}

// systems returns one system for all servers with the same packages, and the
// profile for servers without a survey.
func (req Request) systems() ([]system, error) {
	if len(req.Hosts) == 0 {
		p, err := readProfile(req.OS)
		return []system{p}, err
	}
	var all []system
	if len(req.Assumed) > 0 {
		p, err := readProfile(req.OS)
		if err != nil {
			return nil, err
		}
		p.names = req.Assumed
		all = append(all, p)
	}
	alike := map[string]*surveyed{}
	for _, h := range req.Hosts {
		var names []string
		for _, p := range h.Packages {
			names = append(names, p.String())
		}
		slices.Sort(names)
		key := strings.Join(names, "\n") + "\n" + req.Only[h.Host].String()
		if alike[key] == nil {
			alike[key] = newSurveyed(h)
			all = append(all, alike[key])
		}
		alike[key].names = append(alike[key].names, h.Host)
	}
	return all, nil
}

// only returns the additional packages of s. They are the same for all its servers.
func (req Request) only(s system) Extra {
	for _, host := range s.hosts() {
		return req.Only[host]
	}
	return Extra{}
}

func (u *universe) names() []string {
	var all []string
	for _, s := range u.sources {
		all = append(all, s.Name)
	}
	return all
}

// elements sets the XML elements of the packages from s.
func (s *source) elements(ctx context.Context, packages map[*entry]*Package) error {
	keptElements(packages)
	wanted := map[int]*Package{}
	for e, p := range packages {
		if e.source == s && e.kept == nil {
			wanted[e.ordinal] = p
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ordinal := 0
	err := s.primary.each(ctx, func(element []byte) error {
		if p := wanted[ordinal]; p != nil {
			if p.primary = slices.Clone(element); !location.Match(element) {
				return fmt.Errorf("copy the record of %s: its location has an unusual form", p)
			}
			if err := markup.WellFormed(element); err != nil {
				return fmt.Errorf("copy the record of %s: %w", p, err)
			}
		}
		ordinal++
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return s.eachFilelist(ctx, func(id string, element []byte) error {
		p := packages[s.byID[id]]
		if p == nil {
			return ctx.Err()
		}
		if err := markup.WellFormed(element); err != nil {
			s.Notices = append(s.Notices, fmt.Sprintf("the file list of %s is left out: %s%s", p.People(), visible(err.Error()), in(s.filelists.name)))
			return nil
		}
		p.filelists = slices.Clone(element)
		return ctx.Err()
	})
}
