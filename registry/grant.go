package registry

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/reference"
)

// grant is what a user may push to: names below the prefixes, or, where there are none,
// every name that is not reserved.
//
// It stands in the htpasswd file itself, as a comment, so that neither is restored,
// copied or lost without the other.
type grant struct {
	limited  bool
	prefixes []string
}

// limitMark is before a user's name in the comment with the user's prefixes.
const limitMark = "#prefixes:"

// grant is an error for a user who is not in the file: a token may outlive its user.
func (u Users) grant(name string) (grant, error) {
	lines, err := u.lines()
	if err != nil {
		return grant{}, err
	}
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), name+":") }) {
		return grant{}, errCredentials
	}
	for _, line := range lines {
		if prefixes, has := strings.CutPrefix(line, limitMark+name+":"); has {
			return grant{limited: true, prefixes: strings.Fields(prefixes)}, nil
		}
	}
	return grant{}, nil
}

// covers compares whole components: team-a covers team-a and team-a/app, not team-ab.
func (g grant) covers(repository string) bool {
	return !g.limited || slices.ContainsFunc(g.prefixes, func(prefix string) bool {
		return repository == prefix || strings.HasPrefix(repository, strings.TrimSuffix(prefix, "/")+"/")
	})
}

// String is for messages.
func (g grant) String() string {
	if !g.limited {
		return "names that are not reserved"
	}
	return "names below " + strings.Join(g.prefixes, ", ")
}

// limitLine is the user's comment; none without prefixes, and for a single "".
func limitLine(name string, prefixes []string) ([]string, error) {
	if len(prefixes) == 0 || len(prefixes) == 1 && prefixes[0] == "" {
		return nil, nil
	}
	for _, prefix := range prefixes {
		first, _, _ := strings.Cut(prefix, "/")
		_, err := reference.Named(strings.TrimSuffix(prefix, "/"))
		switch {
		case err != nil || prefix != strings.ToLower(prefix):
			return nil, fmt.Errorf("prefix %q: give the beginning of a repository's name, such as team-a/", prefix)
		case hostLike(first):
			return nil, fmt.Errorf("prefix %q: names of %s are reserved for bundles; give another one, such as team-a/", prefix, first)
		}
	}
	return []string{limitMark + name + ":" + strings.Join(prefixes, " ")}, nil
}

func withoutLimit(lines []string, name string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, limitMark+name+":") })
}
