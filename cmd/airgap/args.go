package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
)

// noArgs is cobra.NoArgs with exit code 2 and a hint.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasAvailableSubCommands() {
		return usageError(cmd, fmt.Errorf("%s: unknown command %q%s", cmd.CommandPath(), args[0], nearCommand(cmd, args[0])))
	}
	return usageError(cmd, fmt.Errorf("%s: unexpected argument %q", cmd.CommandPath(), args[0]))
}

// oneArg is cobra.ExactArgs(1) with exit code 2 and a hint. The name of the argument has an
// article: "the node name".
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		near := ""
		if len(args) > 0 {
			near = nearCommand(cmd, args[0]) // airgap upgrade ndoe ADDRESS:PORT
		}
		return usageError(cmd, fmt.Errorf("%s: expected one argument, %s, got %d%s", cmd.CommandPath(), name, len(args), near))
	}
}

// someArgs requires at least one argument.
func someArgs(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usageError(cmd, fmt.Errorf("%s: expected %s, got 0", cmd.CommandPath(), name))
	}
}

// usageError returns err with exit code 2 and a hint to the help of cmd.
func usageError(cmd *cobra.Command, err error) error {
	return advice.Add(&exitError{exitcode.Usage, err}, "run %s --help", cmd.CommandPath())
}
