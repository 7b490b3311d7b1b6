package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestRenamedFlags: the old name of a flag sets the same value as the new one, and the changelog has
// both names.
func TestRenamedFlags(t *testing.T) {
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	renamed := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(old *pflag.Flag) {
			if old.Annotations[renamedTo] == nil {
				return
			}
			now := old.Annotations[renamedTo][0]
			renamed++
			value := "/run/token"
			if old.Value.Type() == "bool" {
				value = "true"
			}
			if err := cmd.Flags().Set(old.Name, value); err != nil {
				t.Errorf("%s --%s: %v", cmd.CommandPath(), old.Name, err)
			}
			if got := cmd.Flags().Lookup(now).Value.String(); got != value {
				t.Errorf("%s: after --%s=%s, --%s is %q", cmd.CommandPath(), old.Name, value, now, got)
			}
			if !strings.Contains(string(changelog), "`--"+old.Name+"` is") || !strings.Contains(string(changelog), "`--"+now+"`") {
				t.Errorf("CHANGELOG.md has no --%s, which is --%s now", old.Name, now)
			}
		})
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	app, _ := newApp(strings.NewReader(""), io.Discard, io.Discard)
	check(rootCommand(app))
	if renamed != 4 {
		t.Errorf("got %d renamed flags, want 4", renamed)
	}
}

// TestRenamedFlagWarns: the new name is printed on stderr, so that stdout stays for the result.
func TestRenamedFlagWarns(t *testing.T) {
	var out, errs strings.Builder
	run(t.Context(), []string{"join", "--new-code", "--node", "node9"}, strings.NewReader(""), &out, &errs)
	if !strings.Contains(errs.String(), "airgap: warning: --new-code is now --new-token\n") || strings.Contains(out.String(), "new-token") {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
}
