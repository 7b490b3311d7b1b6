package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/registry/api/errcode"

	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/internal/exitcode"
)

// nextStep begins, in each language, what somebody does who was shown a code.
func nextStep() map[docs.Language]string {
	return map[docs.Language]string{docs.English: "\nNext: ", docs.Korean: "\n다음: "}
}

// TestDocsCodes: each exit code of the program, and each error code that the registry's
// engine knows, can be looked up, in each language: what it means, and what comes next.
func TestDocsCodes(t *testing.T) {
	want := map[string]string{} // by code: words of its section
	for _, code := range []int{exitcode.OK, exitcode.Failed, exitcode.Usage, exitcode.Preflight, exitcode.Verify, exitcode.Interrupted} {
		want[strconv.Itoa(code)] = "# `" + strconv.Itoa(code) + "`: "
	}
	for _, d := range errcode.GetErrorAllDescriptors() {
		want[d.Value] = fmt.Sprintf("HTTP %d", d.HTTPStatusCode)
	}
	if len(want) < 20 || want["MANIFEST_INVALID"] == "" {
		t.Errorf("the engine has other codes than it had: %v", want)
	}
	for language, next := range nextStep() {
		b, err := docs.Read(language)
		if err != nil {
			t.Fatal(err)
		}
		for code, words := range want {
			found, err := b.Find(code)
			if err != nil || len(found) != 1 || !strings.Contains(found[0].Text, words) || !strings.Contains(found[0].Text, next) {
				t.Errorf("%s, airgap docs %s: %v, want one section with %q and %q:\n%+v", language, code, err, words, next, found)
			}
		}
	}
}

// TestDocsOf prints what its help promises: a field, a section of airgap.yaml, a check that
// has the name of a section, a code.
func TestDocsOf(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	for name, want := range map[string]string{
		"network.port": "network.port", "gpu.branch": "gpu.branch", "nodes.roles": "nodes[].roles", "hostSettings": "hostSettings.swap", "packages": "packages.repositories",
		"swap": "## How to fix it", "3": "preflight failed", "denied": "507",
	} {
		var out bytes.Buffer
		a := &app{stdout: &out, stderr: &out}
		cmd := rootCommand(a)
		cmd.SetArgs([]string{"docs", name})
		if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("airgap docs %s: %v, without %q:\n%s", name, err, want, out.String())
		}
	}
}
