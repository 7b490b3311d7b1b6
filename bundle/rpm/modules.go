package rpm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/nevra"
)

// modules is what repositories say about module streams: sets of packages of
// which dnf shows those of one stream at most. The format is that of modulemd,
// version 2, and modulemd-defaults, version 1:
// https://github.com/fedora-modularity/libmodulemd/tree/main/yaml_specs
type modules struct {
	builds   []moduleBuild
	defaults map[string]string // module to stream
}

// moduleBuild is one build of a stream.
type moduleBuild struct {
	Name         string `yaml:"name"`
	Stream       string `yaml:"stream"`
	Version      uint64 `yaml:"version"`
	Arch         string `yaml:"arch"`
	Dependencies []struct {
		Requires map[string][]string `yaml:"requires"`
	} `yaml:"dependencies"`
	Artifacts struct {
		RPMs []string `yaml:"rpms"` // NAME-EPOCH:VERSION-RELEASE.ARCH
	} `yaml:"artifacts"`
}

type moduleDocument struct {
	Document string    `yaml:"document"`
	Version  int       `yaml:"version"`
	Data     yaml.Node `yaml:"data"`
}

// readModules reads the metadata of that kind; most repositories have none.
func (s *source) readModules(ctx context.Context) (modules, error) {
	m, err := s.metadata(ctx, "modules")
	if errors.Is(err, errNotListed) {
		return modules{}, nil
	}
	if err != nil {
		return modules{}, err
	}
	r, err := decompress(m.name, m.data, maxOpen)
	if err != nil {
		return modules{}, err
	}
	all, err := parseModules(r)
	if err != nil {
		return modules{}, fmt.Errorf("read %s: %w", m.name, err)
	}
	return all, nil
}

func parseModules(r io.Reader) (modules, error) {
	all := modules{defaults: map[string]string{}}
	documents := yaml.NewDecoder(r)
	for {
		var d moduleDocument
		if err := documents.Decode(&d); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		if err := all.add(d); err != nil {
			return all, err
		}
	}
}

// add takes the documents that decide what can be installed; translations and
// the like are left out.
func (m *modules) add(d moduleDocument) error {
	switch {
	case d.Document == "modulemd" && d.Version == 2:
		var b moduleBuild
		if err := d.Data.Decode(&b); err != nil {
			return err
		}
		m.builds = append(m.builds, b)
	case d.Document == "modulemd-defaults" && d.Version == 1:
		var b struct {
			Module string `yaml:"module"`
			Stream string `yaml:"stream"`
		}
		if err := d.Data.Decode(&b); err != nil {
			return err
		}
		if b.Stream != "" {
			m.defaults[b.Module] = b.Stream
		}
	}
	return nil
}

// join adds what another repository says; the first default wins.
func (m *modules) join(o modules) {
	m.builds = append(m.builds, o.builds...)
	for module, stream := range o.defaults {
		if m.defaults[module] == "" {
			m.defaults[module] = stream
		}
	}
}

// streams are which streams the request goes by: what packages.modules names,
// and what dnf was told on the servers, which have to agree. "" is a module that
// is disabled. The problems are sentences.
func (req Request) streams() (map[string]string, []string) {
	var problems []string
	streams, by := map[string]string{}, map[string]string{}
	enable := func(module, stream, who string) {
		if have, known := streams[module]; known && have != stream {
			problems = append(problems, fmt.Sprintf("%s and %s disagree about the module %s: %s, %s; bundle for them one by one, or have dnf enable the same stream",
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

// active are the builds whose packages can be installed: of each enabled
// stream, and of those it requires, the newest build; then of the default
// streams of other modules, unless they require one that is not there. Streams
// that no repository has are told only if they are among named.
func (m modules) active(enabled map[string]string, named []string, os, arch string) (builds []moduleBuild, problems []string) {
	streams := map[string]string{"platform": os}
	var queue []string
	for _, module := range slices.Sorted(maps.Keys(enabled)) {
		streams[module] = enabled[module]
		if enabled[module] != "" {
			queue = append(queue, module)
		}
	}
	told := len(queue) // those behind are required by streams
	for i := 0; i < len(queue); i++ {
		b, required, ok := m.build(queue[i], streams, arch)
		if !ok {
			if name := queue[i] + ":" + streams[queue[i]]; slices.Contains(named, name) || i >= told {
				problems = append(problems, m.unknown(queue[i], streams[queue[i]]))
			}
			continue
		}
		builds = append(builds, b)
		for module, stream := range required {
			if streams[module] == "" {
				streams[module] = stream
				queue = append(queue, module)
			}
		}
	}
	var byDefault []string
	for module, stream := range m.defaults {
		if _, known := streams[module]; !known {
			streams[module] = stream
			byDefault = append(byDefault, module)
		}
	}
	slices.Sort(byDefault)
	for _, module := range byDefault {
		if b, required, ok := m.build(module, streams, arch); ok && len(required) == 0 {
			builds = append(builds, b)
		}
	}
	return builds, problems
}

// build is the newest build of a module's stream that goes together with the
// streams, and which other streams it needs beside them.
func (m modules) build(module string, streams map[string]string, arch string) (moduleBuild, map[string]string, bool) {
	var candidates []moduleBuild
	for _, b := range m.builds {
		if b.Name == module && b.Stream == streams[module] && b.Arch == arch {
			candidates = append(candidates, b)
		}
	}
	slices.SortStableFunc(candidates, func(a, b moduleBuild) int { return cmp.Compare(b.Version, a.Version) })
	for _, b := range candidates {
		if len(b.Dependencies) == 0 {
			return b, nil, true
		}
		for _, d := range b.Dependencies {
			if more, ok := goTogether(d.Requires, streams); ok {
				return b, more, true
			}
		}
	}
	return moduleBuild{}, nil, false
}

// goTogether judges what a build requires: streams by module, any when none is
// named, all but one when that begins with a dash.
func goTogether(requires map[string][]string, streams map[string]string) (map[string]string, bool) {
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
	var there []string
	for _, b := range m.builds {
		if b.Name == module && !slices.Contains(there, b.Stream) {
			there = append(there, b.Stream)
		}
	}
	if len(there) == 0 {
		return fmt.Sprintf("the stream %s:%s is wanted, but no repository has the module %s", module, stream, module)
	}
	slices.Sort(there)
	return fmt.Sprintf("the stream %s:%s is wanted, and there is no fitting build of it; there are the streams %s", module, stream, strings.Join(there, ", "))
}

// without forgets modules, so that their packages are like any others.
func (m modules) without(names []string) modules {
	m.builds = slices.DeleteFunc(slices.Clone(m.builds), func(b moduleBuild) bool { return slices.Contains(names, b.Name) })
	return m
}

// hides reports whether dnf would not show a package: it belongs to a stream
// that is not active, or to none though an active one has packages of its name.
func (m modules) hides(active []moduleBuild) func(nevra.NEVRA) bool {
	shown, names, listed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, b := range m.builds {
		for _, rpm := range b.Artifacts.RPMs {
			listed[rpm] = true
		}
	}
	for _, b := range active {
		for _, rpm := range b.Artifacts.RPMs {
			shown[rpm] = true
			if n, err := nevra.Parse(rpm); err == nil && n.Arch != "src" {
				names[n.Name] = true
			}
		}
	}
	return func(n nevra.NEVRA) bool {
		if name := n.String(); shown[name] || !listed[name] {
			return !shown[name] && (names[n.Name] || strings.Contains(n.Release, ".module"))
		}
		return true
	}
}
