package rpm

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variable is a variable of dnf in an address: $releasever or ${releasever}.
var variable = regexp.MustCompile(`\$(?:([A-Za-z0-9_]+)|\{([A-Za-z0-9_]+)\})`)

// addresses returns all fields that can contain variables.
func (r *Repository) addresses() []*string {
	all := []*string{&r.BaseURL, &r.MirrorList, &r.Metalink}
	for i := range r.GPGKeys {
		all = append(all, &r.GPGKeys[i])
	}
	return all
}

// Variables returns the names of dnf's variables in the addresses of the repository, sorted.
func (r Repository) Variables() []string {
	names := map[string]bool{}
	for _, address := range r.addresses() {
		for _, found := range variable.FindAllStringSubmatch(*address, -1) {
			names[found[1]+found[2]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// With returns the repository with the values of its variables. A value that would lead to another host
// is an error: it comes from a file of a server.
func (r Repository) With(values map[string]string) (Repository, error) {
	r.GPGKeys = slices.Clone(r.GPGKeys)
	for _, address := range r.addresses() {
		var bad error
		*address = variable.ReplaceAllStringFunc(*address, func(found string) string {
			name := strings.Trim(found, "${}")
			value, known := values[name]
			if !known || !plainValue.MatchString(value) {
				bad = fmt.Errorf("repository %s: $%s has no usable value: %.100q", r.Name, name, value)
			}
			return value
		})
		if bad != nil {
			return r, bad
		}
	}
	return r, nil
}

// plainValue is a value of a variable that can be a part of a path: pub/rocky, 9-stream, or nothing.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9._/+~-]*$`)
