package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/verify"
)

// factWords are the labels of the tables in one language. The words of the program stay English in
// every language, so that readers find them in its output.
type factWords struct {
	dir                                      string // below docs
	check, summary, impact, rule, state      string
	observes, checkedOn, everyHost           string
	acrossHosts, hostsOfRole, source         string
	warnOnly, inFile, alone, leaveOut, limit string
}

func wordsOfFacts() []factWords {
	return []factWords{{
		check: "Check", summary: "Impact", impact: "Impact", rule: "Rule", state: "Desired state", observes: "Observes",
		checkedOn: "Checked on", everyHost: "every server", acrossHosts: "between all servers", hostsOfRole: "servers with the role ROLE",
		source: "Source", warnOnly: "To only warn", inFile: "SETTING in airgap.yaml", alone: "To run it alone",
		leaveOut: "To skip it", limit: "Setting",
	}, {
		dir: "ko/", check: "점검 항목", summary: "내용", impact: "통과하지 못하면", rule: "규칙", state: "정상 상태", observes: "확인 대상",
		checkedOn: "점검 위치", everyHost: "모든 서버", acrossHosts: "모든 서버 사이", hostsOfRole: "역할이 ROLE인 서버",
		source: "근거", warnOnly: "경고만 하게 하려면", inFile: "airgap.yaml에 SETTING", alone: "이것만 실행하려면",
		leaveOut: "건너뛰려면", limit: "설정",
	}}
}

// TestDocsChecks: each check has a handwritten page with a generated table, and a row in the lists,
// in each language.
func TestDocsChecks(t *testing.T) {
	for _, w := range wordsOfFacts() {
		single, between, pages := [][]string{{w.check, w.summary}}, [][]string{{w.check, w.summary}}, map[string]bool{}
		for _, c := range preflight.Checks() {
			page := "checks/preflight/" + c.ID + ".md"
			row := []string{"[" + c.ID + "](" + page + ")", w.short(page, c.Breaks)}
			if c.CrossHost {
				between = append(between, row)
			} else {
				single = append(single, row)
			}
			pages[c.ID+".md"] = true
			made(t, w.dir+page, "facts", checkFacts(w, c))
			checkHeading(t, w, page, c.ID, c.Title)
		}
		made(t, w.dir+"checks.md", "checks", markdownTable(single...))
		made(t, w.dir+"checks.md", "between", markdownTable(between...))
		noOthers(t, w.dir+"checks/preflight", pages)
	}
}

func checkFacts(w factWords, c preflight.Check) string {
	hosts := w.everyHost
	switch {
	case c.CrossHost:
		hosts = w.acrossHosts
	case c.Role != "":
		hosts = strings.Replace(w.hostsOfRole, "ROLE", string(c.Role), 1)
	}
	rows := [][]string{
		{w.impact, c.Breaks},
		{w.checkedOn, hosts},
		{w.source, c.Source},
		{w.warnOnly, strings.Replace(w.inFile, "SETTING", "`preflight.checks."+c.ID+".severity: warn`", 1)},
		{w.leaveOut, "`--skip " + c.ID + "`"},
	}
	for _, l := range c.Limits {
		rows = append(rows, []string{w.limit + " `" + l.Name + "` (" + string(l.Unit) + ")", l.About})
	}
	return markdownTable(append([][]string{{"", ""}}, rows...)...)
}

// short returns the text of a list for a page: the text of the program, or in another language the
// heading of the page.
func (w factWords) short(page, words string) string {
	text, err := os.ReadFile(filepath.Join(docsDir, w.dir+page))
	if w.dir == "" || err != nil { // made reports the missing page
		return words
	}
	heading, _, _ := strings.Cut(string(text), "\n")
	_, own, _ := strings.Cut(heading, ": ")
	return own
}

// TestDocsRules: a page for each rule of verify, in each language.
func TestDocsRules(t *testing.T) {
	for _, w := range wordsOfFacts() {
		list, pages := [][]string{{w.rule, w.state, w.observes}}, map[string]bool{}
		for _, r := range verify.Rules(verification.Probes()...) {
			page := "checks/verify/" + r.ID + ".md"
			list = append(list, []string{"[" + r.ID + "](" + page + ")", w.short(page, r.Title), observes(r)})
			pages[r.ID+".md"] = true
			made(t, w.dir+page, "facts", markdownTable([]string{"", ""}, []string{w.state, r.Title}, []string{w.observes, observes(r)},
				[]string{w.alone, "`airgap verify --only " + r.ID + "`"}, []string{w.leaveOut, "`--skip " + r.ID + "`"}))
			checkHeading(t, w, page, r.ID, r.Title)
		}
		made(t, w.dir+"checks.md", "rules", markdownTable(list...))
		noOthers(t, w.dir+"checks/verify", pages)
	}
}

// checkHeading checks that the heading of a page begins with the ID. The rest of an English heading
// is the title in the program.
func checkHeading(t *testing.T, w factWords, page, id, title string) {
	t.Helper()
	heading := "# " + id + ": "
	if w.dir == "" {
		heading += title + "\n"
	}
	if text, err := os.ReadFile(filepath.Join(docsDir, w.dir+page)); err == nil && !strings.HasPrefix(string(text), heading) {
		t.Errorf("docs/%s does not begin with %q", w.dir+page, heading)
	}
}
