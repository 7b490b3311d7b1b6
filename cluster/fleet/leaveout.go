package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
)

// LeftOut is a host that a command goes on without.
type LeftOut struct {
	Node   string `json:"node"`
	Why    string `json:"why"`
	Failed bool   `json:"failed,omitempty"` // it failed; else the user left it out, or it is absent
	Absent bool   `json:"absent,omitempty"` // by airgap.yaml

	err     error // of a failed host, with its hint
	address string
}

// Policy says which hosts a command leaves out, and how many may fail.
type Policy struct {
	fleet     *Fleet
	choosable bool // as in Options
	masters   bool // AllControlPlanes of Options
	choice    choice.Choice
	others    int       // other hosts of airgap.yaml
	out       []LeftOut // in the order in which they were left out
	tolerated int       // of out: nodes whose failed checks do not stop new nodes
	joining   atomic.Int32
}

// CheckChoice returns an error for a choice that airgap.yaml does not allow. No host is asked.
func CheckChoice(ctx context.Context, s *site.Site, c choice.Choice, noSSH bool) error {
	if _, _, err := c.Others(s.Config.Nodes, s.Node.Name); err != nil {
		return err
	}
	if (noSSH || !access.Used(ctx, s.Config)) && (c.Limit != nil || c.Except != nil || c.MaxFailures > 0) {
		return advice.Add(advice.Usagef("--limit, --except and --max-failures choose hosts that airgap reaches through SSH, and it uses none"),
			"add the section ssh to airgap.yaml and leave out --no-ssh, or run airgap join on the hosts of your choice")
	}
	return nil
}

// newPolicy returns the policy, and the other hosts that the command works on.
func newPolicy(s *site.Site, o Options) (*Policy, []config.Node, error) {
	c := o.Choice
	in, out, err := c.Others(s.Config.Nodes, s.Node.Name)
	if err != nil {
		return nil, nil, err
	}
	p := &Policy{choosable: o.Choosable, masters: o.AllControlPlanes, choice: c, others: len(in) + len(out)}
	for _, n := range out {
		p.out = append(p.out, LeftOut{Node: n.Name, Why: c.Why(n, s.Config.Nodes), Absent: n.Absent != nil})
	}
	return p, in, nil
}

// LeftOut returns the hosts that the command goes on without.
func (p *Policy) LeftOut() []LeftOut { return slices.Clone(p.out) }

// failures counts the hosts that have failed, except nodes whose failed checks are tolerated.
func (p *Policy) failures() int {
	n := int(p.joining.Load()) - p.tolerated
	for _, l := range p.out {
		if l.Failed {
			n++
		}
	}
	return n
}

// allows reports whether the command can go on without these hosts.
func (p *Policy) allows(failed []*Member) bool {
	return masterIn(failed) == "" && p.with(failed) <= p.choice.MaxFailures
}

// with counts the failures so far and these. A host that was not started has not failed.
func (p *Policy) with(failed []*Member) int {
	n := p.failures()
	for _, m := range failed {
		if !errors.Is(m.Err, errNotStarted) {
			n++
		}
	}
	return n
}

func masterIn(members []*Member) string {
	i := slices.IndexFunc(members, func(m *Member) bool { return m.Node.Has(config.ControlPlane) })
	if i < 0 {
		return ""
	}
	return members[i].Node.Name
}

// wayOut adds to an error how the command can go on without these hosts.
func (p *Policy) wayOut(err error, failed []*Member) error {
	var way string
	switch master, n := masterIn(failed), p.with(failed); {
	case !p.choosable || len(failed) == 0:
		return err
	case master != "" && p.masters:
		way = fmt.Sprintf("the command needs all control-plane hosts; to go on without %s, remove it from the cluster: airgap remove %[1]s --force", master)
	case master != "":
		way = fmt.Sprintf("to go on without the control-plane host %s, which the others then lack as a member of etcd and as a registry, add --except %[1]s", master)
	case p.choice.MaxFailures == 0:
		way = fmt.Sprintf("to go on without them and add them later, use --except %s or --max-failures %d", compact(memberNames(failed)), n)
	default:
		way = fmt.Sprintf("%s failed, and --max-failures allows %d", ui.Count(n, "host"), p.choice.MaxFailures)
	}
	return advice.Replace(err, "%s; %s", advice.Of(err), way)
}

// compact writes names as a value of --except.
func compact(names []string) string { return strings.ReplaceAll(hostrange.Join(names), ", ", ",") }

func memberNames(members []*Member) []string {
	var names []string
	for _, m := range members {
		names = append(names, m.Node.Name)
	}
	return names
}

// failed are the hosts whose last operation failed.
func (p *Policy) failed() []*Member {
	return slices.DeleteFunc(slices.Clone(p.fleet.Members), func(m *Member) bool { return m.Err == nil })
}

