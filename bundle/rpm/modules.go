package rpm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// active returns the builds with the available packages: of each enabled stream and of
// the streams that it requires, then of the default streams of other modules, unless they
// require a stream that is not active. The older builds of a stream are active, too.
// Problems report named streams that are not active.
func (m modules) active(enabled map[string]string, named []string, os, arch string) (builds []moduleBuild, problems []string) {
	c := m.choose(enabled, os, arch)
	for _, module := range slices.Sorted(maps.Keys(c.blocked)) {
		if slices.Contains(named, module+":"+enabled[module]) {
			problems = append(problems, c.blocked[module])
		}
	}
	return c.builds, problems
}

// streamChoice has the active builds.
type streamChoice struct {
	builds  []moduleBuild
	streams map[string]string // by module; "" is a disabled module
	blocked map[string]string // why a stream of streams is not active, by module
}

// choose blocks the enabled streams that have no build, or require a stream that has none. The others stay active.
func (m modules) choose(enabled map[string]string, os, arch string) streamChoice {
	blocked := map[string]string{}
	for {
		before := len(blocked)
		c := m.attempt(enabled, blocked, os, arch)
		if len(blocked) == before {
			m.addDefaults(&c, arch)
			return c
		}
	}
}

// attempt chooses the builds of the enabled streams that are not blocked, and of the streams that they require. It blocks the
// enabled streams for which this is not possible.
func (m modules) attempt(enabled, blocked map[string]string, os, arch string) streamChoice {
	c := streamChoice{streams: maps.Clone(enabled), blocked: blocked}
	if c.streams == nil {
		c.streams = map[string]string{}
	}
	c.streams["platform"] = os
	requires := map[string]string{} // the requiring module by required module
	var queue []string
	for _, module := range slices.Sorted(maps.Keys(enabled)) {
		if enabled[module] != "" && blocked[module] == "" {
			queue = append(queue, module)
		}
	}
	for i := 0; i < len(queue); i++ {
		module := queue[i]
		b, required, ok := m.build(module, c.streams, arch)
		why := b.blockedBy(blocked)
		if !ok {
			why = m.unknown(module, c.streams[module])
		}
		if why != "" {
			for requires[module] != "" {
				module = requires[module]
			}
			blocked[module] = why
			continue
		}
		if all := m.shown(b, c.streams); len(all) > 0 {
			c.builds = append(c.builds, all...)
		} else {
			c.builds = append(c.builds, b) // enabled: dnf uses an older build
		}
		for _, other := range slices.Sorted(maps.Keys(required)) {
			if c.streams[other] == "" {
				c.streams[other], requires[other] = required[other], module
				queue = append(queue, other)
			}
		}
	}
	return c
}

// blockedBy returns the reason if the build requires a blocked module in each of its alternatives.
func (b moduleBuild) blockedBy(blocked map[string]string) (why string) {
	for _, d := range b.Dependencies {
		why = ""
		for _, module := range slices.Sorted(maps.Keys(d.Requires)) {
			why = cmp.Or(why, blocked[module])
		}
		if why == "" {
			return ""
		}
	}
	return why
}

// addDefaults adds the builds of default streams.
func (m modules) addDefaults(c *streamChoice, arch string) {
	var byDefault []string
	for module, stream := range m.defaults {
		if _, known := c.streams[module]; !known {
			c.streams[module] = stream
			byDefault = append(byDefault, module)
		}
	}
	slices.Sort(byDefault)
	for _, module := range byDefault {
		b, required, ok := m.build(module, c.streams, arch)
		switch {
		case ok && b.blockedBy(c.blocked) != "":
			c.blocked[module] = b.blockedBy(c.blocked)
		case ok && len(required) == 0:
			c.builds = append(c.builds, m.shown(b, c.streams)...)
		case ok:
			c.blocked[module] = "it requires streams that are not active: " + strings.Join(streamNames(required), ", ")
		default:
			c.blocked[module] = m.unknown(module, c.streams[module])
		}
	}
}

// streamNames returns NAME:STREAM for each stream.
func streamNames(streams map[string]string) []string {
	var all []string
	for _, module := range slices.Sorted(maps.Keys(streams)) {
		all = append(all, module+":"+streams[module])
	}
	return all
}

