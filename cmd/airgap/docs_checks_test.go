package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/verify"
)

// factWords are the words of a language around the program's own, which stay English:
// so they are found again in what it prints.
type factWords struct {
	dir                                           string // below docs
	check, inShort, breaks, rule, holds, looksAt  string
	lookedAt, everyHost, acrossHosts, hostsOfRole string
	source, warnOnly, inFile, alone, leaveOut     string
	setting                                       string
}

func wordsOfFacts() []factWords {
	return []factWords{{
		check: "Check", inShort: "Without it", breaks: "Without it", rule: "Rule", holds: "What holds", looksAt: "Looks at",
		lookedAt: "Looked at", everyHost: "every server", acrossHosts: "between all servers", hostsOfRole: "servers with the role ROLE",
		source: "Rule from", warnOnly: "To have it only warn", inFile: "SETTING in airgap.yaml", alone: "To judge it alone",
		leaveOut: "To leave it out", setting: "Setting",
	}, {
		dir: "ko/", check: "점검 항목", inShort: "내용", breaks: "통과하지 못하면", rule: "규칙", holds: "성립해야 하는 것", looksAt: "보는 것",
		lookedAt: "보는 곳", everyHost: "모든 서버", acrossHosts: "모든 서버 사이", hostsOfRole: "역할이 ROLE인 서버",
		source: "근거", warnOnly: "경고만 하게 하려면", inFile: "airgap.yaml에 SETTING", alone: "이것만 판정하려면",
		leaveOut: "빼려면", setting: "설정",
	}}
}

// TestDocsChecks: a page for each check, written by hand, with what the table of checks
// says of it; and the lists. In each language.
func TestDocsChecks(t *testing.T) {
	for _, w := range wordsOfFacts() {
		single, between, pages := [][]string{{w.check, w.inShort}}, [][]string{{w.check, w.inShort}}, map[string]bool{}
		for _, c := range preflight.Checks() {
			page := "checks/preflight/" + c.ID + ".md"
			row := []string{"[" + c.ID + "](" + page + ")", w.short(page, c.Breaks)}
			if c.Across {
				between = append(between, row)
			} else {
				single = append(single, row)
			}
			pages[c.ID+".md"] = true
			made(t, w.dir+page, "facts", checkFacts(w, c))
			headed(t, w, page, c.ID, c.Title)
		}
		made(t, w.dir+"checks.md", "checks", markdownTable(single...))
		made(t, w.dir+"checks.md", "between", markdownTable(between...))
		noOthers(t, w.dir+"checks/preflight", pages)
	}
}

func checkFacts(w factWords, c preflight.Check) string {
	hosts := w.everyHost
	switch {
	case c.Across:
		hosts = w.acrossHosts
	case c.Role != "":
		hosts = strings.Replace(w.hostsOfRole, "ROLE", string(c.Role), 1)
	}
	rows := [][]string{
		{w.breaks, c.Breaks},
		{w.lookedAt, hosts},
		{w.source, c.Source},
		{w.warnOnly, strings.Replace(w.inFile, "SETTING", "`preflight.checks."+c.ID+".severity: warn`", 1)},
		{w.leaveOut, "`--skip " + c.ID + "`"},
	}
	for _, l := range c.Limits {
		rows = append(rows, []string{w.setting + " `" + l.Name + "` (" + string(l.Unit) + ")", l.About})
	}
	return markdownTable(append([][]string{{"", ""}}, rows...)...)
}

// short is what a list says of a page: the program's words, or the page's own heading
// where they are of another language.
func (w factWords) short(page, words string) string {
	text, err := os.ReadFile(filepath.Join(docsDir, w.dir+page))
	if w.dir == "" || err != nil { // made says what page lacks
		return words
	}
	heading, _, _ := strings.Cut(string(text), "\n")
	_, own, _ := strings.Cut(heading, ": ")
	return own
}

// TestDocsRules: a page for each rule of verify, in each language.
func TestDocsRules(t *testing.T) {
	for _, w := range wordsOfFacts() {
		list, pages := [][]string{{w.rule, w.holds, w.looksAt}}, map[string]bool{}
		for _, r := range verify.Rules(verdict.RegistriesWhole()) {
			page := "checks/verify/" + r.ID + ".md"
			list = append(list, []string{"[" + r.ID + "](" + page + ")", w.short(page, r.Title), looksAt(r)})
			pages[r.ID+".md"] = true
			made(t, w.dir+page, "facts", markdownTable([]string{"", ""}, []string{w.holds, r.Title}, []string{w.looksAt, looksAt(r)},
				[]string{w.alone, "`airgap verify --only " + r.ID + "`"}, []string{w.leaveOut, "`--skip " + r.ID + "`"}))
			headed(t, w, page, r.ID, r.Title)
		}
		made(t, w.dir+"checks.md", "rules", markdownTable(list...))
		noOthers(t, w.dir+"checks/verify", pages)
	}
}

// headed wants a page to begin with its subject's name; what is behind it the English
// page has from the program.
func headed(t *testing.T, w factWords, page, id, title string) {
	t.Helper()
	heading := "# " + id + ": "
	if w.dir == "" {
		heading += title + "\n"
	}
	if text, err := os.ReadFile(filepath.Join(docsDir, w.dir+page)); err == nil && !strings.HasPrefix(string(text), heading) {
		t.Errorf("docs/%s does not begin with %q", w.dir+page, heading)
	}
}
