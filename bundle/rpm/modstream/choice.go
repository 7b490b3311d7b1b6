package modstream

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// group are the builds of a module's stream with the same requirements of other modules, the newest first. dnf makes
// one of the groups active, and then shows the packages of all its builds, also of builds for another platform.
type group struct {
	stream string
	key    string // of the requirements: dnf takes the first possible one
	builds []Build
}

// Choice chooses the active streams as dnf does.
type Choice struct {
	all      []Build
	os       string
	groups   map[string][]group // by module, in dnf's order
	enabled  map[string]string  // on the servers; "" is a disabled module
	defaults map[string]string
	active   map[string]group
	steps    int               // that the searches have left
	Blocked  map[string]string // why an enabled stream or a default stream is not active, by module
}

// Choose chooses the active streams on a platform. The servers have enabled a stream of some modules, or "" for a disabled one.
func Choose(builds []Build, defaults, enabled map[string]string, os string) *Choice {
	c := &Choice{all: builds, os: os, groups: groups(builds), enabled: enabled, defaults: map[string]string{}, active: map[string]group{}, steps: maxSteps, Blocked: map[string]string{}}
	for module, stream := range defaults {
		if _, known := enabled[module]; !known {
			c.defaults[module] = stream
		}
	}
	var wanted []string
	for _, module := range slices.Sorted(maps.Keys(enabled)) {
		if enabled[module] != "" {
			wanted = append(wanted, module)
		}
	}
	c.addEnabled(wanted)
	for _, module := range slices.Sorted(maps.Keys(c.defaults)) {
		if _, is := c.active[module]; is || c.Blocked[module] != "" {
			continue
		}
		if more := c.solve(c.active, []string{module}, true); more != nil {
			c.active = more
		} else {
			c.block(module)
		}
	}
	return c
}

// groups divides the builds.
func groups(builds []Build) map[string][]group {
	all := map[string][]group{}
	for _, b := range builds {
		key := b.requirements()
		i := slices.IndexFunc(all[b.Name], func(g group) bool { return g.stream == b.Stream && g.key == key })
		if i < 0 {
			i = len(all[b.Name])
			all[b.Name] = append(all[b.Name], group{stream: b.Stream, key: key})
		}
		all[b.Name][i].builds = append(all[b.Name][i].builds, b)
	}
	for _, groups := range all {
		slices.SortFunc(groups, func(a, b group) int {
			return cmp.Or(strings.Compare(a.stream, b.stream), strings.Compare(a.key, b.key))
		})
		for _, g := range groups {
			slices.SortStableFunc(g.builds, func(a, b Build) int { return cmp.Compare(b.Version, a.Version) })
		}
	}
	return all
}

// requirements is the text of the required streams, without those of the platform.
func (b Build) requirements() string {
	var all []string
	for _, d := range b.Dependencies {
		var text strings.Builder
		for _, module := range slices.Sorted(maps.Keys(d.Requires)) {
			if module != "platform" {
				fmt.Fprintf(&text, "%s:[%s]", module, strings.Join(slices.Sorted(slices.Values(d.Requires[module])), ","))
			}
		}
		all = append(all, text.String())
	}
	return strings.Join(all, ";")
}

// Builds returns the builds of the active streams, by module, the newest first.
func (c *Choice) Builds() (all []Build) {
	for _, module := range slices.Sorted(maps.Keys(c.active)) {
		all = append(all, c.active[module].builds...)
	}
	return all
}

// addEnabled adds the enabled streams. dnf uses an older build only if the newest builds are not possible together. Streams
// that contradict each other are all inactive, and so are streams that require one of them.
func (c *Choice) addEnabled(modules []string) {
	for len(modules) > 0 {
		for _, newest := range []bool{true, false} {
			if chosen := c.solve(c.active, modules, newest); chosen != nil {
				c.active = chosen
				return
			}
		}
		before := len(c.Blocked)
		for i, module := range modules {
			if c.solve(nil, []string{module}, false) == nil {
				c.block(module)
				continue
			}
			for _, other := range modules[i+1:] {
				if c.solve(nil, []string{other}, false) != nil && c.solve(nil, []string{module, other}, false) == nil {
					both := fmt.Sprintf("the module streams %s:%s and %s:%s require different streams", module, c.enabled[module], other, c.enabled[other])
					c.Blocked[module], c.Blocked[other] = both, both
				}
			}
		}
		if len(c.Blocked) == before { // three or more contradict each other
			for _, module := range modules {
				c.Blocked[module] = "the enabled module streams require different streams of other modules"
			}
		}
		modules = slices.DeleteFunc(modules, func(module string) bool { return c.Blocked[module] != "" })
	}
}

