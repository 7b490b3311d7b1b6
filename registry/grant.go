package registry

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/reference"
)

// grant lists the repositories to which a user may push: names below the prefixes, or without
// prefixes all names that are not reserved.
//
// It is a comment in the htpasswd file, so that both are always restored, copied and removed
// together.
type grant struct {
	limited  bool
	prefixes []string
}

// limitMark starts the comment with a user's prefixes. The user's name follows.
const limitMark = "#prefixes:"

// grant returns an error for a user who is not in the file, because a token can still be valid when its user is removed.
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

// covers compares complete components: team-a covers team-a and team-a/app, but not team-ab.
func (g grant) covers(repository string) bool {
	return !g.limited || slices.ContainsFunc(g.prefixes, func(prefix string) bool {
		return repository == prefix || strings.HasPrefix(repository, strings.TrimSuffix(prefix, "/")+"/")
	})
}

// String describes the grant in messages.
func (g grant) String() string {
	if !g.limited {
		return "names that are not reserved"
	}
	return "names below " + strings.Join(g.prefixes, ", ")
}

// limitLine returns the user's comment line. It returns none without prefixes, and for a single "".
func limitLine(name string, prefixes []string) ([]string, error) {
	if len(prefixes) == 0 || len(prefixes) == 1 && prefixes[0] == "" {
		return nil, nil
	}
	for _, prefix := range prefixes {
		first, _, _ := strings.Cut(prefix, "/")
		_, err := reference.Named(strings.TrimSuffix(prefix, "/"))
		switch {
		case err != nil || prefix != strings.ToLower(prefix):
			return nil, fmt.Errorf("prefix %q: give the start of a repository name, such as team-a/", prefix)
		case hostLike(first):
			return nil, fmt.Errorf("prefix %q: names of %s are reserved for bundles; give another prefix, such as team-a/", prefix, first)
		}
	}
	return []string{limitMark + name + ":" + strings.Join(prefixes, " ")}, nil
}

func withoutLimit(lines []string, name string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, limitMark+name+":") })
}
