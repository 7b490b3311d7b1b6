package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/internal/exitcode"
)

// longCommands are the commands that change this host and can be long: they go on when the login session ends.
func longCommands() []string {
	return []string{"install", "join", "upgrade", "upgrade node", "rollback", "backup", "restore", "remove", "reset",
		"certs renew", "certs rotate-ca", "encryption rotate", "registry import"}
}

// shortWith are flags with which a long command only prints.
func shortWith() []string { return []string{"dry-run", "new-token"} }

// inUnit runs a long command in its unit, where a login session could end it. It then returns an error, so that the
// command does not run here.
func (a *app) inUnit(cmd *cobra.Command) error {
	name := nameOf(cmd)
	if !slices.Contains(longCommands(), name) || slices.ContainsFunc(shortWith(), func(flag string) bool { return isSet(cmd, flag) }) {
		return nil
	}
	done, err := detach.Run(cmd.Context(), detach.Command{Name: name, Args: a.args}, a.streams, a.say)
	if done.Note != "" {
		a.say("airgap: warning: %s", done.Note)
	}
	if err != nil || !done.Ran {
		return err
	}
	return &exitError{done.Code, errPrinted}
}

// nameOf returns the name of a command without "airgap".
func nameOf(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "airgap ") }

func isSet(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Value.String() == "true"
}

// runUnitCommand is the main process of the unit that inUnit starts.
func runUnitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "run-unit NAME", Short: "Run a long command as the main process of its unit", Hidden: true, Args: oneArg("the command's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := detach.Serve(cmd.Context(), args[0])
			if err != nil || code == exitcode.OK {
				return err
			}
			return &exitError{code, errPrinted}
		},
	}
}
