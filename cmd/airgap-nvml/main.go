//go:build cgo && linux

// Command airgap-nvml reads the GPUs of this host through the NVIDIA management library (NVML).
// It writes one JSON object to stdout, the Report of package gpu/nvml. It is a separate program
// because NVML requires cgo and airgap is static. airgap runs it on hosts with GPUs.
//
// The exit code is 0, 1 after an error, or 2 after wrong usage. An error is one line on stderr.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	report "airgap.dev/airgap/gpu/nvml"
)

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// maxWatch limits a forgotten run.
const maxWatch = time.Hour

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("airgap-nvml", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	watch := flags.Duration("watch-xid", 0, "time to wait for Xid events before the GPUs are read, such as 10s; at most 1h")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		flags.Usage()
		return exitOK
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected arguments: %q", flags.Args())
	case err == nil && (*watch < 0 || *watch > maxWatch):
		err = fmt.Errorf("--watch-xid %s: expected a duration from 0s to %s", *watch, maxWatch)
	}
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	found, err := look(*watch)
	if err != nil {
		return fail(stderr, exitError, err)
	}
	if err := json.NewEncoder(stdout).Encode(found); err != nil {
		return fail(stderr, exitError, fmt.Errorf("write the report: %w", err))
	}
	return exitOK
}

func fail(stderr io.Writer, code int, err error) int {
	fmt.Fprintf(stderr, "airgap-nvml: error: %v\n", err)
	return code
}

// look waits for events first, so that the values of a GPU include the effect of an event.
func look(watch time.Duration) (*report.Report, error) {
	l, err := open()
	if err != nil {
		return nil, err
	}
	defer l.Shutdown()
	found := &report.Report{GPUs: []report.GPU{}}
	devices, err := l.devices()
	if err != nil {
		return nil, err
	}
	if watch > 0 {
		if found.Xids, err = l.watch(devices, watch); err != nil {
			return nil, err
		}
	}
	if found.Driver, found.CUDA, err = l.versions(); err != nil {
		return nil, err
	}
	for i, d := range devices {
		found.GPUs = append(found.GPUs, l.gpu(i, d))
	}
	return found, nil
}
