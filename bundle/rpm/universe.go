package rpm

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"airgap.dev/airgap/internal/nevra"
)

// universe is an index of all packages in the repositories.
type universe struct {
	sources   []*source
	byName    map[string][]*entry
	provides  map[string][]*entry // by the capability's name
	obsoletes map[string][]*entry // by the name of the obsoleted package
	files     map[string][]*entry
	scanned   map[string]bool // paths already searched in filelists
	offered   map[Capability][]*entry
	newest    map[string]*entry // by name
	builds    map[nevra.NEVRA]bool
	looked    int64 // the capabilities that offering has compared
}

// readUniverse reads all repositories in parallel, and reports the errors of all. Problems are sentences about the
// requested module streams.
func readUniverse(ctx context.Context, f Fetcher, req Request) (u *universe, problems []string, err error) {
	u = &universe{
		sources: make([]*source, len(req.Repositories)), byName: map[string][]*entry{},
		provides: map[string][]*entry{}, files: map[string][]*entry{}, obsoletes: map[string][]*entry{}, scanned: map[string]bool{},
		offered: map[Capability][]*entry{}, newest: map[string]*entry{}, builds: map[nevra.NEVRA]bool{},
	}
	var group sync.WaitGroup
	errs := make([]error, len(req.Repositories))
	for i, r := range req.Repositories {
		group.Go(func() { u.sources[i], errs[i] = readSource(ctx, f, r, req) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for _, s := range u.sources {
		if err := s.keep(req.Kept, req.Arch); err != nil {
			return nil, nil, err
		}
	}
	all := modules{defaults: map[string]string{}}
	for _, s := range u.sources {
		all.join(s.modules)
	}
	streams, problems := req.streams()
	active, missing := all.active(streams, req.Modules, req.OS, req.Arch)
	problems = append(problems, missing...)
	hides := all.without(req.Plain).hides(active)
	// In the order of the configuration: the first repository with a build provides it.
	for _, s := range u.sources {
		for _, e := range s.entries {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			if !hides(e.NEVRA) {
				s.Packages++
				u.add(e)
			}
		}
		s.entries = nil
	}
	return u, problems, nil
}

func (u *universe) add(e *entry) {
	if u.builds[e.NEVRA] {
		return
	}
	u.builds[e.NEVRA] = true
	u.byName[e.Name] = append(u.byName[e.Name], e)
	if n := u.newest[e.Name]; n == nil || e.Compare(n.EVR) > 0 {
		u.newest[e.Name] = e
	}
	for _, c := range e.provides {
		if list := u.provides[c.Name]; len(list) == 0 || list[len(list)-1] != e {
			u.provides[c.Name] = append(list, e)
		}
	}
	for _, c := range e.obsoletes {
		u.obsoletes[c.Name] = append(u.obsoletes[c.Name], e)
	}
	for _, path := range e.files {
		u.files[path] = append(u.files[path], e)
	}
}

// named returns the packages that match NAME, NAME-VERSION or
// NAME-VERSION-RELEASE.
func (u *universe) named(spec string) []*entry {
	if list := u.byName[spec]; len(list) > 0 {
		return list
	}
	var all []*entry
	for name := spec; ; {
		dash := strings.LastIndexByte(name, '-')
		if dash < 0 {
			return all
		}
		name = name[:dash]
		for _, e := range u.byName[name] {
			if want, err := nevra.ParseEVR(spec[dash+1:]); err == nil && e.is(want) {
				all = append(all, e)
			}
		}
	}
}

func (e *entry) is(v nevra.EVR) bool {
	return e.Version == v.Version && (v.Release == "" || e.Release == v.Release || e.Release+"."+e.Arch == v.Release)
}

// successors returns the packages that obsolete e. dnf installs them for the
// name of e.
func (u *universe) successors(e *entry) []*entry {
	var all []*entry
	for _, o := range u.obsoletes[e.Name] {
		if o.Name != e.Name && slices.ContainsFunc(o.obsoletes, self(e.NEVRA).satisfies) {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *entry) int { return better(a, b, e.Name) })
	return all
}

// outdated reports whether a newer version of e exists.
func (u *universe) outdated(e *entry) bool {
	return u.newest[e.Name].Compare(e.EVR) > 0
}

// nearest returns the newest package of that name, or "".
func (u *universe) nearest(name string) string {
	if e := u.newest[name]; e != nil {
		return e.People()
	}
	return ""
}

// offering returns the packages that provide c. The caller must not change the list.
func (u *universe) offering(ctx context.Context, c Capability) ([]*entry, error) {
	if list, known := u.offered[c]; known {
		return list, nil
	}
	list, err := u.search(ctx, c)
	if err == nil {
		u.offered[c] = list
	}
	return list, err
}

func (u *universe) search(ctx context.Context, c Capability) ([]*entry, error) {
	var all []*entry
	for _, e := range u.provides[c.Name] {
		u.looked += int64(len(e.provides))
		if e.offers(c) {
			all = append(all, e)
		}
	}
	if len(all) > 0 || !strings.HasPrefix(c.Name, "/") {
		return all, nil
	}
	if len(u.files[c.Name]) == 0 && !u.scanned[c.Name] {
		if err := u.scan(ctx, c.Name); err != nil {
			return nil, err
		}
	}
	return u.files[c.Name], nil
}

func (e *entry) offers(c Capability) bool {
	for _, p := range e.provides {
		if p.satisfies(c) {
			return true
		}
	}
	return false
}

// scan searches path in all file lists, because primary does not list every file.
func (u *universe) scan(ctx context.Context, path string) error {
	u.scanned[path] = true
	var escaped bytes.Buffer
	if err := xml.EscapeText(&escaped, []byte(path)); err != nil {
		return err
	}
	needle := []byte(">" + escaped.String() + "</file>")
	for _, s := range u.sources {
		err := s.eachFilelist(ctx, func(id string, element []byte) error {
			if e := s.byID[id]; e != nil && bytes.Contains(element, needle) {
				u.files[path] = append(u.files[path], e)
			}
			return nil
		})
		if err != nil {
			return s.wrap(err)
		}
	}
	return nil
}

var pkgid = regexp.MustCompile(`^<package [^>]*pkgid="([0-9a-fA-F]+)"`)

// eachFilelist calls f with the checksum and the element of each package. It
// fetches the file lists once. A repository may have none.
func (s *source) eachFilelist(ctx context.Context, f func(id string, element []byte) error) error {
	if err := s.scanKept(ctx, f); err != nil {
		return err
	}
	if s.filelists.data == nil {
		m, err := s.metadata(ctx, "filelists")
		if errors.Is(err, errNotListed) {
			return nil
		}
		if err != nil {
			return err
		}
		s.filelists = m
	}
	return s.filelists.each(ctx, func(element []byte) error {
		if id := pkgid.FindSubmatch(element); id != nil {
			return f(strings.ToLower(string(id[1])), element)
		}
		return nil
	})
}
