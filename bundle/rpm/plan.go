package rpm

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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
	problems = slices.Concat(problems, n.problems(len(req.Hosts)+len(req.Assumed)), n.unavailable(req.Install))
	if len(problems) > 0 {
		return nil, &PlanError{OS: req.OS, Searched: u.names(), Problems: problems}
	}
	assumed := "assumed (profile " + profileName(req.OS) + ")"
	c := &Closure{OS: req.OS, Together: n.together, Proof: assumed, Without: n.without}
	for _, s := range u.sources {
		c.Repositories = append(c.Repositories, s.Searched)
	}
	for _, h := range req.Hosts {
		c.Hosts = append(c.Hosts, h.Host)
	}
	if len(c.Hosts) > 0 {
		c.Proof = "proven against " + strings.Join(c.Hosts, ", ")
		if len(req.Assumed) > 0 {
			c.Proof += "; " + assumed + " for " + strings.Join(req.Assumed, ", ")
		}
	}
	c.Packages, err = n.closure(ctx, len(c.Hosts)+len(req.Assumed))
	return c, err
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
		ordinal++
		if p := wanted[ordinal-1]; p != nil {
			p.primary = slices.Clone(element)
			return wellFormed(element)
		}
		return nil
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

// wellFormed refuses an element that the server's dnf could not read: readPackage is less strict.
func wellFormed(element []byte) error {
	for d := xml.NewDecoder(bytes.NewReader(element)); ; {
		if _, err := d.RawToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read package: %w", err)
		}
	}
}
