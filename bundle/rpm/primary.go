package rpm

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/bundle/rpm/markup"
	"airgap.dev/airgap/internal/nevra"
)

// entry is one package of primary metadata.
type entry struct {
	nevra.NEVRA
	source    *source
	checksum  checksum
	url       string // relative to the repository, or absolute
	base      string // attribute xml:base of the location, until it is part of url
	size      int64
	provides  []Capability
	requires  []expression
	conflicts []expression
	obsoletes []Capability
	// weak dependencies, used only to choose between alternatives
	recommends, suggests  []Capability
	supplements, enhances []expression
	files                 []string // the files in primary; filelists has all
	license               string   // from the vendor
	built                 int64    // time of the package file, seconds since 1970
	ordinal               int      // index of the element in primary
	kept                  *Kept    // of an earlier bundle; nil: the element is in primary
	weight                int      // of the memory that it needs
}

// xmlPackage has the needed fields of the element. Numbers are text: one that cannot be read concerns only its package.
type xmlPackage struct {
	XMLName xml.Name `xml:"package"`
	Type    string   `xml:"type,attr"`
	Name    string   `xml:"name"`
	Arch    string   `xml:"arch"`
	Version struct {
		Epoch string `xml:"epoch,attr"`
		Ver   string `xml:"ver,attr"`
		Rel   string `xml:"rel,attr"`
	} `xml:"version"`
	Checksum checksum `xml:"checksum"`
	Time     struct {
		File amount `xml:"file,attr"`
	} `xml:"time"`
	Size struct {
		Package amount `xml:"package,attr"`
	} `xml:"size"`
	Location struct {
		Base string `xml:"base,attr"`
		Href string `xml:"href,attr"`
	} `xml:"location"`
	Format struct {
		License   string     `xml:"license"`
		Provides  xmlEntries `xml:"provides"`
		Requires  xmlEntries `xml:"requires"`
		Conflicts xmlEntries `xml:"conflicts"`
		Obsoletes xmlEntries `xml:"obsoletes"`
		// Weak dependencies are not installed.
		Recommends  xmlEntries `xml:"recommends"`
		Suggests    xmlEntries `xml:"suggests"`
		Supplements xmlEntries `xml:"supplements"`
		Enhances    xmlEntries `xml:"enhances"`
		Files       []string   `xml:"file"`
	} `xml:"format"`
}

type xmlEntries struct {
	Entries []struct {
		Name  string `xml:"name,attr"`
		Flags string `xml:"flags,attr"`
		Epoch string `xml:"epoch,attr"`
		Ver   string `xml:"ver,attr"`
		Rel   string `xml:"rel,attr"`
	} `xml:"entry"`
}

