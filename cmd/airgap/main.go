// Command airgap puts a Kubernetes cluster onto servers that have never seen
// the internet: bundle where there is internet, install where there is none,
// verify after every change.
//
// This package is the only one that prints or exits. Results go to stdout,
// progress and errors to stderr; the exit codes are in exit.go.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"airgap.dev/airgap/internal/ui"
)

func main() {
	syscall.Umask(0o022) // hardened hosts run 077, and then pods cannot read what we lay out
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignal ends with Ctrl-C, with SIGTERM, and with the terminal, unless
// nohup keeps that from us. A second signal kills, whatever is going on.
func untilSignal() context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	first := make(chan os.Signal, 1)
	signal.Notify(first, signals...)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-first
		signal.Stop(first)
		cancel()
	}()
	return ctx
}

// run is the whole program as a function: tests call it too.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app, out := newApp(stdin, stdout, stderr)
	root := rootCommand(app)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(app.stderr)
	err := app.show(root.ExecuteContext(ctx))
	if failed := out.end(); err == nil {
		err = failed
	}
	if ctx.Err() != nil && err != nil {
		err = interrupted(err)
	}
	return app.report(err)
}

// newApp prints through escapers: much of what it prints comes from other hosts, pods and files.
func newApp(stdin io.Reader, stdout, stderr io.Writer) (*app, *results) {
	a := &app{stdin: stdin, stderr: ui.NewEscaper(stderr)}
	out := &results{w: ui.NewEscaper(stdout), begin: a.endProgress}
	a.stdout = out
	return a, out
}
