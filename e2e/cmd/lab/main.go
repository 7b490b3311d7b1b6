// Command lab boots the lab's bank servers and gives a shell on them, for
// those who want to try something by hand. The scenarios use package lab.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"airgap.dev/airgap/e2e/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	os.Exit(exitCode(err))
}

// exitCode passes on the status of the command that `lab exec` ran.
func exitCode(err error) int {
	var exit *lab.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	default:
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
}
