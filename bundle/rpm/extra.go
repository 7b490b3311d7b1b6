package rpm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// Extra is what one server gets beside what all get.
type Extra struct {
	By      string   // who asks for it, as reports name it: "gpu"
	Install []string // as Request.Install
	// Together are packages of one version: Version, or where that ends with a dot the
	// newest that begins with it and that all of them have. "{version}" in a name stands
	// for it.
	Together []string
	Version  string // "580.", "580.82.07"
}

// String tells servers apart that get something else.
func (x Extra) String() string {
	return fmt.Sprintf("%q", []any{x.By, x.Install, x.Together, x.Version})
}

const versionHere = "{version}"

// extra is what is asked for and the version that was found, or a sentence that says why there is no version
// that all have.
func (u *universe) extra(s system, x Extra, locked []Locked) (asks []asking, version, problem string) {
	asks = listed(x.Install, x.By)
	if len(x.Together) == 0 {
		return asks, "", ""
	}
	versions := u.common(x)
	if len(versions) == 0 {
		return nil, "", u.uncommon(x)
	}
	version = versions[0]
	for _, v := range versions {
		if x.holds(s, v, locked) {
			version = v
			break
		}
	}
	for _, name := range x.Together {
		asks = append(asks, asking{strings.ReplaceAll(name, versionHere, version) + "-" + version, x.By})
	}
	return asks, version, ""
}

// holds tells whether the server has a package in this version, or an earlier plan
// chose it.
func (x Extra) holds(s system, version string, locked []Locked) bool {
	is := func(n nevra.NEVRA) bool { return n.Version == version }
	return slices.ContainsFunc(x.Together, func(name string) bool {
		name = strings.ReplaceAll(name, versionHere, version)
		return slices.ContainsFunc(s.installed(name), is) ||
			slices.ContainsFunc(locked, func(l Locked) bool { return l.Name == name && is(l.NEVRA) })
	})
}

// common are the versions that all have, newest first.
func (u *universe) common(x Extra) []string {
	epochs := map[string]*entry{} // one of each version, for comparing
	for _, name := range x.Together {
		for _, e := range u.byName[name] {
			if x.takes(e.Version) {
				epochs[e.Version] = e
			}
		}
	}
	maps.DeleteFunc(epochs, func(version string, _ *entry) bool { return len(u.lacking(x, version)) > 0 })
	return slices.SortedFunc(maps.Keys(epochs), func(a, b string) int { return nevra.EVR{Version: b}.Compare(nevra.EVR{Version: a}) })
}

// branch tells whether any version of a branch will do.
func (x Extra) branch() bool { return strings.HasSuffix(x.Version, ".") }

func (x Extra) takes(version string) bool {
	return version == x.Version || x.branch() && strings.HasPrefix(version, x.Version)
}

// lacking are the names that are not there in this version.
func (u *universe) lacking(x Extra, version string) []string {
	var all []string
	for _, name := range x.Together {
		name = strings.ReplaceAll(name, versionHere, version)
		if !slices.ContainsFunc(u.byName[name], func(e *entry) bool { return e.Version == version }) {
			all = append(all, name)
		}
	}
	return all
}

// uncommon says what there is instead, by name, and which versions come nearest.
func (u *universe) uncommon(x Extra) string {
	best, lacking := "", []string(nil)
	var there []string
	for _, name := range x.Together {
		for _, e := range u.byName[name] {
			if !slices.Contains(there, e.Version) {
				there = append(there, e.Version)
			}
			if !x.takes(e.Version) {
				continue
			}
			less := u.lacking(x, e.Version)
			newer := nevra.EVR{Version: e.Version}.Compare(nevra.EVR{Version: best}) > 0
			if best == "" || len(less) < len(lacking) || len(less) == len(lacking) && newer {
				best, lacking = e.Version, less
			}
		}
	}
	asks := fmt.Sprintf("%s asks for %s of one version %s", x.By, strings.Join(x.Together, ", "), x.Version)
	if x.branch() {
		asks += "…"
	}
	switch {
	case best != "":
		return fmt.Sprintf("%s; of %s there is no %s", asks, best, strings.Join(lacking, ", "))
	case len(there) > 0:
		slices.SortFunc(there, func(a, b string) int { return nevra.EVR{Version: a}.Compare(nevra.EVR{Version: b}) })
		return fmt.Sprintf("%s; there are %s", asks, strings.Join(there, ", "))
	default:
		return asks + ", and no repository has any of them: name the one that does in packages.repositories"
	}
}
