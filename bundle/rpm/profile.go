package rpm

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/ui"
)

// A profile file has one entry per line: the name of a package in a minimal
// installation, a capability, or a pattern of capabilities.
//
//go:embed profiles
var profileFiles embed.FS

// profile has the packages and capabilities that airgap assumes without a survey.
type profile struct {
	name     string
	names    []string // the servers without a survey, if others have one
	words    map[string]bool
	patterns []string
}

func profileName(os string) string { return os + "-minimal" }

func readProfile(os string) (*profile, error) {
	p := &profile{name: profileName(os), words: map[string]bool{}}
	data, err := profileFiles.ReadFile("profiles/" + p.name)
	if err != nil {
		return nil, fmt.Errorf("find the profile of %q: profiles exist for %s", os, ui.And(enterprise.Names()))
	}
	for line := range strings.Lines(string(data)) {
		word := strings.TrimSpace(line)
		switch {
		case word == "" || word[0] == '#':
		case strings.ContainsAny(word, "*?["):
			p.patterns = append(p.patterns, word)
		default:
			p.words[word] = true
		}
	}
	return p, nil
}

// lists reports whether a package or a capability of that name is assumed.
func (p *profile) lists(name string) bool {
	if p.words[name] {
		return true
	}
	for _, pattern := range p.patterns {
		// A star matches a slash too.
		if ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(name, "/", "|")); ok {
			return true
		}
	}
	return false
}