// block makes a module inactive, and the modules whose stream it excludes: dnf shows neither of them. A default stream does
// not block an enabled one, or one that comes before it.
func (c *Choice) block(module string) {
	c.Blocked[module] = c.whyNot(module)
	for _, g := range c.groups[module] {
		if g.stream != c.Wanted(module) {
			continue
		}
		for _, requires := range g.builds[0].requires(c.os) {
			for other, allowed := range requires {
				stream := c.Wanted(other)
				_, isActive := c.active[other]
				if stream != "" && !allows(allowed, stream) && !isActive && c.Blocked[other] == "" && (c.enabled[module] != "" || c.enabled[other] == "") {
					c.Blocked[other] = fmt.Sprintf("the module streams %s:%s and %s:%s exclude each other", module, c.Wanted(module), other, stream)
				}
			}
		}
	}
}

// solve returns the streams in have, with those of the modules and of their requirements; nil if this is not possible. A
// default stream gives way to a requirement only if nothing else is possible.
func (c *Choice) solve(have map[string]group, modules []string, newest bool) map[string]group {
	var wants []want
	for _, module := range modules {
		wants = append(wants, want{module, []string{c.Wanted(module)}, newest})
	}
	for _, keepDefaults := range []bool{true, false} {
		chosen := map[string]group{}
		maps.Copy(chosen, have)
		if (&search{c, keepDefaults}).satisfy(chosen, wants) {
			return chosen
		}
	}
	return nil
}

// Wanted is the enabled or default stream of a module.
func (c *Choice) Wanted(module string) string {
	return cmp.Or(c.enabled[module], c.defaults[module])
}

// whyNot says why the wanted stream of a module is not active.
func (c *Choice) whyNot(module string) string {
	return c.reason(module, []string{c.Wanted(module)}, maxChain)
}

// maxChain is the length of a chain of requirements that a reason follows.
const maxChain = 20

// reason says why none of these streams is possible. It follows the requirements of their newest builds.
func (c *Choice) reason(module string, allowed []string, depth int) string {
	for _, g := range c.groups[module] {
		if !allows(allowed, g.stream) {
			continue
		}
		for _, requires := range g.builds[0].requires(c.os) {
			for _, other := range slices.Sorted(maps.Keys(requires)) {
				if unmet := c.unmet(module+":"+g.stream, other, requires[other], depth); unmet != "" {
					return unmet
				}
			}
		}
	}
	return c.unknown(module, strings.Join(allowed, " or "))
}

// unmet says why no stream of a required module is possible; "" if one may be.
func (c *Choice) unmet(by, other string, allowed []string, depth int) string {
	stream, known := c.enabled[other]
	switch {
	case c.Blocked[other] != "":
		return c.Blocked[other]
	case known && stream == "":
		return fmt.Sprintf("%s requires the module %s, which is disabled", by, other)
	case known && !allows(allowed, stream):
		return fmt.Sprintf("%s requires another stream of the module %s than %s", by, other, stream)
	}
	if depth == 0 || (&search{c, false}).satisfy(map[string]group{}, []want{{module: other, allowed: allowed}}) {
		return ""
	}
	return c.reason(other, allowed, depth-1)
}

// allows reports whether a requirement accepts a stream. An empty list is any stream, and a stream after a dash is excluded.
func allows(allowed []string, stream string) bool {
	if len(allowed) == 0 || strings.HasPrefix(allowed[0], "-") {
		return !slices.Contains(allowed, "-"+stream)
	}
	return slices.Contains(allowed, stream)
}

// requires returns the required streams of other modules, by module, one map for each alternative that accepts the platform.
func (b Build) requires(os string) []map[string][]string {
	if len(b.Dependencies) == 0 {
		return []map[string][]string{nil}
	}
	var all []map[string][]string
	for _, d := range b.Dependencies {
		if platform, has := d.Requires["platform"]; !has || allows(platform, os) {
			others := maps.Clone(d.Requires)
			delete(others, "platform")
			all = append(all, others)
		}
	}
	return all
}

// unknown describes a stream without a possible build.
func (c *Choice) unknown(module, stream string) string {
	var available []string
	for _, b := range c.all {
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
