package rpm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm/modstream"
	"airgap.dev/airgap/internal/nevra"
)

// join adds the modules of another repository. The first default of a module counts.
func (m *modules) join(o modules) {
	m.builds = append(m.builds, o.builds...)
	for module, stream := range o.defaults {
		if m.defaults[module] == "" {
			m.defaults[module] = stream
		}
	}
}

// streams returns the streams by module, from packages.modules and from the servers,
// which must agree. "" is a disabled module. The problems are sentences.
func (req Request) streams() (map[string]string, []string) {
	var problems []string
	streams, by := map[string]string{}, map[string]string{}
	enable := func(module, stream, who string) {
		if have, known := streams[module]; known && have != stream {
			problems = append(problems, fmt.Sprintf("%s and %s use different streams of the module %s: %s, %s; enable the same stream with dnf, or build a bundle for each of them",
				by[module], who, module, orDisabled(have), orDisabled(stream)))
			return
		}
		streams[module], by[module] = stream, who
	}
	for _, name := range req.Modules {
		module, stream, _ := strings.Cut(name, ":")
		enable(module, stream, "packages.modules")
	}
	for _, h := range req.Hosts {
		for _, module := range slices.Sorted(maps.Keys(h.Streams)) {
			enable(module, h.Streams[module], h.Host)
		}
	}
	return streams, problems
}

func orDisabled(stream string) string { return cmp.Or(stream, "disabled") }

// active returns the builds whose packages are available: of the enabled streams, of the streams that they require, and of
// default streams. Problems report named streams that are not active.
func (m modules) active(enabled map[string]string, named []string, os, arch string) (builds []modstream.Build, problems []string) {
	c := m.choose(enabled, os, arch)
	for _, module := range slices.Sorted(maps.Keys(c.Blocked)) {
		if slices.Contains(named, module+":"+enabled[module]) {
			problems = append(problems, c.Blocked[module])
		}
	}
	return c.Builds(), problems
}

// choose chooses the streams of an architecture.
func (m modules) choose(enabled map[string]string, os, arch string) *modstream.Choice {
	builds := slices.DeleteFunc(slices.Clone(m.builds), func(b modstream.Build) bool { return !usable(b.Arch, arch) && b.Arch != "" })
	return modstream.Choose(builds, m.defaults, enabled, os)
}

// inactive says why the packages of blocked streams are not available, by their NAME-EPOCH:VERSION-RELEASE.ARCH.
func (m modules) inactive(enabled map[string]string, os, arch string) map[string]string {
	why := map[string]string{}
	c := m.choose(enabled, os, arch)
	for _, b := range m.builds {
		reason := c.Blocked[b.Name]
		if reason == "" || c.Wanted(b.Name) != b.Stream {
			continue
		}
		for _, rpm := range b.Artifacts.RPMs {
			if n, err := nevra.Parse(rpm); err == nil {
				why[n.String()] = fmt.Sprintf("its module stream %s:%s is not active: %s", b.Name, b.Stream, reason)
			}
		}
	}
	return why
}

// without removes modules, so that dnf treats their packages as ordinary packages.
func (m modules) without(names []string) modules {
	m.builds = slices.DeleteFunc(slices.Clone(m.builds), func(b modstream.Build) bool { return slices.Contains(names, b.Name) })
	return m
}

// hides returns whether dnf hides a package: it belongs to an inactive stream, or to no
// stream although an active stream has a package with a name that it has or provides.
func (m modules) hides(active []modstream.Build) func(*entry) bool {
	shown, names, listed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, b := range m.builds {
		for _, rpm := range b.Artifacts.RPMs {
			listed[withEpoch(rpm)] = true
		}
	}
	for _, b := range active {
		for _, rpm := range b.Artifacts.RPMs {
			shown[withEpoch(rpm)] = true
			if n, err := nevra.Parse(rpm); err == nil && n.Arch != "src" {
				names[n.Name] = true
			}
		}
	}
	return func(e *entry) bool {
		if name := e.String(); shown[name] || listed[name] {
			return !shown[name]
		}
		return names[e.Name] || strings.Contains(e.Release, ".module") || slices.ContainsFunc(e.provides, func(c Capability) bool { return names[c.Name] })
	}
}

// withEpoch returns NAME-EPOCH:VERSION-RELEASE.ARCH of a package that can lack the epoch.
func withEpoch(rpm string) string {
	if n, err := nevra.Parse(rpm); err == nil {
		return n.String()
	}
	return rpm
}
