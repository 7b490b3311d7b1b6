package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

// addSSHConfig adds --ssh-config to every command that can log in on other hosts: those with --no-ssh or --all-hosts.
func addSSHConfig(root *cobra.Command) *cobra.Command {
	for _, cmd := range root.Commands() {
		addSSHConfig(cmd)
	}
	f := root.Flags()
	if f.Lookup("no-ssh") == nil && f.Lookup("all-hosts") == nil {
		return root
	}
	file := f.String("ssh-config", "", "YAML file with SSH settings that replace those of airgap.yaml, with its section ssh and nodes[].ssh; default: "+site.SSHFile+" if it exists")
	_ = root.RegisterFlagCompletionFunc("ssh-config", files("yaml", "yml")) // fails only for unknown flags
	root.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if f.Changed("ssh-config") && *file == "" {
			return advice.Usagef("--ssh-config: want the name of a file; omit the flag for %s", site.SSHFile)
		}
		cmd.SetContext(access.WithFile(cmd.Context(), *file))
		return nil
	}
	return root
}
