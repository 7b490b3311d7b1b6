package rpm

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/ui"
)

// A profile file has one word a line: the name of a package that a minimal
// installation has, or a capability, or a pattern of capabilities.
//
//go:embed profiles
var profileFiles embed.FS

// profile is what is assumed to be there where nobody looked.
type profile struct {
	name     string
	names    []string // of the servers that it stands for, where others were surveyed
	words    map[string]bool
	patterns []string
}

func profileName(os string) string { return os + "-minimal" }

func readProfile(os string) (*profile, error) {
	p := &profile{name: profileName(os), words: map[string]bool{}}
	data, err := profileFiles.ReadFile("profiles/" + p.name)
	if err != nil {
		return nil, fmt.Errorf("find profile of %q: there are %s", os, ui.And(enterprise.Names()))
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
		// A slash is no border here: a whole path is one name.
		if ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(name, "/", "|")); ok {
			return true
		}
	}
	return false
}