// readPrimary returns the packages of the architecture and of noarch. It leaves out records that it cannot use.
func (s *source) readPrimary(ctx context.Context, arch string) ([]*entry, error) {
	m, err := s.metadata(ctx, "primary")
	if err != nil {
		return nil, err
	}
	s.primary = m
	var entries []*entry
	ordinal := -1
	found, err := s.read(ctx, m, func(element []byte) error {
		ordinal++
		e, err := parsePackage(element)
		if err == nil {
			err = s.accept(e)
		}
		odd, is := errors.AsType[*recordError](err)
		switch {
		case is && (odd.arch == "" || usable(odd.arch, arch)):
			odd.file = m.name
			s.leave(odd)
			s.weight += odd.weight()
		case is:
		case err != nil:
			return err
		case usable(e.Arch, arch):
			e.source, e.ordinal = s, ordinal
			entries = append(entries, e)
			s.weight += e.weight
		}
		if s.weight > maxWeight {
			return fmt.Errorf("its packages have %w (the limit is %d)", errRelations, maxWeight)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	s.leaveOther(found, m.name)
	return entries, nil
}

// accept checks what depends on the repository: the checksum and the location.
func (s *source) accept(e *entry) error {
	e.checksum = s.allow(e.checksum)
	if _, err := e.checksum.new(); err != nil {
		return e.odd(err)
	}
	return s.locate(e)
}

// usable reports whether a package of an architecture can be installed on servers of arch.
func usable(of, arch string) bool { return of == arch || of == "noarch" }

// parsePackage reads one <package> element of primary metadata. Its errors are of type *recordError.
func parsePackage(element []byte) (*entry, error) {
	var x xmlPackage
	if err := markup.Unmarshal(element, &x, maxRelations); err != nil {
		return nil, brokenRecord(element, err)
	}
	if prefix, is := markup.ForeignPrefix(element); is {
		return nil, x.odd(fmt.Errorf("its relations have the namespace prefix %.50q, which dnf does not read", prefix))
	}
	e, err := x.entry()
	if err != nil {
		return nil, x.odd(err)
	}
	return e, nil
}

func (x xmlPackage) entry() (*entry, error) {
	evr, err := nevra.EVROf(strings.TrimSpace(x.Version.Epoch), x.Version.Ver, x.Version.Rel)
	e := &entry{
		weight:   x.weight(),
		NEVRA:    nevra.NEVRA{Name: x.Name, EVR: evr, Arch: x.Arch},
		checksum: x.Checksum, size: int64(x.Size.Package), built: x.Time.File.past(),
		files: x.Format.Files, license: x.Format.License,
	}
	switch {
	case x.Type != "" && x.Type != "rpm":
		return nil, fmt.Errorf("it is a record of type %.50q", x.Type)
	case err != nil:
		return nil, err
	case !e.Valid():
		return nil, errors.New("its name, version or architecture has characters that are not allowed")
	case e.size <= 0:
		return nil, errors.New("its size is not known")
	}
	if e.url, err = relative(x.Location.Href); err != nil {
		return nil, err
	}
	e.base = x.Location.Base
	return e, x.relations(e)
}

func (x xmlPackage) relations(e *entry) (err error) {
	f := x.Format
	if e.weight > maxRelations {
		return fmt.Errorf("it has %w (the limit is %d)", errRelations, maxRelations)
	}
	for _, list := range []struct {
		to   *[]Capability
		from xmlEntries
	}{{&e.provides, f.Provides}, {&e.obsoletes, f.Obsoletes}, {&e.recommends, f.Recommends}, {&e.suggests, f.Suggests}} {
		if *list.to, err = list.from.capabilities(); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		to   *[]expression
		from xmlEntries
	}{{&e.requires, f.Requires}, {&e.conflicts, f.Conflicts}, {&e.supplements, f.Supplements}, {&e.enhances, f.Enhances}} {
		if *list.to, err = list.from.expressions(); err != nil {
			return err
		}
	}
	return nil
}

// id returns the checksum, which is the package's ID in other metadata files.
func (e *entry) id() string { return strings.ToLower(strings.TrimSpace(e.checksum.Hex)) }

// from returns the absolute URL of the package.
func (e *entry) from() string {
	if isURL(e.url) {
		return e.url
	}
	return e.source.url(e.url)
}

// mirrors returns the package's URLs on the other mirrors.
func (e *entry) mirrors() []string {
	if isURL(e.url) {
		return nil
	}
	var all []string
	for _, base := range e.source.bases[1:] {
		all = append(all, below(base, e.url))
	}
	return all
}

func (x xmlEntries) capabilities() ([]Capability, error) {
	if len(x.Entries) == 0 {
		return nil, nil
	}
	all := make([]Capability, 0, len(x.Entries))
	for _, e := range x.Entries {
		if e.Name == "" {
			continue
		}
		evr, err := nevra.EVROf(e.Epoch, e.Ver, e.Rel)
		if err != nil {
			return nil, fmt.Errorf("%.100q: %w", e.Name, err)
		}
		if signOf(e.Flags) == "" || e.Ver == "" { // as in libsolv
			e.Flags, evr = "", nevra.EVR{}
		}
		all = append(all, Capability{Name: e.Name, Flags: e.Flags, EVR: evr})
	}
	return all, nil
}

// expressions returns requirements or conflicts without the features of rpm: rpm of every
// supported system has them.
func (x xmlEntries) expressions() ([]expression, error) {
	capabilities, err := x.capabilities()
	if err != nil {
		return nil, err
	}
	all := make([]expression, 0, len(capabilities))
	for _, c := range capabilities {
		if strings.HasPrefix(c.Name, "rpmlib(") {
			continue
		}
		all = append(all, parseExpression(c))
	}
	return all, nil
}
