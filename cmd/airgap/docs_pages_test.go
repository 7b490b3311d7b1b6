package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/build"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/verify"
)

// belowFacts is the end of the table of facts. The text below it describes the check or rule.
const belowFacts = "|\n\n"

// TestDocsCheckPages: the page of each check and rule, in each language, describes the check or rule,
// why it matters, and how to fix it on each Enterprise Linux, with commands.
func TestDocsCheckPages(t *testing.T) {
	var pages []string
	for _, c := range preflight.Checks() {
		pages = append(pages, "checks/preflight/"+c.ID)
	}
	for _, r := range verify.Rules(verification.Probes()...) {
		pages = append(pages, "checks/verify/"+r.ID)
	}
	for language, sections := range map[docs.Language][]string{
		docs.English: {belowFacts, "\n## Why it matters\n", "\n## How to fix it\n"},
		docs.Korean:  {belowFacts, "\n## 왜 중요한가\n", "\n## 해결 방법\n"},
	} {
		b, err := docs.Read(language)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pages {
			found, err := b.Find(name)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, part := range missingParts(found[0].Text, sections) {
				t.Errorf("%s: %s has no %s", language, name, part)
			}
		}
	}
}

// missingParts returns the missing parts of a page: sections in order with some text, a command, and
// each operating system.
func missingParts(page string, sections []string) []string {
	var missing []string
	rest := page
	for _, section := range sections {
		_, after, found := strings.Cut(rest, section)
		words, _, _ := strings.Cut(after, "\n## ")
		if !found || len(strings.TrimSpace(words)) < 40 {
			missing = append(missing, strings.TrimSpace(section))
		}
		if found {
			rest = "\n" + after // the next heading may follow at once
		}
	}
	fix := rest
	if !strings.Contains(fix, "```") && !strings.Contains(fix, "\n    ") && !strings.Contains(fix, "`") {
		missing = append(missing, "a command")
	}
	for _, version := range []string{"8", "9", "10"} {
		if !regexp.MustCompile(`EL[ \n](\*\*)?[^.]{0,24}?\b` + version + `\b`).MatchString(page) {
			missing = append(missing, "EL "+version)
		}
	}
	return missing
}

func TestMissingParts(t *testing.T) {
	sections := []string{belowFacts, "\n## Why it matters\n", "\n## How to fix it\n"}
	whole := "# x\n\n|  |  |\n|---|---|\n| fact | y |\n\nThis check reads this and that, which is long enough to be something.\n\n" +
		"## Why it matters\n\nBecause of this and that, which is long enough.\n\n" +
		"## How to fix it\n\nThe same on EL 8, 9 and 10: `swapoff -a`, which is long enough.\n"
	for change, want := range map[string]string{
		"":                                 "",
		"## Why it matters":                "## Why it matters",
		", 9 and 10":                       "EL 9,EL 10",
		"`swapoff -a`":                     "",
		"`":                                "a command",
		"Because of this and ":             "## Why it matters", // too little
		"This check reads this and that, ": "|",                 // too little
		belowFacts:                         "|",
		"on EL 8, 9 and 10: `s":            "EL 8,EL 9,EL 10",
	} {
		page := strings.ReplaceAll(whole, change, "")
		if change == "" {
			page = whole
		}
		if change == "`swapoff -a`" {
			page = strings.ReplaceAll(whole, change, "`swapoff`")
		}
		if got := strings.Join(missingParts(page, sections), ","); got != want {
			t.Errorf("without %q: %q, want %q", change, got, want)
		}
	}
}

// TestDocsCommandsAreThere: each command in a code block or in backticks of the documentation exists, with
// its flags. Words in capitals are placeholders.
func TestDocsCommandsAreThere(t *testing.T) {
	root := rootCommand(&app{})
	for _, language := range docs.AllLanguages() {
		b, err := docs.Read(language)
		if err != nil {
			t.Fatal(err)
		}
		typed := 0
		for _, p := range b.Pages {
			for _, line := range commandsIn(p.Text) {
				typed++
				checkTyped(t, root, "docs/"+p.Path, line)
			}
		}
		if typed < 200 {
			t.Errorf("%s: found %d commands: does the search still work?", language, typed)
		}
	}
}

