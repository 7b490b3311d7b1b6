// Command kernel lists the resources and the kernel features that the lab needs and this machine
// does not have. It needs no package that the lab installs and compiles fast, so it can run first.
package main

import (
	"context"
	"fmt"
	"os"

	"airgap.dev/airgap/e2e/lab/kernel"
	"airgap.dev/airgap/e2e/lab/room"
)

func main() {
	err := room.Ready()
	if err == nil {
		err = kernel.Ready(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
