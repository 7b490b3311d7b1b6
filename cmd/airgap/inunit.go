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

// fleetCommands are those that run long commands on other hosts.
func fleetCommands() []string {
	return []string{"install", "upgrade", "rollback", "remove", "reset", "certs rotate-ca"}
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

// runUnitCommand is the main process of the unit that inUnit starts. airgap on another host uses its flags.
func runUnitCommand() *cobra.Command {
	var seen string
	var wait bool
	cmd := &cobra.Command{
		Use: "run-unit NAME", Short: "Run a long command as the main process of its unit", Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if wait {
				return noArgs(cmd, args)
			}
			return oneArg("the command's name")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case wait:
				return detach.Await(cmd.Context())
			case seen != "":
				return detach.Seen(args[0], seen)
			}
			code, err := detach.Serve(cmd.Context(), args[0])
			if err != nil || code == exitcode.OK {
				return err
			}
			return &exitError{code, errPrinted}
		},
	}
	cmd.Flags().StringVar(&seen, "seen", "", "end the unit of this run: its result was received")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until no command that another host started runs here")
	return cmd
}
