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
	needUpstream  Need = "takes images, charts and packages that only the lab's upstream has"
	needPower     Need = "cuts the servers' power"
	needNetwork   Need = "puts a balancer or another server into their network, or has it lose packets"
	needEmulated  Need = "is about emulated machines: their kernel, their clock, their sticks"
	needDisk      Need = "fills a disk that is there for that"
	needCards     Need = "wants cards, whose library and driver are stand-ins of the lab's"
	needThrowaway Need = "changes settings by hand that nobody puts back"
	needFresh     Need = "boots servers of its own"
	needMore      Need = "works on more than two servers"
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

// withNeed is a part that is left out on hosts of others.
func withNeed(e *Env, n Need, p part) part {
	if e.hosts == nil {
		return p
	}
	return part{title: p.title + " (left out: it " + string(n) + ")"}
}
