package main

import (
	"strings"
	"testing"

	"airgap.dev/airgap/verify/states"
)

// TestDocsJudgements: the page lists the rules for each state of an object, and for each kind as a
// whole. The words in the tables stay English, like the findings of verify.
func TestDocsJudgements(t *testing.T) {
	for _, w := range []struct{ dir, kind, owner, state, rule string }{
		{"", "Kind", "Owner", "State", "Found by"},
		{"ko/", "종류", "소유자", "상태", "찾는 규칙"},
	} {
		rows, kinds := [][]string{{w.kind, w.owner, w.state, w.rule}}, [][]string{{w.kind, w.rule}}
		for _, j := range states.All() {
			by := "none: " + j.Why
			if len(j.Rules) > 0 {
				by = strings.Join(j.Rules, ", ")
			}
			name := strings.TrimSuffix(j.Kind+"."+j.Group, ".")
			if j.State != "" {
				rows = append(rows, []string{name, j.Owner, j.State, by})
			} else {
				kinds = append(kinds, []string{name, by})
			}
		}
		made(t, w.dir+"checks.md", "states judged", markdownTable(rows...))
		made(t, w.dir+"checks.md", "kinds judged", markdownTable(kinds...))
	}
}
