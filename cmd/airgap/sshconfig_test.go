package main

import (
	"slices"
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
		if has := f.Lookup("ssh-config") != nil; has != ssh || has != (cmd.PreRun != nil) {
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
