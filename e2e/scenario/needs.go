package scenario

import (
	"errors"
	"strings"
)

// A Need is what a scenario, or a part of one, asks for beyond hosts on which it may
// be root: what it does, in words that follow "it". The lab's own servers have all
// of it, hosts of others none.
type Need string

// Needs.
const (
	NeedUpstream  Need = "takes images, charts and packages that only the lab's upstream has"
	NeedPower     Need = "cuts the servers' power"
	NeedNetwork   Need = "puts a balancer or another server into their network, or has it lose packets"
	NeedEmulated  Need = "is about emulated machines: their kernel, their clock, their sticks"
	NeedDisk      Need = "fills a disk that is there for that"
	NeedCards     Need = "wants cards, whose library and driver are stand-ins of the lab's"
	NeedThrowaway Need = "changes settings by hand that nobody puts back"
	NeedFresh     Need = "boots servers of its own"
	NeedMore      Need = "works on more than two servers"
	needAirGap    Need = "is about the lab's network, which leads nowhere"
)

// Elsewhere is an error that says why a scenario cannot run on hosts of others.
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

// WithNeed is a part that is left out on hosts of others.
func WithNeed(e *Env, n Need, p Part) Part {
	if e.hosts == nil {
		return p
	}
	return Part{Title: p.Title + " (left out: it " + string(n) + ")"}
}
