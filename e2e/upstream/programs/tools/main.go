// Tools probes a cluster from inside a pod of an otherwise empty image:
//
//	tools get URL        print the body; a status of 400 or more is an error
//	tools resolve NAME   print the addresses, one a line
//	tools sleep [TIME]   wait for TIME ("30s"), or until stopped
//
// The exit status is 0 after success, 1 after a failed probe, and 2 for wrong arguments.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const probeTimeout = 10 * time.Second

var errUsage = errors.New("usage: tools get URL | resolve NAME | sleep [TIME]")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := probe(ctx, args, stdout)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintln(stderr, err)
		return 2
	default:
		fmt.Fprintln(stderr, "tools:", err)
		return 1
	}
}

func probe(ctx context.Context, args []string, stdout io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "get":
		return get(ctx, args[1], stdout)
	case len(args) == 2 && args[0] == "resolve":
		return resolve(ctx, args[1], stdout)
	case len(args) == 1 && args[0] == "sleep":
		<-ctx.Done()
		return nil
	case len(args) == 2 && args[0] == "sleep":
		return sleep(ctx, args[1])
	}
	return errUsage
}

func get(ctx context.Context, url string, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(stdout, response.Body); err != nil {
		return fmt.Errorf("read %s: %w", url, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("get %s: %s", url, response.Status)
	}
	return nil
}

func resolve(ctx context.Context, name string, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		fmt.Fprintln(stdout, a)
	}
	return nil
}

func sleep(ctx context.Context, length string) error {
	d, err := time.ParseDuration(length)
	if err != nil {
		return errUsage
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return nil
}
