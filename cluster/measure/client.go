package measure

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe/client"
)

// MaxIdle is the longest time of a connection without a packet.
const MaxIdle = 24 * time.Hour

// ClientOptions are the options of Client.
type ClientOptions struct {
	Address   string   // of the API: HOST or HOST:PORT
	Ingress   []string // HOST or HOST:PORT
	NodePorts []string // HOST:PORT
	Idle      time.Duration
	Console   ui.Console
}

// Client tests the way from this machine to a cluster. It needs no root and no credentials.
func Client(ctx context.Context, o ClientOptions) (*client.Result, error) {
	targets, err := o.targets()
	if err != nil {
		return nil, err
	}
	if o.Idle < 0 || o.Idle > MaxIdle {
		return nil, advice.Usagef("airgap netprobe client: --idle %s: expected a duration from 0s to %s", o.Idle, MaxIdle)
	}
	p := o.Console.Progress()
	p.Now("Test the way to " + o.Address)
	defer p.Now("")
	run := client.Options{Targets: targets, Idle: o.Idle}
	if o.Idle > 0 {
		var waiting ui.Task
		run.Waited = func() {
			if waiting == nil {
				waiting = p.Task("Idle connection (seconds)", int64(o.Idle/time.Second), false)
			}
			waiting.Add(1)
		}
		defer func() {
			if waiting != nil {
				waiting.End(nil)
			}
		}()
	}
	return client.Run(ctx, run)
}

func (o ClientOptions) targets() (all []client.Target, err error) {
	for _, kind := range []struct {
		of        client.Kind
		flag      string
		addresses []string
		port      int // 0: the port is required
	}{
		{client.API, "ADDRESS", []string{o.Address}, 6443},
		{client.Ingress, "--ingress", o.Ingress, 443},
		{client.NodePort, "--node-port", o.NodePorts, 0},
	} {
		for _, address := range kind.addresses {
			at, ok := withPort(address, kind.port)
			if !ok {
				return nil, advice.Usagef("airgap netprobe client: %s %q: expected HOST:PORT", kind.flag, address)
			}
			all = append(all, client.Target{Kind: kind.of, Address: at})
		}
	}
	return all, nil
}

// withPort returns HOST:PORT with a default port. It accepts the address of the API as kubeconfig has it.
func withPort(address string, otherwise int) (string, bool) {
	address = strings.TrimSuffix(strings.TrimPrefix(address, "https://"), "/")
	host, port, err := net.SplitHostPort(address)
	if err != nil && otherwise > 0 && !strings.Contains(address, ":") {
		host, port, err = address, fmt.Sprint(otherwise), nil
	}
	number, errPort := strconv.Atoi(port)
	return net.JoinHostPort(host, port), err == nil && errPort == nil && number > 0 && number < 1<<16 && host != "" && !strings.ContainsAny(host, "/ ")
}
