package airgap_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const dependenciesFile = "docs/dependencies.md"

// TestDependenciesHaveReasons: the table has the modules that both go.mod require directly, each
// once, and no others.
func TestDependenciesHaveReasons(t *testing.T) {
	required := map[string]bool{}
	for _, dir := range []string{".", "e2e"} {
		for _, name := range directModules(t, dir) {
			required[name] = true
		}
	}
	listed := map[string]bool{}
	for _, row := range rows(t, dependenciesFile, "# Dependencies") {
		for name := range strings.SplitSeq(row[0], ", ") {
			switch {
			case listed[name]:
				t.Errorf("%s has %s twice", dependenciesFile, name)
			case !required[name]:
				t.Errorf("%s has %s, which no go.mod requires: remove the row", dependenciesFile, name)
			case row[1] == "":
				t.Errorf("%s has no reason for %s", dependenciesFile, name)
			}
			listed[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if !listed[name] {
			t.Errorf("a go.mod requires %s: give its reason in %s", name, dependenciesFile)
		}
	}
}

var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// directModules are named as people do: without github.com and the major version.
func directModules(t *testing.T, dir string) []string {
	t.Helper()
	edit := exec.Command("go", "mod", "edit", "-json")
	edit.Dir = dir
	out, err := edit.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range mod.Require {
		if !r.Indirect {
			names = append(names, strings.TrimPrefix(majorVersion.ReplaceAllString(r.Path, ""), "github.com/"))
		}
	}
	return names
}

// rows returns the rows of the first table below a heading, without its head.
func rows(t *testing.T, file, heading string) [][2]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, behind, found := strings.Cut("\n"+string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", file, heading)
	}
	var rows [][2]string
	for line := range strings.Lines(behind) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "| ") {
			first, second, _ := strings.Cut(strings.Trim(line, "| "), " | ")
			rows = append(rows, [2]string{first, second})
		} else if len(rows) > 0 && !strings.HasPrefix(line, "|") {
			break
		}
	}
	if len(rows) < 2 {
		t.Fatalf("%s, %s: no table", file, heading)
	}
	return rows[1:]
}

// TestCommitsAreThere: a commit that CONTRIBUTING.md or a decision record names by its
// subject is in the history, and so is one of a row of results that its head does not
// explain. It touched the files that are named behind it.
func TestCommitsAreThere(t *testing.T) {
	if out, err := git("rev-parse", "--is-shallow-repository"); err != nil || out != "false" {
		t.Skipf("no whole history here: %s, %v", out, err)
	}
	log, err := git("log", "--format=%H %s")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for line := range strings.SplitSeq(log, "\n") {
		hash, subject, _ := strings.Cut(line, " ")
		there[hash[:7]], there[subject] = hash, hash
	}
	for _, q := range quotedCommits(t) {
		hash, found := there[q.commit]
		if !found {
			t.Errorf("%s names the commit %q, which is not in the history", q.file, q.commit)
			continue
		}
		for _, file := range q.untouched(t, hash) {
			t.Errorf("%s names %s behind the commit %q, which did not touch it", q.file, file, q.commit)
		}
	}
}

// untouched are the files and directories named behind a commit in which it changed nothing.
func (q quote) untouched(t *testing.T, hash string) []string {
	t.Helper()
	if len(q.touched) == 0 {
		return nil
	}
	out, err := git("show", "--name-only", "--format=", hash)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(q.touched, func(name string) bool {
		return slices.ContainsFunc(strings.Split(out, "\n"), func(file string) bool { return file == name || strings.HasPrefix(file, name+"/") })
	})
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	return strings.TrimSpace(string(out)), err
}

type quote struct {
	file, commit string
	touched      []string // files named after it
}

