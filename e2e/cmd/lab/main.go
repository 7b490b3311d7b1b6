// Command lab boots the lab's bank servers and opens shells on them, for manual tests.
// It also runs the scenarios, the demo and the bench.
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

// exitCode returns the exit status of the command that `lab exec` ran, or 1 for other errors.
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
