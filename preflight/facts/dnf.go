package facts

import (
	"context"
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