// GoOn is Fleet.Problems for a command that can go on without some hosts: it leaves out the failed hosts and returns nil if
// --max-failures allows it.
func (p *Policy) GoOn(ctx context.Context, what, next string) error {
	bad := p.fleet.Problems(ctx, what, next)
	failed := p.failed()
	if bad == nil || ctx.Err() != nil {
		return bad
	}
	if !p.allows(failed) {
		return p.wayOut(bad, failed)
	}
	for _, m := range failed {
		p.leaveOut(m, what)
	}
	return nil
}

// leaveOut goes on without a host.
func (p *Policy) leaveOut(m *Member, what string) {
	err := advice.Add(fmt.Errorf("%s: %w", what, m.Err), "%s", advice.Of(m.Err))
	first, _, _ := strings.Cut(err.Error(), "\n")
	p.fleet.console.Progress().Say("going on without %s: %s", m.Node.Name, first)
	m.log.note("left out: %v", err)
	m.hangUp()
	_ = m.log.Close() // a missing line must not stop the command
	p.out = append(p.out, LeftOut{Node: m.Node.Name, Why: first, Failed: true, err: err, address: m.address()})
	p.fleet.Members = slices.DeleteFunc(slices.Clone(p.fleet.Members), func(one *Member) bool { return one == m })
}

var errNotStarted = errors.New("not started")

// mayStart returns an error if no other host may start to join: the user pressed Ctrl-C, or too many have failed.
func (p *Policy) mayStart(ctx context.Context) error {
	if stop.IsAsked(ctx) {
		return fmt.Errorf("%w, because of Ctrl-C", errNotStarted)
	}
	if most := p.choice.MaxFailures; most > 0 && p.failures() > most {
		return fmt.Errorf("%w: more than %s failed (--max-failures)", errNotStarted, ui.Count(most, "host"))
	}
	return nil
}

// Settle records which hosts this run owes the changes of a command, and which it does not owe them any more. It
// returns an IncompleteError if the command went on without failed hosts. what describes failures of hosts that are
// not left out yet. After the first Ctrl-C it returns an error with the hosts that were not started.
func (p *Policy) Settle(ctx context.Context, record owed.File, command, what, next string) error {
	p.joining.Store(0) // the members have these failures
	paid := memberNames(slices.DeleteFunc(slices.Clone(p.fleet.Members), func(m *Member) bool { return m.Err != nil }))
	bad := p.stopped(ctx, what)
	if bad == nil {
		bad = p.GoOn(ctx, what, next)
	}
	var debts []owed.Debt
	for _, m := range p.failed() {
		debts = append(debts, owed.Debt{Node: m.Node.Name, Command: command, Why: what + ": " + m.Err.Error()})
	}
	current := p.current(ctx)
	_ = record.Exchange(ctx, p.fleet.site.Machine.Machine) // the call below reports a failure
	before, unread := record.Read()
	for _, l := range p.out {
		switch {
		case l.Absent || !l.Failed && current[l.Node]:
			paid = append(paid, l.Node)
		case l.Failed || !slices.ContainsFunc(before, func(d owed.Debt) bool { return d.Node == l.Node && d.Command == command }):
			debts = append(debts, owed.Debt{Node: l.Node, Command: command, Why: l.Why})
		}
	}
	err := errors.Join(bad, unread, record.Paid(command, paid...), record.Owe(debts...))
	if failed := record.Exchange(ctx, p.fleet.site.Machine.Machine); failed != nil {
		ui.Teller(p.fleet.console)("warning: %v; the next command sends it", failed)
	}
	if err != nil {
		return err
	}
	return p.incomplete()
}

// incomplete returns an error if failed hosts are left out.
func (p *Policy) incomplete() error {
	e := &IncompleteError{Others: p.others}
	for _, l := range p.out {
		if l.Failed {
			e.Left = append(e.Left, l)
		}
	}
	if len(e.Left) == 0 {
		return nil
	}
	return e
}

// IncompleteError says that a command has done its work without hosts that failed.
type IncompleteError struct {
	Left   []LeftOut
	Others int // other hosts of airgap.yaml
}

// Error has the failure of each host with its hint.
func (e *IncompleteError) Error() string {
	lines := []string{fmt.Sprintf("%d of %s left out, after a failure", len(e.Left), ui.Count(e.Others, "other host"))}
	var all []said
	for _, l := range e.Left {
		all = append(all, said{l.Node, l.address, cmp.Or(l.err, errors.New(l.Why))})
	}
	return strings.Join(append(lines, grouped(all)...), "\n")
}

// Hint is the command that picks the hosts up.
func (e *IncompleteError) Hint() string {
	return "fix the problems and run the same command again: it picks these hosts up; airgap status lists them until then"
}

// WriteLeftOut writes the hosts that a command left out, those with the same reason together: only the names and the
// addresses of the hosts may differ.
func WriteLeftOut(w io.Writer, all []LeftOut) {
	var reasons []alike.Said
	for _, l := range all {
		why := "left out: " + l.Why
		if !l.Failed {
			why = l.Why
		}
		reasons = append(reasons, alike.Said{Host: l.Node, Address: l.address, Text: why})
	}
	for _, g := range alike.InOrder(reasons) {
		fmt.Fprintf(w, "%s: %s\n", hostrange.Join(g.Hosts), g.Text)
	}
}