// quotedCommits are the subjects that pages name, and the commits of e2e/RESULTS.md.
func quotedCommits(t *testing.T) []quote {
	t.Helper()
	text := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	find := func(file, within, pattern string) (all []quote) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(within, -1) {
			all = append(all, quote{file: file, commit: strings.Join(strings.Fields(m[1]), " ")})
		}
		if len(all) == 0 {
			t.Errorf("%s names no commit", file)
		}
		return all
	}
	all := shownWays(t, text("CONTRIBUTING.md"))
	records, err := filepath.Glob("docs/adr/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range records {
		all = append(all, find(file, text(file), `\nDecided [0-9-]+, with "([^"]+)"`)...)
	}
	return append(all, find(resultsFile, text(resultsFile), `(?m)^\| [^|]+ \| ([0-9a-f]{7}) \|`)...)
}

// shownWays are the commits that show how something is added, with the files that are named
// behind each, up to the next one or the end of the paragraph.
func shownWays(t *testing.T, text string) []quote {
	t.Helper()
	_, ways, _ := strings.Cut(text, "\n## Common additions\n")
	ways, _, _ = strings.Cut(ways, "\n## ")
	subject, file := regexp.MustCompile("[^*]\\*(\\w[^*`]+)\\*:"), regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)+)`")
	end := regexp.MustCompile(`\n\n|\n[0-9]\. `)
	var all []quote
	for _, paragraph := range end.Split(ways, -1) {
		paragraph = " " + paragraph
		found := subject.FindAllStringSubmatchIndex(paragraph, -1)
		for i, m := range found {
			next := len(paragraph)
			if i+1 < len(found) {
				next = found[i+1][0]
			}
			q := quote{file: "CONTRIBUTING.md", commit: strings.Join(strings.Fields(paragraph[m[2]:m[3]]), " ")}
			for _, f := range file.FindAllStringSubmatch(paragraph[m[1]:next], -1) {
				q.touched = append(q.touched, f[1])
			}
			all = append(all, q)
		}
	}
	if len(all) < 8 {
		t.Errorf("CONTRIBUTING.md names %d commits alone: are they looked for still?", len(all))
	}
	return all
}

// TestHelpNamesEveryTarget: each target of `make` has a line in `make help`.
func TestHelpNamesEveryTarget(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("make", "-s", "help").Output()
	if err != nil {
		t.Fatalf("make help: %v", err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\.PHONY: ([a-z0-9-]+)$`).FindAllStringSubmatch(string(text), -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + ` +\S`).Match(out) {
			t.Errorf("make help has no line for %s: add ## and a description after its name", m[1])
		}
	}
}

// TestRecordsAreWhole: each decision record has its row in the index, and says all that
// one has to say.
func TestRecordsAreWhole(t *testing.T) {
	files, err := filepath.Glob("docs/adr/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	index := rows(t, "docs/adr/README.md", "# Decision records")
	if len(index) != len(files) {
		t.Errorf("docs/adr has %d records, and its README %d rows", len(files), len(index))
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		number, name := strconv.Itoa(i+1), filepath.Base(file)
		heading, _, _ := strings.Cut(string(text), "\n")
		title, numbered := strings.CutPrefix(heading, "# "+number+". ")
		if !numbered || !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) {
			t.Errorf("%s begins with %q, want the heading of number %s", file, heading, number)
		}
		if i < len(index) && (index[i][0] != "["+number+"]("+name+")" || !strings.HasPrefix(index[i][1], title+" | ")) {
			t.Errorf("docs/adr/README.md, row %v: want number, name and title of %s", index[i], file)
		}
		for _, part := range []string{"\nDecided ", "**Context.** ", "**Decision.** ", "**Consequences.** ", "**What would change our mind?** "} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s does not say %q", file, strings.TrimSpace(part))
			}
		}
	}
}