// outsidePages returns the pages outside the documentation: READMEs and pages for maintainers.
func outsidePages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"README*.md", "CONTRIBUTING.md", "examples/README.md", "examples/*/README.md", "docs/*.md", "docs/adr/*.md"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		all = append(all, files...)
	}
	return all
}

// TestCommandsOutsideTheBookAreThere: the same for the READMEs and the pages for maintainers.
func TestCommandsOutsideTheBookAreThere(t *testing.T) {
	root := rootCommand(&app{})
	for _, file := range outsidePages(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := commandsIn(string(text))
		if strings.Contains(file, "README") && !strings.Contains(file, "docs/") && len(lines) == 0 {
			t.Errorf("%s: found no commands: does the search still work?", file)
		}
		for _, line := range lines {
			checkTyped(t, root, file, line)
		}
	}
}

// TestCommandsOfInstallTextAreThere: the same for INSTALL.txt in each kind of bundle.
func TestCommandsOfInstallTextAreThere(t *testing.T) {
	root := rootCommand(&app{})
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		more string
		base *bundle.Base
		own  bool
		want string // command for the other servers
	}{
		"ssh":    {"ssh: {}\n", nil, true, "airgap install /mnt/stick/bank --no-ssh"},
		"no ssh": {"", nil, false, "airgap join ..."},
		"delta":  {"", &bundle.Base{Bundles: []string{"bank"}}, false, "airgap registry status"},
	} {
		text, err := build.InstallText(docsConfig(t, test.more), &bundle.Plan{Name: "bank", Base: test.base}, &program.Keys{RPM: key, Bundle: own, Own: test.own})
		if err != nil {
			t.Fatal(err)
		}
		lines := commandsIn(string(text))
		if !slices.Contains(lines, test.want) || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "airgap preflight /mnt/stick/bank") }) {
			t.Errorf("INSTALL.txt, %s: found %q, without %q", name, lines, test.want)
		}
		for _, line := range lines {
			checkTyped(t, root, "INSTALL.txt, "+name, line)
		}
	}
}

// TestLinksOutsideTheBookLead: the target of each link to a file exists.
func TestLinksOutsideTheBookLead(t *testing.T) {
	links := 0
	for _, file := range outsidePages(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(string(text), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), to)); err != nil {
				t.Errorf("%s: no target for the link to %s: %v", file, m[1], err)
			}
		}
	}
	if links < 100 {
		t.Errorf("found %d links: does the search still work?", links)
	}
}

// commandsIn returns the command lines of airgap in a Markdown page: in backticks, and in code blocks,
// where a column before the command can have the host.
func commandsIn(page string) []string {
	var found []string
	var prose strings.Builder
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			prose.WriteString(line)
			continue
		}
		for _, column := range regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1) {
			if typed := strings.TrimPrefix(column, "sudo "); strings.HasPrefix(typed, "airgap ") {
				found = append(found, typed)
			}
		}
	}
	for _, m := range regexp.MustCompile("`(airgap [^`]+)`").FindAllStringSubmatch(prose.String(), -1) {
		found = append(found, m[1])
	}
	return found
}

func checkTyped(t *testing.T, root *cobra.Command, page, line string) {
	t.Helper()
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\n' })
	capitals := regexp.MustCompile(`^[A-Z…]+$`)
	if len(words) < 2 || capitals.MatchString(words[1]) {
		return
	}
	cmd, rest, err := root.Find(words[1:])
	if err != nil || cmd == root && !strings.HasPrefix(words[1], "-") {
		t.Errorf("%s: %q: no such command: %v", page, line, err)
		return
	}
	for c := cmd; c != nil; c = c.Parent() {
		if c.Hidden {
			t.Errorf("%s: %q: %s is an internal command", page, line, c.CommandPath())
		}
	}
	for _, word := range rest {
		if strings.ContainsAny(word[:1], "#|>;&") {
			return
		}
		flag, is := strings.CutPrefix(strings.Trim(word, "[],.;:)"), "--")
		flag, _, _ = strings.Cut(flag, "=")
		if is && flag != "" && cmd.Flag(flag) == nil && !slices.Contains([]string{"help", "version"}, flag) {
			t.Errorf("%s: %q: %s has no flag --%s", page, line, cmd.CommandPath(), flag)
		}
	}
}
