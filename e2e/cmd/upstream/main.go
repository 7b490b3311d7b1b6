// Upstream builds all components and packages of the lab's upstream, and serves them on a
// loopback address:
//
//	upstream build              compile, pack, sign and index all parts that are not current
//	upstream gpu                also build the packages for hosts with NVIDIA GPUs
//	upstream bench              also build the images for measurements (2.8 GB)
//	upstream serve [-addr ADDR] [-plain]   until interrupted; -plain: without TLS
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"airgap.dev/airgap/e2e/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	cache := flags.String("cache", upstream.DefaultCache(), "directory of the build results")
	addr := flags.String("addr", "127.0.0.1:8443", "address and port to serve on")
	plain := flags.Bool("plain", false, "serve without TLS")
	if len(args) == 0 {
		fmt.Fprintln(stderr, "usage: upstream build|gpu|bench|serve [flags]")
		return 2
	}
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if err := do(ctx, args[0], options{*cache, *addr, *plain}, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "upstream: error:", err)
		return 1
	}
	return 0
}

type options struct {
	cache, addr string
	plain       bool
}

func do(ctx context.Context, verb string, o options, stdout, stderr io.Writer) error {
	switch verb {
	case "build":
		return upstream.Build(ctx, o.cache, stderr)
	case "gpu":
		if err := upstream.Build(ctx, o.cache, stderr); err != nil {
			return err
		}
		return upstream.BuildGPU(ctx, o.cache, stderr)
	case "bench":
		refs, err := upstream.BenchImages(ctx, o.cache, stderr)
		for _, ref := range refs {
			fmt.Fprintln(stdout, ref)
		}
		return err
	case "serve":
		return serve(ctx, o, stdout)
	}
	return fmt.Errorf("unknown verb %q: build, gpu, bench or serve", verb)
}

func serve(ctx context.Context, o options, stdout io.Writer) error {
	start := upstream.Serve
	if o.plain {
		start = upstream.ServePlain
	}
	server, err := start(ctx, o.cache, o.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "serving %s\n", server.URL)
	if server.CA != "" {
		fmt.Fprintf(stdout, "clients must trust %s\n", server.CA)
	}
	return server.Wait()
}