// TestHostsNeedNoLab: on servers that a file names, `make e2e` does not install packages,
// check this machine's kernel or build a lab, as it does without the file.
func TestHostsNeedNoLab(t *testing.T) {
	would := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("make", append([]string{"-n", "e2e"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("make -n e2e %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	file, err := filepath.Abs("x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	there := would("HOSTS=x.yaml", "RUN=journey")
	if !strings.Contains(there, ` run ./cmd/lab run --hosts "`+file+`" journey`) || !strings.Contains(there, "-o dist/airgap ") {
		t.Errorf("make e2e HOSTS=x.yaml does not build the program and run the scenario there:\n%s", there)
	}
	here := would("RUN=journey")
	for _, lab := range []string{"apt-get", "id -u", "cmd/kernel", "lab prepare"} {
		if strings.Contains(there, lab) {
			t.Errorf("make e2e HOSTS=x.yaml uses %q on this machine:\n%s", lab, there)
		}
		if !strings.Contains(here, lab) {
			t.Errorf("make e2e says nothing of %q: this test looks for the wrong words", lab)
		}
	}
}

var (
	function      = regexp.MustCompile(`(?ms)^func (\w+)\(.*?^}`)
	metadataTests = regexp.MustCompile(`(?s)real_metadata='(.*?)'`)
)

// TestSkippedTestsAreTold: .ci/run names each test that is skipped where there is no real metadata.
func TestSkippedTestsAreTold(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	list := metadataTests.FindSubmatch(script)
	if list == nil {
		t.Fatal(".ci/run has no list real_metadata")
	}
	told := map[string]bool{}
	for line := range strings.SplitSeq(string(list[1]), "\n") {
		test, _, _ := strings.Cut(line, "/real")
		told[test] = true
	}
	skipped := testsThatCall(t, `Getenv\("AIRGAP_REPODATA"\)`)
	for test := range skipped {
		if !told[test] {
			t.Errorf(".ci/run, real_metadata: %s is skipped without AIRGAP_REPODATA: name it", test)
		}
	}
	for test := range told {
		if !skipped[test] {
			t.Errorf(".ci/run, real_metadata: %s is not skipped without AIRGAP_REPODATA, or not there: take it out", test)
		}
	}
}

// TestLabForcesFUSE: make lab-test runs each test that is skipped where FUSE cannot be mounted.
func TestLabForcesFUSE(t *testing.T) {
	out, err := exec.Command("make", "-n", "lab-test").CombinedOutput()
	if err != nil {
		t.Fatalf("make -n lab-test: %v\n%s", err, out)
	}
	forced := regexp.MustCompile(`AIRGAP_REQUIRE_FUSE=1 .* -run '([^']+)' (\S+)`).FindSubmatch(out)
	if forced == nil {
		t.Fatalf("make lab-test forces no test:\n%s", out)
	}
	runs := regexp.MustCompile(string(forced[1]))
	skipped := testsThatCall(t, `Getenv\("AIRGAP_REQUIRE_FUSE"\)`)
	for test := range skipped {
		if dir, name, _ := strings.Cut(test, ": "); "./"+dir != string(forced[2]) || !runs.MatchString(name) {
			t.Errorf("make lab-test does not run %s with AIRGAP_REQUIRE_FUSE=1", test)
		}
	}
	if len(skipped) < 2 {
		t.Errorf("got %d tests, want at least 2: %v", len(skipped), skipped)
	}
}

// testsThatCall are those that call a function with this code, as DIRECTORY: NAME.
func testsThatCall(t *testing.T, skip string) map[string]bool {
	t.Helper()
	bodies := map[string]string{} // by directory and function
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		dir := filepath.Dir(file)
		if err != nil || dir == "." || !strings.HasSuffix(file, ".go") || !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(dir, "test") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			bodies[dir+": "+m[1]] = m[0]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	skipped := map[string]bool{}
	for helpers := []string{skip}; len(helpers) > 0; helpers = helpers[1:] {
		calls := regexp.MustCompile(helpers[0])
		for key, body := range bodies {
			_, name, _ := strings.Cut(key, ": ")
			switch {
			case !calls.MatchString(body):
			case strings.HasPrefix(name, "Test"):
				skipped[key] = true
			default:
				helpers = append(helpers, `\b`+name+`\(t\b`)
				delete(bodies, key)
			}
		}
	}
	return skipped
}
