package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airgap.dev/airgap/internal/advice"
)

// flagError suggests the nearest flag of the command for an unknown one. cobra reads the flags
// before the arguments: after a mistyped command, its flags are unknown too, and the command is
// the mistake to report.
func flagError(cmd *cobra.Command, err error) error {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is {
		return usageError(cmd, err)
	}
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasAvailableSubCommands() {
		if wrong := cmd.ValidateArgs(args); wrong != nil {
			return wrong
		}
	}
	return usageError(cmd, fmt.Errorf("%s: %w%s", cmd.CommandPath(), err, nearFlag(cmd, unknown)))
}

// nearFlag suggests a flag. For -bundle, which is a group of short flags, it suggests --bundle.
func nearFlag(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	typed := cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName())
	typed, _, _ = strings.Cut(typed, "=")
	return advice.DidYouMean("--"+typed, known)
}

// nearCommand suggests a command below cmd.
func nearCommand(cmd *cobra.Command, typed string) string {
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	return advice.DidYouMean(typed, known)
}
