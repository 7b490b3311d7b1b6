// Command airgap-probe tests the pod network from a pod. The pods of the DaemonSet
// airgap-system/data-plane run it. `airgap verify` reports the results. The settings are the
// environment variables POD_NAME, NODE_NAME and HOST_IP.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
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
	api, err := dataplane.InCluster()
	if err != nil {
		return err
	}
	say := func(line string) { fmt.Println(time.Now().UTC().Format(time.RFC3339), line) }
	return dataplane.Run(ctx, dataplane.Options{Self: self, API: api, Say: say})
}
