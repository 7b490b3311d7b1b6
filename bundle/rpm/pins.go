package rpm

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// pin is one reading of an entry of a list. An empty field matches every value. All fields
// except the name can be patterns with *, ? and [].
type pin struct {
	name                   string
	epoch                  string // digits; "0" does not match other epochs
	version, release, arch string
}

// pins returns the readings of an entry, in the order in which dnf tries them:
// NAME-[EPOCH:]VERSION-RELEASE.ARCH, NAME.ARCH, NAME, NAME-[EPOCH:]VERSION-RELEASE,
// NAME-[EPOCH:]VERSION. A name can contain dashes and dots.
func pins(spec string) []pin {
	var all []pin
	add := func(p pin, ok bool) {
		if ok && !strings.ContainsAny(p.name, ":"+patternSigns) {
			all = append(all, p)
		}
	}
	if stem, arch, dotted := cutLast(spec, '.'); dotted && !strings.ContainsAny(arch, "-:") {
		add(versioned(stem, arch, true))
		add(pin{name: stem, arch: arch}, true)
	}
	add(pin{name: spec}, true)
	add(versioned(spec, "", true))
	add(versioned(spec, "", false))
	return all
}

// versioned reads NAME-[EPOCH:]VERSION, with a release NAME-[EPOCH:]VERSION-RELEASE.
func versioned(s, arch string, release bool) (pin, bool) {
	p := pin{arch: arch}
	var ok bool
	if release {
		if s, p.release, ok = cutLast(s, '-'); !ok {
			return pin{}, false
		}
	}
	if p.name, p.version, ok = cutLast(s, '-'); !ok {
		return pin{}, false
	}
	if epoch, version, is := strings.Cut(p.version, ":"); is {
		n, err := strconv.ParseUint(epoch, 10, 31)
		if err != nil || version == "" {
			return pin{}, false
		}
		p.epoch, p.version = strconv.FormatUint(n, 10), version
	}
	return p, !strings.Contains(p.version+p.release, ":")
}

// cutLast cuts at the last separator. Both parts are not empty.
func cutLast(s string, separator byte) (before, after string, found bool) {
	at := strings.LastIndexByte(s, separator)
	if at <= 0 || at == len(s)-1 {
		return s, "", false
	}
	return s[:at], s[at+1:], true
}

// plain reports whether the pin is only a name.
func (p pin) plain() bool { return p == pin{name: p.name} }

func (p pin) matches(n nevra.NEVRA) bool {
	return n.Name == p.name && (p.epoch == "" || p.epoch == strconv.Itoa(n.Epoch)) &&
		matchWord(p.version, n.Version) && matchWord(p.release, n.Release) && matchPattern(p.arch, n.Arch)
}

// matchWord compares versions as rpm does: 1.01 is 1.1.
func matchWord(pattern, word string) bool {
	if matchPattern(pattern, word) {
		return true
	}
	return !strings.ContainsAny(pattern, patternSigns) && nevra.EVR{Version: pattern}.Compare(nevra.EVR{Version: word}) == 0
}

const patternSigns = "*?["

func matchPattern(pattern, word string) bool {
	if pattern == "" || pattern == word {
		return true
	}
	ok, err := path.Match(pattern, word)
	return ok && err == nil
}

// pinned returns the packages that match a pin.
func (u *universe) pinned(p pin) []*entry {
	if p.plain() {
		return slices.Clip(u.byName[p.name])
	}
	var all []*entry
	for _, e := range u.byName[p.name] {
		if p.matches(e.NEVRA) {
			all = append(all, e)
		}
	}
	return all
}

// named returns the packages of the first reading of spec that has any.
func (u *universe) named(spec string) []*entry {
	for _, p := range pins(spec) {
		if all := u.pinned(p); len(all) > 0 {
			return all
		}
	}
	return nil
}

// nearestTo returns the newest package of the name in spec, or "".
func (u *universe) nearestTo(spec string) string {
	for _, p := range pins(spec) {
		if newest := u.nearest(p.name); newest != "" {
			return newest
		}
	}
	return ""
}

// present reports whether the system has a package that matches a pin, or one that replaced
// it. available are the packages that match it in the repositories: a profile knows no
// versions, so it counts only if the version exists.
func (p *problem) present(want pin, available []*entry) bool {
	for _, have := range p.system.installed(want.name) {
		if want.matches(have) || have.Version == "" && (want.plain() || len(available) > 0) {
			return true
		}
	}
	return want.plain() && slices.ContainsFunc(available, p.system.replaced)
}
