package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
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

// checkAddress wants HOST:PORT for what is named.
func checkAddress(what, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" || n == 0 {
		return advice.Usagef("%s %q: want ADDRESS:PORT such as 10.0.0.11:%d", what, addr, registry.DefaultPort)
	}
	return nil
}
