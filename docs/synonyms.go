package docs

import (
	_ "embed"
	"strings"
)

//go:embed synonyms.txt
var synonymLines string

// synonyms returns groups of phrases with one meaning.
func synonyms() [][]string {
	var groups [][]string
	for line := range strings.Lines(synonymLines) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			groups = append(groups, strings.Split(line, ", "))
		}
	}
	return groups
}
