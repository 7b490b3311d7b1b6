// Command airgap puts a Kubernetes cluster onto servers that have never seen
// the internet: bundle where there is internet, install where there is none,
// verify after every change.
//
// This package is the only one that prints or exits. Results go to stdout,
// progress and errors to stderr; the exit codes are in exit.go.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	syscall.Umask(0o022) // hardened hosts run 077, and then pods cannot read what we lay out
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program as a function: tests call it too.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &results{w: stdout}
	app := &app{stdin: stdin, stdout: out, stderr: stderr}
	root := app.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("write the result: %w", out.err)
	}
	if ctx.Err() != nil && err != nil {
		err = interrupted(err)
	}
	return app.report(err)
}
