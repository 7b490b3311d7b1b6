// Command airgap-probe tests the pod network from a pod. The pods of the DaemonSet
// airgap-system/data-plane run it. `airgap verify` reports the results. The settings are the
// environment variables POD_NAME, NODE_NAME, HOST_IP and, with a test of hostPort, HOST_PORT.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/verify/dataplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "airgap-probe: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	self := dataplane.Self{Pod: os.Getenv("POD_NAME"), Node: os.Getenv("NODE_NAME"), Host: os.Getenv("HOST_IP")}
	if self.Pod == "" || self.Node == "" {
		return errors.New("POD_NAME or NODE_NAME is not set: this program runs only in the pods of airgap; run airgap verify for the results")
	}
	if port := os.Getenv("HOST_PORT"); port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return fmt.Errorf("read HOST_PORT: %w", err)
		}
		self.HostPort = uint16(number)
	}
	etcd := dataplane.Etcd{Members: strings.Fields(os.Getenv("ETCD_MEMBERS"))}
	if text := os.Getenv("ETCD_ELECTION_TIMEOUT"); text != "" {
		var err error
		if etcd.Election, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("read ETCD_ELECTION_TIMEOUT: %w", err)
		}
	}
	api, err := dataplane.InCluster()
	if err != nil {
		return err
	}
	say := func(line string) { fmt.Println(time.Now().UTC().Format(time.RFC3339), line) }
	return dataplane.Run(ctx, dataplane.Options{Self: self, API: api, Say: say, Etcd: etcd})
}
