package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Frozen is a pattern by which dnf is told to leave packages alone.
type Frozen struct {
	Pattern string `yaml:"pattern" json:"pattern"`
	File    string `yaml:"file" json:"file"`
}

const (
	versionLocks = "etc/dnf/plugins/versionlock.list"
	repositories = "etc/yum.repos.d"
)

// readFrozen reads exclude lines of dnf's configuration and repositories, and the list
// of the versionlock plugin, but for what airgap has locked itself.
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

// excludes reads exclude=, excludepkgs= and exclude_packages=: words or commas between
// the patterns, and lines that begin with space go on.
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

// lockedNames reads versionlock's lines, NAME-EPOCH:VERSION-RELEASE.*, with "!" in front
// to exclude; in the form of EL 9 and 10 as well as EL 8's EPOCH:NAME-VERSION-RELEASE.*.
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

// optionalLines are a file's lines; none when there is no such file, or a link to none.
func (r reader) optionalLines(path string) ([]string, error) {
	text, err := r.optional(path)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

var dnfFrozen = Check{
	ID: "dnf-frozen", Title: "Packages that dnf is told to leave alone", Source: "airgap: dnf reads the bundle's configuration alone, without excludes and plugins",
	Breaks: "What the site has frozen is installed anyway, since dnf is not asked with the site's configuration.",
	Needs:  []string{"frozen", "packages"}, Run: judgeFrozen,
}

// judgeFrozen warns and does not fail: nothing that is installed is changed, and the
// transaction does not stop at these lines.
func judgeFrozen(f *Facts, w *Want) Result {
	if w.Ours {
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
		return Result{Warn, "the bundle installs " + strings.Join(found, ", "), "nothing that the site excludes", "ask who excluded them, and tell that nothing installed is changed"}
	}
	return pass("none that the bundle installs")
}
