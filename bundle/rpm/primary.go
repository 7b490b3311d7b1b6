package rpm

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// entry is one package of primary metadata.
type entry struct {
	nevra.NEVRA
	source    *source
	checksum  checksum
	url       string
	size      int64
	provides  []Capability
	requires  []expression
	conflicts []expression
	obsoletes []Capability
	// weak dependencies, used only to choose between alternatives
	recommends, suggests []Capability
	files                []string // the files in primary; filelists has all
	license              string   // from the vendor
	built                int64    // time of the package file, seconds since 1970
	ordinal              int      // index of the element in primary
	kept                 *Kept    // of an earlier bundle; nil: the element is in primary
}

// xmlPackage has the needed fields of the element.
type xmlPackage struct {
	XMLName xml.Name `xml:"package"`
	Name    string   `xml:"name"`
	Arch    string   `xml:"arch"`
	Version struct {
		Epoch string `xml:"epoch,attr"`
		Ver   string `xml:"ver,attr"`
		Rel   string `xml:"rel,attr"`
	} `xml:"version"`
	Checksum checksum `xml:"checksum"`
	Time     struct {
		File int64 `xml:"file,attr"`
	} `xml:"time"`
	Size struct {
		Package int64 `xml:"package,attr"`
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
		Recommends xmlEntries `xml:"recommends"`
		Suggests   xmlEntries `xml:"suggests"`
		Files      []string   `xml:"file"`
	} `xml:"format"`
}

type xmlEntries struct {
	Entries []xmlEntry `xml:"entry"`
}

type xmlEntry struct {
	Name  string `xml:"name,attr"`
	Flags string `xml:"flags,attr"`
	Epoch string `xml:"epoch,attr"`
	Ver   string `xml:"ver,attr"`
	Rel   string `xml:"rel,attr"`
}

// readPrimary returns the packages of the architecture and of noarch.
func (s *source) readPrimary(ctx context.Context, arch string) ([]*entry, error) {
	m, err := s.metadata(ctx, "primary")
	if err != nil {
		return nil, err
	}
	s.primary = m
	var entries []*entry
	ordinal, known, relations := -1, words{}, 0
	err = m.each(ctx, func(element []byte) error {
		ordinal++
		e, err := parseKnown(element, known)
		if err != nil {
			return err
		}
		if relations += e.relations(); relations > maxRelations {
			return fmt.Errorf("it has more than %d relations and files: %w", maxRelations, errTooLarge)
		}
		if e.Arch == arch || e.Arch == "noarch" {
			e.source, e.ordinal = s, ordinal
			entries = append(entries, e)
		}
		return ctx.Err()
	})
	return entries, err
}

// maxRelations limits what stays in memory of one repository: a gigabyte. Fedora's largest has a
// third of it.
const maxRelations = 10_000_000

func (e *entry) relations() int {
	return 1 + len(e.provides) + len(e.requires) + len(e.conflicts) + len(e.obsoletes) + len(e.recommends) + len(e.suggests) + len(e.files)
}

// parsePackage reads one <package> element of primary metadata.
func parsePackage(element []byte) (*entry, error) { return parseKnown(element, words{}) }

// parseKnown is parsePackage with the names and versions of packages before.
func parseKnown(element []byte, known words) (*entry, error) {
	x, err := readPackage(element, known)
	if err != nil {
		return nil, fmt.Errorf("read package: %w", err)
	}
	evr, err := nevra.EVROf(x.Version.Epoch, x.Version.Ver, x.Version.Rel)
	e := &entry{NEVRA: nevra.NEVRA{Name: x.Name, EVR: evr, Arch: x.Arch}, checksum: x.Checksum, size: x.Size.Package, files: x.Format.Files, license: x.Format.License, built: x.Time.File}
	if err != nil || !e.Valid() {
		return nil, fmt.Errorf("read package %q: its name, version or architecture is not allowed", x.Name)
	}
	if e.url, err = x.url(); err != nil {
		return nil, fmt.Errorf("read package %s: %w", e, err)
	}
	for to, from := range map[*[]Capability]xmlEntries{
		&e.provides: x.Format.Provides, &e.obsoletes: x.Format.Obsoletes,
		&e.recommends: x.Format.Recommends, &e.suggests: x.Format.Suggests,
	} {
		if *to, err = from.capabilities(); err != nil {
			return nil, fmt.Errorf("read package %s: %w", e, err)
		}
	}
	for to, from := range map[*[]expression]xmlEntries{&e.requires: x.Format.Requires, &e.conflicts: x.Format.Conflicts} {
		if *to, err = from.expressions(); err != nil {
			return nil, fmt.Errorf("read package %s: %w", e, err)
		}
	}
	return e, nil
}

// url returns the location of the package: relative to its repository, or absolute if
// the metadata names another base.
func (x xmlPackage) url() (string, error) {
	if err := checkHref(x.Location.Href); err != nil {
		return "", err
	}
	if x.Location.Base == "" {
		return x.Location.Href, nil
	}
	if !isURL(x.Location.Base) {
		return "", fmt.Errorf("the base %q is not a URL", x.Location.Base)
	}
	return strings.TrimSuffix(x.Location.Base, "/") + "/" + x.Location.Href, nil
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
		evr, err := nevra.EVROf(e.Epoch, e.Ver, e.Rel)
		if err != nil {
			return nil, fmt.Errorf("capability %q: %w", e.Name, err)
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
	var all []expression
	for _, c := range capabilities {
		if strings.HasPrefix(c.Name, "rpmlib(") {
			continue
		}
		all = append(all, parseExpression(c))
	}
	return all, nil
}
