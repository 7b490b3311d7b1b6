// Package members has the scenarios in which hosts join, are removed, and are restored.
package members

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

//go:embed members.py
var membersScript string

const membersFile = "/run/members.jsonl"

// apiGap is the longest allowed outage of the API at the load balancer, while a host joins
// or is removed.
const apiGap = 20 * time.Second

// quorumGap is the longest time for which too many members may look unhealthy. Each request
// has a timeout of two seconds, which a new voting member on a busy host may exceed.
const quorumGap = 8 * time.Second

// observation is one line of members.py: the state of the API server and of etcd's members.
// Members is empty when etcd did not answer.
type observation struct {
	At      float64 // seconds since 1970
	API     bool
	Members []struct {
		Name             string
		Learner, Healthy bool
	}
}

// countMembers starts a program on a control-plane host that checks etcd's members once a second.
func countMembers(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, membersScript, "sh", "-c", "cat >/run/members.py && systemd-run --quiet --unit=members sh -c 'exec python3 /run/members.py "+scenario.Vip.String()+":6443 >"+membersFile+"'")
	if err != nil {
		return err
	}
	return r.Want("count etcd's members", 0)
}

// membersAre checks that etcd has exactly these members, all of them healthy and voting.
func membersAre(ctx context.Context, m lab.Machine, want ...string) error {
	text, err := lab.Output(ctx, m, "sh", "-c", "sleep 2; tail -n 1 "+membersFile)
	if err != nil {
		return err
	}
	var last observation
	if err := json.Unmarshal([]byte(text), &last); err != nil {
		return err
	}
	var names []string
	for _, member := range last.Members {
		if member.Healthy && !member.Learner {
			names = append(names, member.Name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, want) || len(last.Members) != len(want) {
		return fmt.Errorf("etcd has %s, want %v, all healthy", text, want)
	}
	return nil
}

// counted checks the observations: there was always a quorum of healthy members, except for a
// short time, and no long outage of the API.
func counted(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	text, err := lab.Output(ctx, m, "sh", "-c", "systemctl stop members; cat "+membersFile)
	if err != nil {
		return err
	}
	count, down, noQuorum, err := outages(text)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "grow: %d observations; longest outage of the API %.1f s; longest time without a healthy quorum, or without an answer of etcd, %.1f s\n", count, down.longest, noQuorum.longest)
	if count == 0 || down.longest > apiGap.Seconds() || noQuorum.longest > quorumGap.Seconds() {
		return fmt.Errorf("%d observations; the API did not answer for %.1f s, want at most %s; etcd had no healthy quorum, or did not answer, for %.1f s, want at most %s", count, down.longest, apiGap, noQuorum.longest, quorumGap)
	}
	return nil
}

// outages counts observations, one line of JSON each. It measures the outages of the API, and the
// times in which etcd had no healthy quorum, or did not answer.
func outages(text string) (count int, down, noQuorum outage, err error) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); count++ {
		var o observation
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return count, down, noQuorum, err
		}
		down.add(o.At, o.API)
		noQuorum.add(o.At, o.quorum())
	}
	return count, down, noQuorum, nil
}

// outage measures the longest outage in seconds: from the first observation with a problem to
// the first one without it.
type outage struct{ began, longest float64 }

func (o *outage) add(at float64, ok bool) {
	if o.began > 0 {
		o.longest = max(o.longest, at-o.began)
	}
	if ok {
		o.began = 0
	} else if o.began == 0 {
		o.began = at
	}
}

// quorum reports whether enough voting members of etcd are healthy. It is false when etcd did
// not list its members, since that proves nothing.
func (o observation) quorum() bool {
	votes, unhealthy := 0, 0
	for _, member := range o.Members {
		if member.Learner {
			continue
		}
		votes++
		if !member.Healthy {
			unhealthy++
		}
	}
	return votes > 0 && unhealthy <= (votes-1)/2
}
