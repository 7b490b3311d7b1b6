package main

import (
	"strings"
	"testing"
)

// TestDocsSearches: words that are no name of a page are searched for, in text and JSON; no hit is an error.
func TestDocsSearches(t *testing.T) {
	for _, test := range []struct{ args, want, problem string }{
		{"docs disk full", "airgap docs checks/preflight/disk-space\n", ""},
		{"docs podman", "airgap docs checks/preflight/rpm-conflict\n", ""},
		{"docs docker", "airgap docs checks/preflight/runtime-present\n", ""},
		{"docs docker --output json", `"page": "checks/preflight/runtime-present"`, ""},
		{"docs swap", "# swap: ", ""},
		{"docs qwertz", "", `no page has "qwertz"`},
		{"docs disk full --list", "", "--list and --file are not for a single page"},
	} {
		var out strings.Builder
		cmd := rootCommand(&app{stdout: &out, stderr: &strings.Builder{}})
		cmd.SetArgs(append(strings.Fields(test.args), "--language", "en"))
		err := cmd.ExecuteContext(t.Context())
		if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("airgap %s: %v, want %q", test.args, err, test.problem)
		}
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("airgap %s prints\n%s\nwant %q", test.args, out.String(), test.want)
		}
	}
}
