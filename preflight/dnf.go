package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Frozen is a package pattern that the configuration of dnf excludes or locks.
type Frozen struct {
	Pattern string `yaml:"pattern" json:"pattern"`
	File    string `yaml:"file" json:"file"`
}

const (
	versionLocks = "etc/dnf/plugins/versionlock.list"
	repositories = "etc/yum.repos.d"
)

// readFrozen reads the exclude lines of dnf's configuration and repositories, and the list of
// the versionlock plugin.
func readFrozen(_ context.Context, r reader, f *Facts) error {
	files := []string{"etc/dnf/dnf.conf"}
	names, err := r.names(repositories)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".repo") {
			files = append(files, repositories+"/"+name)
		}
	}
	for _, file := range files {
		lines, err := r.optionalLines(file)
		if err != nil {
			return err
		}
		f.addFrozen(file, excludes(lines))
	}
	locks, err := r.optionalLines(versionLocks)
	if err != nil {
		return err
	}
	f.addFrozen(versionLocks, lockedNames(locks))
	return nil
}

func (f *Facts) addFrozen(file string, patterns []string) {
	for _, p := range patterns {
		if frozen := (Frozen{p, "/" + file}); !slices.Contains(f.Frozen, frozen) {
			f.Frozen = append(f.Frozen, frozen)
		}
	}
}

// excludes reads exclude= and excludepkgs=. Spaces or commas separate the patterns, and lines
// that begin with a space continue the list.
func excludes(lines []string) []string {
	var patterns []string
	inside := false
	for _, line := range lines {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		value := line
		if line[0] != ' ' && line[0] != '\t' {
			key, v, _ := strings.Cut(line, "=")
			value = v
			inside = slices.Contains([]string{"exclude", "excludepkgs"}, strings.TrimSpace(key))
		}
		if inside {
			patterns = append(patterns, strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })...)
		}
	}
	return patterns
}

// lockedNames reads the lines of versionlock: NAME-EPOCH:VERSION-RELEASE.* on EL 9 and 10,
// EPOCH:NAME-VERSION-RELEASE.* on EL 8. A "!" in front excludes the package.
func lockedNames(lines []string) []string {
	var names []string
	for _, line := range lines {
		line = strings.TrimPrefix(strings.TrimSpace(line), "!")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if epoch, rest, ok := strings.Cut(line, ":"); ok && !strings.Contains(epoch, "-") {
			line = rest
		}
		parts := strings.Split(line, "-")
		if len(parts) >= 3 {
			names = append(names, strings.Join(parts[:len(parts)-2], "-"))
		}
	}
	return names
}

// optionalLines returns a file's lines; none if the file, or the target of a link, does not exist.
func (r reader) optionalLines(path string) ([]string, error) {
	text, err := r.optional(path)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

var dnfFrozen = Check{
	ID: "dnf-frozen", Title: "dnf excludes none of the bundle's packages", Source: "airgap: dnf reads only the bundle's configuration, without excludes and plugins",
	Breaks: "airgap installs packages that the site excludes or locks, because it does not use the site's dnf configuration.",
	Needs:  []string{"frozen", "packages"}, Run: judgeFrozen,
}

// judgeFrozen warns and does not fail: airgap changes no installed package, and these lines do
// not stop the transaction.
func judgeFrozen(f *Facts, w *Want) Result {
	if w.Managed {
		return skipped("airgap has locked its own packages")
	}
	var found []string
	for _, name := range w.Packages {
		for _, frozen := range f.Frozen {
			if is, err := path.Match(frozen.Pattern, name); (err == nil && is || frozen.Pattern == name) && f.installed(name) == nil {
				found = append(found, fmt.Sprintf("%s by %s", name, frozen.File))
				break
			}
		}
	}
	if len(found) > 0 {
		return Result{Warn, "the bundle installs excluded packages: " + strings.Join(found, ", "), "no package that the site excludes", "ask the site's administrators why they are excluded; airgap changes no installed package"}
	}
	return pass("no package of the bundle is excluded")
}
