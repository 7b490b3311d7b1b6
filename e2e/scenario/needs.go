package scenario

import (
	"errors"
	"strings"
)

// A Need is a requirement of a scenario, or of a part of one, in addition to hosts with root
// access. Its text follows "it". The lab's servers fulfil all needs, foreign hosts none.
type Need string

// Needs.
const (
	NeedUpstream  Need = "needs images, charts and packages that only the lab's upstream has"
	NeedPower     Need = "cuts the servers' power"
	NeedNetwork   Need = "adds a load balancer or another server to the network, or makes it drop packets"
	NeedEmulated  Need = "is about emulated machines: their kernel, their clock, their sticks"
	NeedDisk      Need = "fills a separate disk"
	NeedCards     Need = "needs GPUs, with the lab's replacements for NVIDIA's library and driver"
	NeedThrowaway Need = "changes settings and does not restore them"
	NeedFresh     Need = "boots additional servers"
	NeedMore      Need = "needs more than two servers"
	needAirGap    Need = "is about the lab's network, which has no route out"
)

// Elsewhere returns an error with the reason if a scenario cannot run on foreign hosts.
func (s Scenario) Elsewhere() error {
	if len(s.Needs) == 0 {
		return nil
	}
	var why []string
	for _, n := range s.Needs {
		why = append(why, string(n))
	}
	return errors.New("scenario " + s.Name + " runs in the lab only: it " + strings.Join(why, ", and it "))
}

// WithNeed returns a part that is skipped on foreign hosts.
func WithNeed(e *Env, n Need, p Part) Part {
	if e.hosts == nil {
		return p
	}
	return Part{Title: p.Title + " (skipped: it " + string(n) + ")"}
}
