package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/program"
)

// TestGatesFlags: each flag in backticks on the page Gates and media is a flag of a command.
func TestGatesFlags(t *testing.T) {
	flags := map[string]bool{}
	for _, cmd := range program.Documented(rootCommand(&app{})) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	text, err := os.ReadFile("../../docs/gates.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile("`--([a-z-]+)[^`]*`").FindAllStringSubmatch(string(text), -1) {
		if found++; !flags[m[1]] {
			t.Errorf("docs/gates.md: no command has the flag --%s", m[1])
		}
	}
	if found < 8 || !strings.Contains(string(text), "airgap bundle --plan --hosts") {
		t.Errorf("found %d flags: does the search still work?", found)
	}
}