// inactive says why the packages of blocked streams are not available, by their NAME-EPOCH:VERSION-RELEASE.ARCH.
func (m modules) inactive(enabled map[string]string, os, arch string) map[string]string {
	why := map[string]string{}
	c := m.choose(enabled, os, arch)
	for _, b := range m.builds {
		reason := c.blocked[b.Name]
		if reason == "" || c.streams[b.Name] != b.Stream {
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

// build returns the newest build of a module's stream that is compatible with
// streams, and the additional streams that it requires.
func (m modules) build(module string, streams map[string]string, arch string) (moduleBuild, map[string]string, bool) {
	var candidates []moduleBuild
	for _, b := range m.builds {
		if b.Name == module && b.Stream == streams[module] && (usable(b.Arch, arch) || b.Arch == "") {
			candidates = append(candidates, b)
		}
	}
	slices.SortStableFunc(candidates, func(a, b moduleBuild) int { return cmp.Compare(b.Version, a.Version) })
	for _, b := range candidates {
		if len(b.Dependencies) == 0 {
			return b, nil, true
		}
		for _, d := range b.Dependencies {
			if more, ok := compatible(d.Requires, streams); ok {
				return b, more, true
			}
		}
	}
	return moduleBuild{}, nil, false
}

// shown returns the builds of b's stream whose packages dnf shows, the newest first: all builds of each context
// whose newest build is compatible with streams. There are none if only older builds are compatible.
func (m modules) shown(b moduleBuild, streams map[string]string) []moduleBuild {
	var all []moduleBuild
	newest := map[string]moduleBuild{} // by context
	for _, o := range m.builds {
		if o.Name != b.Name || o.Stream != b.Stream || o.Arch != b.Arch {
			continue
		}
		all = append(all, o)
		if have, known := newest[o.Context]; !known || o.Version > have.Version {
			newest[o.Context] = o
		}
	}
	all = slices.DeleteFunc(all, func(o moduleBuild) bool { return !newest[o.Context].fits(streams) })
	slices.SortStableFunc(all, func(x, y moduleBuild) int { return cmp.Compare(y.Version, x.Version) })
	return all
}

// fits reports whether a build is compatible with streams.
func (b moduleBuild) fits(streams map[string]string) bool {
	for _, d := range b.Dependencies {
		if _, ok := compatible(d.Requires, streams); ok {
			return true
		}
	}
	return len(b.Dependencies) == 0
}

// compatible reports whether streams satisfy the requirements of a build, and returns
// the additional streams. A requirement lists streams by module: an empty list is any
// stream, and a stream after a dash is excluded.
func compatible(requires map[string][]string, streams map[string]string) (map[string]string, bool) {
	more := map[string]string{}
	for module, allowed := range requires {
		have := streams[module]
		switch {
		case have == "" && len(allowed) > 0 && !strings.HasPrefix(allowed[0], "-"):
			more[module] = allowed[0]
		case have == "" || len(allowed) == 0 || slices.Contains(allowed, have):
		case strings.HasPrefix(allowed[0], "-") && !slices.Contains(allowed, "-"+have):
		default:
			return nil, false
		}
	}
	return more, true
}

func (m modules) unknown(module, stream string) string {
	var available []string
	for _, b := range m.builds {
		if b.Name == module && !slices.Contains(available, b.Stream) {
			available = append(available, b.Stream)
		}
	}
	if len(available) == 0 {
		return fmt.Sprintf("the stream %s:%s is required, but no repository has the module %s", module, stream, module)
	}
	slices.Sort(available)
	return fmt.Sprintf("the stream %s:%s is required, but no repository has a compatible build of it; available streams: %s", module, stream, strings.Join(available, ", "))
}

// without removes modules, so that dnf treats their packages as ordinary packages.
func (m modules) without(names []string) modules {
	m.builds = slices.DeleteFunc(slices.Clone(m.builds), func(b moduleBuild) bool { return slices.Contains(names, b.Name) })
	return m
}

// hides returns whether dnf hides a package: it belongs to an inactive stream, or to no
// stream although an active stream has a package with a name that it has or provides.
func (m modules) hides(active []moduleBuild) func(*entry) bool {
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
