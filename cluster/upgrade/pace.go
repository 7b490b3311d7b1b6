package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/batches"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
)

// Pace has the flags for the speed of an upgrade or a rollback, and for the workers that it leaves out.
type Pace struct {
	Choice         choice.Choice
	Batch          string     // number of workers at the same time, or a part of all; "": as airgap.yaml has it
	MaxUnavailable AtLeastOne // 0: as airgap.yaml has it
	Until          string     // local time, HH:MM: no batch begins that would end later; "": no limit
	Hosts          AtLeastOne // at most so many more workers in this run; 0: all
	Confirm        bool       // ask before each host or batch after the first
}

// AtLeastOne is a flag with a number.
type AtLeastOne int

func (n *AtLeastOne) String() string {
	if n == nil || *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// Set implements the value of a flag.
func (n *AtLeastOne) Set(text string) error {
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return errors.New("want a number of at least 1")
	}
	*n = AtLeastOne(number)
	return nil
}

// Type implements the value of a flag.
func (*AtLeastOne) Type() string { return "int" }

// pace is the pace of one run, with its progress so far.
type pace struct {
	Pace
	command string          // "upgrade" or "rollback"
	except  map[string]bool // workers that --except names: the upgrade ends without them
	out     map[string]bool // all nodes that the run does not work on
	until   time.Time       // zero: no limit
	asking  *ui.Asking      // nil without --confirm

	size     int             // of a batch
	known    int             // other nodes of airgap.yaml
	begun    int             // hosts and batches that have begun in this run
	began    time.Time       // the current one
	times    batches.Times   // of batches of workers
	controls batches.Times   // of control-plane hosts
	todo     []string        // hosts that were not changed at the begin of the run, in their order
	later    []string        // workers that --limit leaves to another run
	owed     []string        // workers that --limit and --except leave out
	failed   []fleet.LeftOut // within the permitted failures
	settled  func()          // ends the work that a first Ctrl-C waits for; nil before it

	mu       sync.Mutex
	done     map[string]bool // of todo
	unproved map[bool]bool   // no worker without GPUs (false), or with GPUs (true), was changed
}

// set takes the flags, or returns an error about one. It is called before anything starts.
func (p *pace) set(command string, o Pace, console ui.Console) error {
	p.Pace, p.command = o, command
	if _, err := batches.Size(o.Batch).Of(1); err != nil {
		return advice.Usagef("--batch %s: %w", o.Batch, err)
	}
	if o.MaxUnavailable < 0 || o.Hosts < 0 {
		return advice.Usagef("--max-unavailable %d, --hosts %d: want numbers of at least 1", o.MaxUnavailable, o.Hosts)
	}
	if o.Until != "" {
		var err error
		if p.until, err = batches.Until(o.Until, time.Now()); err != nil {
			return advice.Usagef("--until %s: %w", o.Until, err)
		}
	}
	if o.Confirm && !console.Attended() {
		return advice.Usagef("airgap %s --confirm: cannot ask without a terminal; use --hosts N for a limited number of workers", command)
	}
	return nil
}

// choose applies --limit and --except to the nodes of airgap.yaml. Control-plane hosts cannot be left out.
func (p *pace) choose(nodes []config.Node) error {
	_, out, err := p.Choice.Of(nodes)
	if err != nil {
		return err
	}
	p.known = len(nodes) - 1
	p.except, p.out = map[string]bool{}, map[string]bool{}
	_, excepted, err := choice.Choice{Except: p.Choice.Except}.Of(nodes)
	if err != nil {
		return err
	}
	for _, n := range excepted { // absent nodes are among them
		if !n.Has(config.ControlPlane) {
			p.except[n.Name] = true
			continue
		}
		why := "is absent by airgap.yaml"
		if n.Absent == nil {
			why = "is a control-plane host, and cannot be left out with --except"
		}
		return advice.Add(advice.Usagef("airgap %s: %s %s: all control-plane hosts need the same version", p.command, n.Name, why),
			"repair it, or remove it from the cluster: airgap remove %s --force", n.Name)
	}
	for _, n := range out {
		if !n.Has(config.ControlPlane) {
			p.out[n.Name] = true
		}
	}
	return nil
}

// works returns the nodes that the run works on.
func (p *pace) works(nodes []config.Node) []config.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n config.Node) bool { return p.out[n.Name] })
}

