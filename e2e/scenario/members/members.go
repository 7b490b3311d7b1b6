// Package members has the scenarios in which hosts come, go and come back.
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

// apiGap is how long the API may be without an answer through the balancer, while
// a host comes or goes.
const apiGap = 20 * time.Second

// slowLook is how long too many members may seem to be sick: each look gives them two
// seconds, which one that has just begun to vote on a busy host may need.
const slowLook = 8 * time.Second

// sight is what somebody saw who asked etcd and the API server. Members is empty where
// etcd has not answered.
type sight struct {
	At      float64 // seconds since 1970
	API     bool
	Members []struct {
		Name          string
		Learner, Well bool
	}
}

// countMembers has a control-plane host look at etcd's members once a second.
func countMembers(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, membersScript, "sh", "-c", "cat >/run/members.py && systemd-run --quiet --unit=members sh -c 'exec python3 /run/members.py "+scenario.Vip.String()+":6443 >"+membersFile+"'")
	if err != nil {
		return err
	}
	return r.Want("count etcd's members", 0)
}

// membersAre wants exactly these, and all of them to vote.
func membersAre(ctx context.Context, m lab.Machine, want ...string) error {
	text, err := lab.Output(ctx, m, "sh", "-c", "sleep 2; tail -n 1 "+membersFile)
	if err != nil {
		return err
	}
	var last sight
	if err := json.Unmarshal([]byte(text), &last); err != nil {
		return err
	}
	var names []string
	for _, member := range last.Members {
		if member.Well && !member.Learner {
			names = append(names, member.Name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, want) || len(last.Members) != len(want) {
		return fmt.Errorf("etcd has %s, want %v, all well", text, want)
	}
	return nil
}

// counted judges what was seen: never were more members sick than the quorum bears,
// and the API was never away for long.
func counted(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	text, err := lab.Output(ctx, m, "sh", "-c", "systemctl stop members; cat "+membersFile)
	if err != nil {
		return err
	}
	looks, away, sick, err := spells(text)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "grow: %d looks; the API was away for %.1f s at most, more members sick than etcd bears, or no answer of etcd's, for %.1f s\n", looks, away.longest, sick.longest)
	if looks == 0 || away.longest > apiGap.Seconds() || sick.longest > slowLook.Seconds() {
		return fmt.Errorf("%d looks; the API was away for %.1f s, want at most %s; too many members were sick, or etcd did not answer, for %.1f s, want at most %s", looks, away.longest, apiGap, sick.longest, slowLook)
	}
	return nil
}

// spells counts looks, a line of JSON each, and measures for how long the API was away,
// and for how long nobody could say that etcd bears the members that are sick.
func spells(text string) (looks int, away, sick spell, err error) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); looks++ {
		var l sight
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return looks, away, sick, err
		}
		away.see(l.At, l.API)
		sick.see(l.At, l.bears())
	}
	return looks, away, sick, nil
}

// spell is the longest time for which something was not as it should be, in seconds:
// from the first look that shows it to the first one that does not.
type spell struct{ began, longest float64 }

func (s *spell) see(at float64, well bool) {
	if s.began > 0 {
		s.longest = max(s.longest, at-s.began)
	}
	if well {
		s.began = 0
	} else if s.began == 0 {
		s.began = at
	}
}

// bears reports whether etcd can do without the members that are sick. Where it has not
// said which members it has, nobody can tell: that proves nothing, and counts as no.
func (l sight) bears() bool {
	votes, sick := 0, 0
	for _, member := range l.Members {
		if member.Learner {
			continue
		}
		votes++
		if !member.Well {
			sick++
		}
	}
	return votes > 0 && sick <= (votes-1)/2
}
