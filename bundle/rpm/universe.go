package rpm

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"
)

// universe is every package that the repositories offer, indexed.
type universe struct {
	sources  []*source
	byName   map[string][]*entry
	provides map[string][]*entry // by the capability's name
	files    map[string][]*entry
	scanned  map[string]bool // paths looked up in filelists
}

// readUniverse reads all repositories at once.
func readUniverse(ctx context.Context, f Fetcher, repositories []Repository, arch string) (*universe, error) {
	u := &universe{
		sources: make([]*source, len(repositories)), byName: map[string][]*entry{},
		provides: map[string][]*entry{}, files: map[string][]*entry{}, scanned: map[string]bool{},
	}
	entries := make([][]*entry, len(repositories))
	group, ctx := errgroup.WithContext(ctx)
	for i, r := range repositories {
		group.Go(func() (err error) {
			u.sources[i], entries[i], err = readSource(ctx, f, r, arch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// In the order of the configuration: the first repository wins a tie.
	for _, list := range entries {
		for _, e := range list {
			u.add(e)
		}
	}
	return u, nil
}

func (u *universe) add(e *entry) {
	for _, have := range u.byName[e.Name] {
		if have.NEVRA == e.NEVRA {
			return
		}
	}
	u.byName[e.Name] = append(u.byName[e.Name], e)
	for _, c := range e.provides {
		if list := u.provides[c.Name]; len(list) == 0 || list[len(list)-1] != e {
			u.provides[c.Name] = append(list, e)
		}
	}
	for _, path := range e.files {
		u.files[path] = append(u.files[path], e)
	}
}

// offering are the packages that have what c asks for.
func (u *universe) offering(ctx context.Context, c Capability) ([]*entry, error) {
	var all []*entry
	for _, e := range u.provides[c.Name] {
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

// scan looks path up in every file list; primary has only the likely ones.
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

// eachFilelist gives the checksum of each package and its element. A
// repository without file lists has none; they are fetched once.
func (s *source) eachFilelist(ctx context.Context, f func(id string, element []byte) error) error {
	if s.filelists.data == nil {
		m, err := s.metadata(ctx, "filelists")
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		s.filelists = m
	}
	return s.filelists.each(func(element []byte) error {
		if id := pkgid.FindSubmatch(element); id != nil {
			return f(strings.ToLower(string(id[1])), element)
		}
		return nil
	})
}
