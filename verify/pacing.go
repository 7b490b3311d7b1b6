package verify

import "time"

const (
	shortestPause = 5 * time.Millisecond // between two rounds of judging
	longestPause  = 500 * time.Millisecond
	paceWindow    = 2 * time.Second // time without judging that may be used later
)

// pacing limits judging to a tenth of a processor. The first rounds of a run, and those after a quiet
// time, follow each other without a long pause: in a small cluster they are all that a user waits for.
type pacing struct{ due time.Time }

// pause returns the pause after a round that began and ended then.
func (p *pacing) pause(began, ended time.Time) time.Duration {
	p.due = later(p.due, ended.Add(-paceWindow)).Add(10 * ended.Sub(began))
	return min(max(p.due.Sub(ended), shortestPause), longestPause)
}
