package rpm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// Extra has the additional packages of one server.
type Extra struct {
	By      string   // the section that requires them, for reports: "gpu"
	Install []string // as Request.Install
	// Together lists packages that must have one version: Version, or if that ends with
	// a dot, the newest version with this prefix that all of them have. "{version}" in a
	// name is replaced by the version.
	Together []string
	Version  string // "580.", "580.82.07"
}

// String is a key: it differs if the additional packages differ.
func (x Extra) String() string {
	return fmt.Sprintf("%q", []any{x.By, x.Install, x.Together, x.Version})
}

const versionPlaceholder = "{version}"

// extra returns the requested packages and the common version, or a sentence that says why no common version
// exists.
func (u *universe) extra(s system, x Extra, locked []Locked) (asks []asking, version, problem string) {
	asks = listed(x.Install, x.By)
	if len(x.Together) == 0 {
		return asks, "", ""
	}
	versions := u.commonVersions(x)
	if len(versions) == 0 {
		return nil, "", u.noCommonVersion(x)
	}
	version = versions[0]
	for _, v := range versions {
		if x.prefers(s, v, locked) {
			version = v
			break
		}
	}
	for _, name := range x.Together {
		asks = append(asks, asking{strings.ReplaceAll(name, versionPlaceholder, version) + "-" + version, x.By})
	}
	return asks, version, ""
}

// prefers reports whether the server has a package of this version, or an earlier plan
// chose it.
func (x Extra) prefers(s system, version string, locked []Locked) bool {
	is := func(n nevra.NEVRA) bool { return n.Version == version }
	return slices.ContainsFunc(x.Together, func(name string) bool {
		name = strings.ReplaceAll(name, versionPlaceholder, version)
		return slices.ContainsFunc(s.installed(name), is) ||
			slices.ContainsFunc(locked, func(l Locked) bool { return l.Name == name && is(l.NEVRA) })
	})
}

// commonVersions returns the versions that all packages have, newest first.
func (u *universe) commonVersions(x Extra) []string {
	epochs := map[string]*entry{} // an entry by version
	for _, name := range x.Together {
		for _, e := range u.byName[name] {
			if x.takes(e.Version) {
				epochs[e.Version] = e
			}
		}
	}
	maps.DeleteFunc(epochs, func(version string, _ *entry) bool { return len(u.missing(x, version)) > 0 })
	return slices.SortedFunc(maps.Keys(epochs), func(a, b string) int { return nevra.EVR{Version: b}.Compare(nevra.EVR{Version: a}) })
}

// branch reports whether any version of a branch is allowed.
func (x Extra) branch() bool { return strings.HasSuffix(x.Version, ".") }

func (x Extra) takes(version string) bool {
	return version == x.Version || x.branch() && strings.HasPrefix(version, x.Version)
}

// missing returns the names without this version.
func (u *universe) missing(x Extra, version string) []string {
	var all []string
	for _, name := range x.Together {
		name = strings.ReplaceAll(name, versionPlaceholder, version)
		if !slices.ContainsFunc(u.byName[name], func(e *entry) bool { return e.Version == version }) {
			all = append(all, name)
		}
	}
	return all
}

// noCommonVersion says why no common version exists: the missing packages of the
// best version, or the available versions.
func (u *universe) noCommonVersion(x Extra) string {
	best, missing := "", []string(nil)
	var available []string
	for _, name := range x.Together {
		for _, e := range u.byName[name] {
			if !slices.Contains(available, e.Version) {
				available = append(available, e.Version)
			}
			if !x.takes(e.Version) {
				continue
			}
			without := u.missing(x, e.Version)
			newer := nevra.EVR{Version: e.Version}.Compare(nevra.EVR{Version: best}) > 0
			if best == "" || len(without) < len(missing) || len(without) == len(missing) && newer {
				best, missing = e.Version, without
			}
		}
	}
	version := "version " + x.Version
	if x.branch() {
		version = "one version " + x.Version + "x"
	}
	request := fmt.Sprintf("%s requires %s in %s", x.By, strings.Join(x.Together, ", "), version)
	switch {
	case best != "":
		return strings.Join(append([]string{fmt.Sprintf("%s; the repositories do not have version %s of %s", request, best, strings.Join(missing, ", "))}, u.leftOfAll(missing)...), "; ")
	case len(available) > 0:
		slices.SortFunc(available, func(a, b string) int { return nevra.EVR{Version: a}.Compare(nevra.EVR{Version: b}) })
		return fmt.Sprintf("%s; the repositories have only %s", request, strings.Join(available, ", "))
	default:
		if left := u.leftOfAll(x.Together); len(left) > 0 {
			return request + "; " + strings.Join(left, "; ")
		}
		return request + "; no repository has any of them: add the repository that has them to packages.repositories"
	}
}
