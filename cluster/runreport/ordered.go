package runreport

import (
	"fmt"
	"time"

	"airgap.dev/airgap/internal/host"
)

// Ordered is a run on another host that a run ordered there.
type Ordered struct {
	Host    string    `json:"host"`
	Command string    `json:"command"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Result  string    `json:"result"`
}

// link adds to each run the runs that it ordered on other hosts, in the order of the report. The link is the claim of the
// hosts.
func (r *Report) link() {
	ordered := map[string][]Ordered{}
	for _, h := range r.Hosts {
		for _, run := range h.Runs {
			if id := run.For.Run; id != "" {
				ordered[id] = append(ordered[id], Ordered{h.Host, run.Command, run.Began, run.Ended, run.Result})
			}
		}
	}
	for _, h := range r.Hosts {
		linked := map[string]bool{}
		for i := range h.Runs {
			run := &h.Runs[i]
			run.Others = nil
			if run.ID != "" && run.For == (host.Origin{}) && !linked[run.ID] {
				linked[run.ID] = true
				run.Others = ordered[run.ID]
			}
		}
	}
}

// String is a line below the run that ordered it.
func (o Ordered) String() string {
	return fmt.Sprintf("%s: %s, %s to %s UTC: %s", o.Host, o.Command, o.Began.UTC().Format(time.TimeOnly), o.Ended.UTC().Format(time.TimeOnly), o.Result)
}
