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

// nextStep is the beginning of the next step for the operator, in each language.
func nextStep() map[docs.Language]string {
	return map[docs.Language]string{docs.English: "\nNext: ", docs.Korean: "\n다음: "}
}

// TestDocsCodes: airgap docs shows each exit code of the program and each error code of the registry
// library, in each language, with the meaning and the next step.
func TestDocsCodes(t *testing.T) {
	want := map[string]string{} // by code: words of its section
	for _, code := range []int{exitcode.OK, exitcode.Failed, exitcode.Usage, exitcode.Preflight, exitcode.Verify, exitcode.Incomplete, exitcode.Interrupted} {
		want[strconv.Itoa(code)] = "# `" + strconv.Itoa(code) + "`: "
	}
	for _, d := range errcode.GetErrorAllDescriptors() {
		want[d.Value] = fmt.Sprintf("HTTP %d", d.HTTPStatusCode)
	}
	if len(want) < 20 || want["MANIFEST_INVALID"] == "" {
		t.Errorf("the registry library has other codes: %v", want)
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

// TestDocsOf: airgap docs prints a field, a section of airgap.yaml, a check with the name of a
// section, and a code.
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
