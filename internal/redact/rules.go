package redact

import (
	"bytes"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// ruleFile has the parts of gitleaks' rules that this package uses. It leaves out their entropies and
// allowlists: they avoid false alarms of source scanners, and here a missed secret costs
// more than a lost word.
type ruleFile struct {
	Rules []struct {
		ID          string   `toml:"id"`
		Regex       string   `toml:"regex"`
		Path        string   `toml:"path"`
		SecretGroup int      `toml:"secretGroup"`
		Keywords    []string `toml:"keywords"`
	} `toml:"rules"`
}

// ownForms lists the rules that this package replaces with its own patterns for lines.
func ownForms() []string {
	return []string{"generic-api-key", "private-key", "kubernetes-secret-yaml", "curl-auth-user"}
}

// rules are gitleaks' for tokens of known services. Those for files of a certain name are left
// out: a log has no name.
func rules() []pattern {
	var file ruleFile
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		panic("read gitleaks' rules: " + err.Error()) // they are compiled in
	}
	var all []pattern
	for _, r := range file.Rules {
		if r.Regex == "" || r.Path != "" || slices.Contains(ownForms(), r.ID) {
			continue
		}
		words := make([]string, len(r.Keywords))
		for i, word := range r.Keywords {
			words[i] = string(bytes.ToLower([]byte(word)))
		}
		all = append(all, pattern{
			kind: Token, words: words, unescaped: true, secret: group(r.SecretGroup),
			form: lazy(r.Regex),
		})
	}
	return all
}

// group is which group of a match is secret: the n-th, or the first that has matched.
func group(n int) func([]byte, []int) (int, int) {
	return func(_ []byte, m []int) (from, to int) {
		if n > 0 && 2*n+1 < len(m) && m[2*n] >= 0 {
			return m[2*n], m[2*n+1]
		}
		return firstGroup(nil, m)
	}
}

// firstGroup is the first group that has matched; all of it where there is none.
func firstGroup(_ []byte, m []int) (from, to int) {
	for i := 2; i+1 < len(m); i += 2 {
		if m[i] >= 0 && m[i] < m[i+1] {
			return m[i], m[i+1]
		}
	}
	return m[0], m[1]
}

// aroundForm matches text next to a token that does not belong to it: escaped line ends
// before a word, colours, and punctuation.
var aroundForm = lazy(`\\[nrt]|\x1b\[[0-9;]*m|[)<\]}]|[.,](?:\s|$)`)

// withoutEscapes has blanks for those, so that a token has the ends that gitleaks' rules want.
func withoutEscapes(line []byte) []byte {
	all := aroundForm().FindAllIndex(line, -1)
	if len(all) == 0 {
		return line
	}
	line = bytes.Clone(line)
	for _, m := range all {
		copy(line[m[0]:m[1]], bytes.Repeat([]byte(" "), m[1]-m[0]))
	}
	return line
}
