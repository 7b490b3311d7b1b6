package upgrade

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// Left are the hosts that a run has not changed, and why.
type Left struct {
	Why   string   `json:"why"` // "--until 04:00"
	Hosts []string `json:"hosts"`
	Of    int      `json:"of"` // hosts that the run began with

	skew string // how long the cluster may stay as it is
}

// stopped ends a run before a host or a batch.
type stopped struct {
	Left
	cause error // stop.ErrInterrupted; nil if a flag ended the run
}

func (s *stopped) Error() string {
	if len(s.Hosts) == 0 {
		return fmt.Sprintf("stopped (%s): all hosts are changed, and only the steps after them are left", s.Why)
	}
	return fmt.Sprintf("stopped (%s): %d of %s left: %s", s.Why, len(s.Hosts), ui.Count(s.Of, "host"), hostrange.Join(s.Hosts))
}

func (s *stopped) Unwrap() error { return s.cause }

// stopped returns the error that ends the run here.
func (r *rollout) stopped(why string, cause error) error {
	p := &r.pace
	return &stopped{Left{why, append(p.left(), p.later...), len(p.todo) + len(p.later), skew(r.isRollback())}, cause}
}

// owe records workers that the run leaves out.
func (p *pace) owe(record owed.File, why string, names ...string) error {
	var debts []owed.Debt
	for _, name := range names {
		debts = append(debts, owed.Debt{Node: name, Command: p.command, Why: why})
	}
	p.mu.Lock() // other workers end at the same time
	defer p.mu.Unlock()
	return record.Owe(debts...)
}

// oweLeftOut records the workers that --limit and --except leave out, and that are not settled.
func (r *rollout) oweLeftOut(settled func(name string) bool) error {
	var debts []owed.Debt
	r.pace.owed = nil
	for _, n := range r.site.Config.Nodes {
		if r.pace.out[n.Name] && !settled(n.Name) {
			debts = append(debts, owed.Debt{Node: n.Name, Command: r.pace.command, Why: r.pace.Choice.Why(n, r.site.Config.Nodes)})
			r.pace.owed = append(r.pace.owed, n.Name)
		}
	}
	return r.debts.Owe(debts...)
}

// ended returns what a run has left, after its steps ended with err. A stop that the user asked for with a flag is no
// error.
func (r *rollout) ended(err error) (*Left, error) {
	p := &r.pace
	s, is := errors.AsType[*stopped](err)
	if err != nil && !is {
		return nil, r.pace.withEarlier(err)
	}
	if !is {
		p.controlsAreDone(r.site.Config.ControlPlanes())
		why := "--limit"
		if p.Hosts > 0 {
			why = fmt.Sprintf("--hosts %d", p.Hosts)
		}
		if s, _ = errors.AsType[*stopped](r.stopped(why, nil)); len(s.Hosts) == 0 {
			return nil, nil //nolint:nilnil // nothing is left
		}
	}
	left := &s.Left
	var rest []string
	for _, name := range left.Hosts {
		if !p.hasFailed(name) { // these have their own reason
			rest = append(rest, name)
		}
	}
	if err := p.owe(r.debts, "the last run stopped: "+left.Why, rest...); err != nil {
		return nil, err
	}
	if failed := p.failures(); failed != nil {
		return nil, advice.Add(fmt.Errorf("%w\nthe run %s", failed, (&stopped{Left: *left}).Error()), "%s", advice.Of(failed))
	}
	if s.cause != nil {
		return nil, advice.Add(s, "%s. %s", left.next(), skew(r.isRollback()))
	}
	return left, nil
}

// controlsAreDone notes that no control-plane host is left: the steps of all of them have ended.
func (p *pace) controlsAreDone(nodes []config.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.todo = slices.DeleteFunc(p.todo, func(name string) bool {
		return slices.ContainsFunc(nodes, func(n config.Node) bool { return n.Name == name })
	})
}

// skew says how long the cluster may stay as it is.
func skew(rollback bool) string {
	if rollback {
		return "Kubernetes does not support kubelets that are newer than the API server, so continue soon"
	}
	return "Kubernetes supports kubelets that are up to three minor versions older than the API server, so the cluster may stay like this for days; " +
		"until the upgrade ends, airgap refuses another upgrade and the rotation of a CA"
}

// next is the hint for the rest.
func (l *Left) next() string {
	if len(l.Hosts) == 0 {
		return "run the same command again"
	}
	return "run the same command again: it continues with " + l.Hosts[0]
}

func (l *Left) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n%s\n%s\n", (&stopped{Left: *l}).Error(), l.next(), l.skew)
	return err
}
