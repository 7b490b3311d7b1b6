package main

import (
	"fmt"
	"runtime/debug"

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

// release is stamped at build time; a plain `go build` says where it stands.
var release string //nolint:gochecknoglobals // the linker's -X needs a package variable

// version is the release, or the module version of a plain build.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
