package exampletest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
)

// shown plans the airgap.yaml files in the documentation: the smallest one in the help of airgap bundle,
// without facts, and the one of the walk-through, with the facts of its servers.
func shown(t *testing.T, program string, u *upstream) {
	help, err := exec.CommandContext(t.Context(), program, "bundle", "--help").Output()
	must(t, err)
	u.inspected = false
	for name, tc := range map[string]struct {
		text string
		from servers
	}{
		"help":          {indented(string(help)), servers{}},
		"walkthrough":   {fenced(t, "../../../docs/walkthrough.md"), walked},
		"in Korean":     {fenced(t, "../../../docs/ko/walkthrough.md"), walked},
		"help's Korean": {fenced(t, "../../../docs/ko/commands/airgap-bundle.md"), servers{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan(t, program, u, layOut(t, u, name, tc.text, tc.from))
			has := func(name string) bool {
				return slices.ContainsFunc(o.lock.Packages, func(p bundle.Package) bool { return strings.HasPrefix(p.NEVRA.String(), name+"-") })
			}
			if o.code != 0 || !has("kubelet") || !has("container-selinux") {
				t.Errorf("exit code %d, packages %v\n%s\n%s", o.code, o.lock.Packages, o.wrong, tc.text)
			}
		})
	}
}

// walked are the servers of the walk-through.
var walked = servers{names: []string{"cp1", "cp2", "cp3", "w1", "w2"}, host: "rocky9", installed: "rocky9"}

// indented returns the airgap.yaml in the help of a command.
func indented(help string) string {
	_, rest, _ := strings.Cut(help, "\n  apiVersion:")
	var b strings.Builder
	for line := range strings.Lines("  apiVersion:" + rest) {
		inner, is := strings.CutPrefix(line, "  ")
		if !is {
			break
		}
		b.WriteString(inner)
	}
	return b.String()
}

// fenced returns the airgap.yaml on a page.
func fenced(t testing.TB, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "\napiVersion:")
	inner, _, _ := strings.Cut(rest, "\n```")
	return "apiVersion:" + inner + "\n"
}
