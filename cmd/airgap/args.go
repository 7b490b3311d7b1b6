package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func unknownArgument(cmd *cobra.Command, arg string) error {
	if cmd.HasAvailableSubCommands() {
		return fmt.Errorf("%s: unknown command %q", cmd.CommandPath(), arg)
	}
	return fmt.Errorf("%s: takes no arguments, got %q", cmd.CommandPath(), arg)
}

func wantArgument(cmd *cobra.Command, what string, got int) error {
	return fmt.Errorf("%s: want %s as the only argument, got %d arguments", cmd.CommandPath(), what, got)
}
