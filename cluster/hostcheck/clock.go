package hostcheck

import (
	"errors"
	"fmt"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/registry/trust"
)

// Apart returns the error of the check clock-registry for a clock so wrong that the registry's certificate is not
// valid on this host.
func Apart(addr string, wrong *trust.ClockError) error {
	err := fmt.Errorf("this host's clock is %s; %w", preflight.Skew(addr, wrong.Ahead, time.Now()), wrong)
	return advice.Add(&preflight.FailedError{Err: err}, "%s", preflight.ClockFix)
}

// ClockAgrees runs the check clock-registry before the others. With a wrong clock the API server's certificate is
// not valid, so the host cannot use its join token.
func ClockAgrees(s *site.Site, skip []string) error {
	now := &facts.Facts{Time: facts.Time{Now: time.Now()}}
	result, err := preflight.RunOne("clock-registry", now, preflight.Want{Peer: s.Peer, Site: s.Config.Preflight}, skip)
	if err != nil || result.Status != preflight.Fail {
		return err
	}
	return advice.Add(&preflight.FailedError{Err: errors.New("check clock-registry: this host's clock is " + result.Found)}, "%s", result.Fix)
}