// setSize sets the number of workers in a batch, in a cluster with this number of workers.
func (p *pace) setSize(c batches.Config, workers int) {
	n, err := batches.Size(cmp.Or(p.Batch, string(c.Batch))).Of(workers)
	if err != nil { // judged before
		n = 1
	}
	if most := p.most(c); most > 0 {
		n = min(n, most)
	}
	p.size = n
}

// most returns how many workers may be unavailable at the same time; 0: there is no limit.
func (p *pace) most(c batches.Config) int { return cmp.Or(int(p.MaxUnavailable), c.MaxUnavailable) }

// progress starts the progress of the run.
func (p *pace) progress(c ui.Console) ui.Progress {
	if !p.Confirm {
		return c.Progress()
	}
	p.asking = ui.NewAsking(c)
	return p.asking
}

// may returns the May of a step that changes the hosts of a group: whether it begins now. The first Ctrl-C waits for
// the hosts after that.
func (r *rollout) may(names ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		p := &r.pace
		if stop.IsAsked(ctx) {
			return r.stopped("Ctrl-C", stop.ErrInterrupted)
		}
		if now, expected := time.Now(), cmp.Or(p.times.Next(), p.controls.Next()); !p.until.IsZero() && now.Add(expected).After(p.until) {
			why := "--until " + p.Until
			if expected > 0 {
				why += fmt.Sprintf(": %s would take about %s", label(names), batches.About(expected))
			}
			return r.stopped(why, nil)
		}
		if err := r.confirm(ctx, names); err != nil {
			return err
		}
		r.work(ctx)
		queue(r)
		p.begun, p.began = p.begun+1, time.Now()
		return nil
	}
}

// queue shows the other hosts that are not changed yet as waiting: they have ended their preparation.
func queue(r *rollout) {
	if r.fleet == nil {
		return
	}
	ui.Queue(r.p, slices.DeleteFunc(r.pace.left(), func(name string) bool { return name == r.site.Node.Name }))
}

// confirm asks before each group after the first.
func (r *rollout) confirm(ctx context.Context, names []string) error {
	p := &r.pace
	if p.asking == nil || p.begun == 0 {
		return nil
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop.Asked(ctx):
			cancel()
		case <-asking.Done():
		}
	}()
	question := fmt.Sprintf("%s next, %s left. Type yes to continue: ", hostrange.Join(names), ui.Count(len(p.left()), "host"))
	answer, err := p.asking.Ask(asking, question)
	switch {
	case stop.IsAsked(ctx):
		return r.stopped("Ctrl-C", stop.ErrInterrupted)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || strings.TrimSpace(answer) != "yes":
		return r.stopped("not confirmed (--confirm)", nil)
	}
	return nil
}

// work announces hosts in work: the first Ctrl-C waits for them.
func (r *rollout) work(ctx context.Context) {
	if r.pace.settled != nil {
		return
	}
	done, over, watched := stop.Finish(ctx), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-stop.Asked(ctx):
			r.p.Say("Ctrl-C: airgap %s stops after the hosts in work and the comparison of the cluster. A second Ctrl-C stops at once", r.pace.command)
		case <-over:
		}
	}()
	r.pace.settled = func() { done(); close(over); <-watched }
}

// end ends the work of a run.
func (p *pace) end() {
	if p.settled != nil {
		p.settled()
		p.settled = nil
	}
}

// left returns the hosts that the run has not changed yet.
func (p *pace) left() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.todo), func(name string) bool { return p.done[name] })
}

// reaching are the options of the connections to the other hosts. All control-plane hosts are among them, also with
// --limit.
func (p *pace) reaching(console ui.Console, skip []string, noSSH bool) fleet.Options {
	return fleet.Options{
		Console: console, Skip: skip, NoSSH: noSSH, Choosable: true, AllControlPlanes: true,
		Choice: choice.Choice{MaxFailures: p.Choice.MaxFailures, Except: slices.Sorted(maps.Keys(p.out))},
	}
}

// reach makes the run work through SSH; f is nil without it.
func (r *rollout) reach(f *fleet.Fleet) {
	if f != nil {
		f.AwaitBusy()
		r.leftOut = f.Policy.LeftOut
	}
}
