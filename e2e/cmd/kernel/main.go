// Command kernel says what this machine's kernel lacks for the lab. It needs none of
// the packages that the lab installs and little compiling, so it can come first.
package main

import (
	"context"
	"fmt"
	"os"

	"airgap.dev/airgap/e2e/lab/kernel"
)

func main() {
	if err := kernel.Ready(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
