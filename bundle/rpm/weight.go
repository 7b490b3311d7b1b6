package rpm

import "errors"

// Limits of the relations and files of a package and of a repository, as weights. kernel-debug-core of EL 9 has 21,000
// of them, and all packages of one kernel 63,000; the largest repositories keep two hundred kernels.
const (
	maxRelations = 250_000
	maxWeight    = 24_000_000
)

var errRelations = errors.New("more relations and files than allowed")

// weightOf is the weight of a relation or a file: 1, more for a long one, and for a rich relation one for each of the
// words that it can have.
func weightOf(texts ...string) int {
	n := 0
	for _, text := range texts {
		n += len(text)
	}
	if len(texts[0]) > 0 && texts[0][0] == '(' {
		return 1 + n/4
	}
	return 1 + n/64
}

func weightOfAll(texts []string) int {
	n := 0
	for _, text := range texts {
		n += weightOf(text)
	}
	return n
}

// ofPackage is the weight of a package without relations.
const ofPackage = 8

// weight is that of all relations before they are parsed, and of the texts that an entry keeps.
func (x xmlPackage) weight() int {
	f := x.Format
	n := ofPackage + weightOf(x.Name, x.Arch, x.Version.Ver, x.Version.Rel, x.Location.Href, x.Location.Base, f.License, x.Checksum.Hex)
	n += weightOfAll(f.Files)
	for _, list := range []xmlEntries{f.Provides, f.Requires, f.Conflicts, f.Obsoletes, f.Recommends, f.Suggests, f.Supplements, f.Enhances} {
		for _, e := range list.Entries {
			n += weightOf(e.Name, e.Ver, e.Rel)
		}
	}
	return n
}

func (e *recordError) weight() int {
	return ofPackage + weightOf(e.people, e.name) + weightOfAll(e.provides)
}
