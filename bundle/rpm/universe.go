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
	scanned   map[string]bool     // paths already searched in filelists
	left      map[string][]string // sentences about packages that are left out, by name and by provided name
	copies    map[copyKey][]*entry
	newest    map[archName]*entry
	offered   map[Capability][]*entry
	looked    int64 // number of capabilities that offering has compared
}

// copyKey is the file of a package, which several repositories can have.
type copyKey struct {
	nevra.NEVRA
	id string
}

type archName struct{ name, arch string }

// maxCopies limits the records of one file with different relations.
const maxCopies = 16

func newUniverse() *universe {
	return &universe{
		byName: map[string][]*entry{}, provides: map[string][]*entry{}, obsoletes: map[string][]*entry{}, files: map[string][]*entry{},
		scanned: map[string]bool{}, left: map[string][]string{},
		copies: map[copyKey][]*entry{}, newest: map[archName]*entry{}, offered: map[Capability][]*entry{},
	}
}

// readUniverse reads all repositories in parallel, and reports the errors of all. Problems are sentences about the
// requested module streams.
func readUniverse(ctx context.Context, f Fetcher, req Request) (u *universe, problems []string, err error) {
	u = newUniverse()
	u.sources = make([]*source, len(req.Repositories))
	var group sync.WaitGroup
	servers := req.targets()
	errs := make([]error, len(req.Repositories))
	for i, r := range req.Repositories {
		group.Go(func() { u.sources[i], errs[i] = readSource(ctx, f, r, req, servers) })
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
	usual := all.without(req.Plain)
	hides, why := usual.hides(active), usual.inactive(streams, req.OS, req.Arch)
	// In the order of the configuration: of equal packages, the first repository provides it.
	for _, s := range u.sources {
		for _, odd := range s.left {
			u.leave(s.Name, odd)
		}
		for _, e := range s.entries {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			if !hides(e) {
				s.Packages++
				u.add(e)
			} else if reason := why[e.String()]; reason != "" {
				u.leave(s.Name, e.odd(errors.New(reason)))
			}
		}
		s.entries, s.left = nil, nil
	}
	return u, problems, nil
}

// add adds a package, except if another repository has the same file with the same
// relations. A package with the same name and version can have other relations.
func (u *universe) add(e *entry) {
	key := copyKey{e.NEVRA, e.id()}
	if known := u.copies[key]; len(known) == maxCopies || slices.ContainsFunc(known, e.same) {
		return
	}
	u.copies[key] = append(u.copies[key], e)
	u.byName[e.Name] = append(u.byName[e.Name], e)
	for _, at := range []archName{{e.Name, e.Arch}, {e.Name, ""}} {
		if newest := u.newest[at]; newest == nil || e.Compare(newest.EVR) > 0 {
			u.newest[at] = e
		}
	}
	for _, c := range e.provides {
		file(u.provides, c.Name, e)
	}
	for _, c := range e.obsoletes {
		file(u.obsoletes, c.Name, e)
	}
	for _, path := range e.files {
		file(u.files, path, e)
	}
}

// file adds e to the list of a name, once although its metadata can have the name many times.
func file(index map[string][]*entry, name string, e *entry) {
	if list := index[name]; len(list) == 0 || list[len(list)-1] != e {
		index[name] = append(list, e)
	}
}

// successors returns the packages that obsolete a build of a name. dnf can install them
// for the name.
func (u *universe) successors(ctx context.Context, name string) []*entry {
	var all []*entry
	for _, o := range u.obsoletes[name] {
		if slices.ContainsFunc(u.byName[name], func(e *entry) bool { return ctx.Err() == nil && o.replaces(e) }) {
			all = append(all, o)
		}
	}
	return all
}

// replaces reports whether e obsoletes another package.
func (e *entry) replaces(other *entry) bool {
	return e.Name != other.Name && slices.ContainsFunc(e.obsoletes, self(other.NEVRA).satisfies)
}

// outdated reports whether a newer version of e exists.
func (u *universe) outdated(e *entry) bool {
	return u.newest[archName{e.Name, e.Arch}].Compare(e.EVR) > 0
}

// nearest returns the newest package of that name, or "".
func (u *universe) nearest(name string) string {
	if e := u.newest[archName{name, ""}]; e != nil {
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
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
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

// same reports whether two records of one file have the same relations.
func (e *entry) same(o *entry) bool {
	return slices.Equal(e.provides, o.provides) && slices.Equal(e.obsoletes, o.obsoletes) &&
		slices.Equal(e.files, o.files) && sameRelations(e.requires, o.requires) && sameRelations(e.conflicts, o.conflicts)
}

func sameRelations(a, b []expression) bool {
	return slices.EqualFunc(a, b, func(x, y expression) bool { return x.String() == y.String() })
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
			if e := u.indexed(s, id); e != nil && bytes.Contains(element, needle) {
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

// indexed returns the package of a source with a checksum, or nil if dnf hides it: it belongs to an
// inactive module stream.
func (u *universe) indexed(s *source, id string) *entry {
	e := s.byID[id]
	if e == nil {
		return nil
	}
	for _, o := range u.byName[e.Name] {
		if o.source == s && o.id() == id {
			return o
		}
	}
	return nil
}

var pkgid = regexp.MustCompile(`^<package\s[^>]*?pkgid\s*=\s*["']\s*([0-9a-fA-F]+)\s*["']`)

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
	_, err := s.read(ctx, s.filelists, func(element []byte) error {
		if id := pkgid.FindSubmatch(element); id != nil {
			return f(strings.ToLower(string(id[1])), element)
		}
		return nil
	})
	return err
}
