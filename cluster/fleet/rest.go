package fleet

import (
	"context"
	"fmt"
	"time"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/advice"
)

// atRest returns the membership of a host. It waits for the airgap command of an interrupted run there: until its end the
// facts of the host still change. The wait is on the screen and in the log of the host.
func atRest(ctx context.Context, f *Fleet, m *Member) (join.Membership, error) {
	var waiting *activity
	for until := time.Now().Add(patience); ; {
		here, err := m.Membership(ctx)
		if err != nil || here.Busy == "" || !f.awaitsBusy {
			return here, err
		}
		if time.Now().After(until) {
			return here, advice.Add(fmt.Errorf("wait %s for %s, which an interrupted run left running", patience, here.Busy),
				"wait for its end and run the same command again; on %s, airgap status shows its steps", m.Node.Name)
		}
		if waiting == nil {
			waiting = &activity{here.Busy + " of an interrupted run", time.Now()}
			m.log.note("waiting for %s until %s", waiting.what, until.Format("15:04:05"))
		}
		m.activity.Store(waiting)
		if err := wait(ctx, knockAgain); err != nil {
			return here, err
		}
	}
}
