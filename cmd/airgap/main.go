// Command airgap installs Kubernetes clusters on servers without internet access: airgap bundle
// on a connected host, airgap install on the servers, airgap verify after every change.
//
// Only this package prints and exits. It writes results to stdout, and progress and errors to
// stderr. The exit codes are in exit.go.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
)

func main() {
	syscall.Umask(0o022) // with 077, as on hardened hosts, pods cannot read the files that airgap writes
	usePackagedPrograms()
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignal returns a context that ends on SIGINT, SIGTERM and SIGHUP. It ignores SIGHUP
// under nohup. A command with work that it must finish is only asked to stop by the first SIGINT. A
// signal after the end of the context kills the process. Only SIGINT ends commands on other hosts.
func untilSignal() context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, signals...)
	ctx, work := stop.With(context.Background())
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		s := <-caught
		for s == os.Interrupt && work.Ask() { // the command stops after its work
			s = <-caught
		}
		signal.Stop(caught)
		switch s {
		case syscall.SIGHUP:
			cancel(detach.ErrHangUp)
		case syscall.SIGTERM:
			cancel(detach.ErrTerminated)
		}
		cancel(nil)
	}()
	return ctx
}

// run is the whole program. Tests call it, too.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app, out := newApp(stdin, stdout, stderr)
	app.args = args
	root := rootCommand(app)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(app.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	err = app.show(err)
	if failed := out.end(); err == nil {
		err = failed
	}
	if ctx.Err() != nil && err != nil {
		err = interrupted(err, nameOf(cmd), context.Cause(ctx))
	}
	return app.report(err)
}

// newApp escapes all output, because the text comes from other hosts, pods and files.
func newApp(stdin io.Reader, stdout, stderr io.Writer) (*app, *results) {
	a := &app{stdin: stdin, stderr: ui.NewEscaper(stderr), streams: detach.Streams{In: stdin, Out: stdout, Err: stderr}}
	out := &results{w: ui.NewEscaper(stdout), begin: a.endProgress}
	a.stdout = out
	return a, out
}
