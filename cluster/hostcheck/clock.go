package hostcheck

import (
	"errors"
	"fmt"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry/trust"
)

// Apart says by how much the clocks differ where that is so much that not even
// the registry's certificate is valid here, and ends as the checks would.
func Apart(addr string, wrong *trust.ClockError) error {
	err := fmt.Errorf("this host's clock is %s; %w", preflight.Skew(addr, wrong.Ahead, time.Now()), wrong)
	return advice.Add(&preflight.FailedError{Err: err}, "%s", preflight.ClockFix)
}

// ClockAgrees makes one of the checks before the others: with a wrong clock the
// code cannot even be shown to the API server, whose certificate would not be
// valid yet.
func ClockAgrees(s *site.Site, skip []string) error {
	facts := &preflight.Facts{Time: preflight.Time{Now: time.Now()}}
	result, err := preflight.RunOne("clock-registry", facts, preflight.Want{Peer: s.Peer, Site: s.Config.Preflight}, skip)
	if err != nil || result.Status != preflight.Fail {
		return err
	}
	return advice.Add(&preflight.FailedError{Err: errors.New("check clock-registry: this host's clock is " + result.Found)}, "%s", result.Fix)
}
