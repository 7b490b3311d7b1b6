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

// modules has the module streams of repositories. dnf shows the packages of at most
// one stream per module. The formats are modulemd, version 2, and modulemd-defaults,
// version 1:
// https://github.com/fedora-modularity/libmodulemd/tree/main/yaml_specs
type modules struct {
	builds   []moduleBuild
	defaults map[string]string // stream by module
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

// readModules reads the module metadata. Most repositories have none.
func (s *source) readModules(ctx context.Context) (modules, error) {
	m, err := s.metadata(ctx, "modules")
	if errors.Is(err, errNotListed) {
		return modules{}, nil
	}
	if err != nil {
		return modules{}, err
	}
	r, err := decompress(ctx, m.name, m.data, maxModules)
	if err != nil {
		return modules{}, err
	}
	all, err := parseModules(&documents{r: r})
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

// add reads the documents that affect the available packages. It ignores others, such
// as translations.
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

// active returns the builds with the available packages: the newest build of each
// enabled stream and of the streams that it requires, then of the default streams
// of other modules, unless they require a stream that is not active. Problems
// report streams that no repository has, only for named and for required streams.
func (m modules) active(enabled map[string]string, named []string, os, arch string) (builds []moduleBuild, problems []string) {
	streams := map[string]string{"platform": os}
	var queue []string
	for _, module := range slices.Sorted(maps.Keys(enabled)) {
		streams[module] = enabled[module]
		if enabled[module] != "" {
			queue = append(queue, module)
		}
	}
	requested := len(queue) // the following entries are required by streams
	for i := 0; i < len(queue); i++ {
		b, required, ok := m.build(queue[i], streams, arch)
		if !ok {
			if name := queue[i] + ":" + streams[queue[i]]; slices.Contains(named, name) || i >= requested {
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

// build returns the newest build of a module's stream that is compatible with
// streams, and the additional streams that it requires.
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
			if more, ok := compatible(d.Requires, streams); ok {
				return b, more, true
			}
		}
	}
	return moduleBuild{}, nil, false
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

// hides returns whether dnf hides a package: it belongs to an inactive stream, or
// to no stream although an active stream has packages of its name.
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
