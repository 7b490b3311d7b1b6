package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestSSHConfigFlag: every command that can log in on other hosts has --ssh-config, and no other command has it.
func TestSSHConfigFlag(t *testing.T) {
	var with []string
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		f := cmd.Flags()
		ssh := f.Lookup("no-ssh") != nil || f.Lookup("all-hosts") != nil
		if has := f.Lookup("ssh-config") != nil; has != ssh || has != (cmd.PreRunE != nil) {
			t.Errorf("%s: has --ssh-config: %v", nameOf(cmd), has)
		} else if has {
			with = append(with, nameOf(cmd))
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(commands())
	for _, name := range []string{"install", "preflight", "upgrade", "rollback", "remove", "certs rotate-ca", "status", "report run"} {
		if !slices.Contains(with, name) {
			t.Errorf("%s has no --ssh-config", name)
		}
	}
}

// TestSSHConfigEmpty: an empty name, such as that of an unset variable, is not the default file.
func TestSSHConfigEmpty(t *testing.T) {
	root := commands()
	root.SetArgs([]string{"status", "--all-hosts", "--ssh-config", ""})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--ssh-config") {
		t.Error(err)
	}
}
