package build

import (
	"context"
	"strings"

	"airgap.dev/airgap/bundle/destinations"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Hosts plans the bundle and asks for the first byte of its contents. It returns the hosts that were asked,
// and those that their answers lead to. If the plan fails, it returns the list so far and the error.
func Hosts(ctx context.Context, o Options) (*destinations.List, error) {
	var client *fetch.Client
	seen := &destinations.Recorder{}
	o.Cache = "" // each host is asked
	o.prepare = func(c *fetch.Client) {
		client = c
		c.Watch(seen.See)
	}
	d, err := decide(ctx, o)
	if client == nil {
		return nil, err
	}
	if err == nil {
		err = destinations.Probe(ctx, d.plan, client, o.Progress)
	}
	return seen.List(d.cluster.Sources, err), err
}

// prepareClient applies the options to the client of the plan.
func (o Options) prepareClient(rate int64) func(*fetch.Client) error {
	return func(c *fetch.Client) error {
		c.OnWarning(func(text string) { o.Progress.Say("warning: %s", text) })
		if o.prepare != nil {
			o.prepare(c)
		}
		return c.Limit(rate)
	}
}

// parseRate reads a rate in bytes per second: 20MB, 512KiB/s; "" is no limit.
func parseRate(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := ui.ParseSize(strings.TrimSpace(strings.TrimSuffix(text, "/s")))
	if err != nil {
		return 0, advice.Usagef("--limit-rate %q: want bytes per second, such as 20MB or 512kB", text)
	}
	if n < fetch.MinRate {
		return 0, advice.Usagef("--limit-rate %s: the smallest limit is %s per second", text, ui.Size(fetch.MinRate))
	}
	return n, nil
}
