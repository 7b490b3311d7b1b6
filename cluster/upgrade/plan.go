package upgrade

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/batches"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// Plan describes the changes of an upgrade in their order.
type Plan struct {
	upgraderecord.Record
	Stages  []Stage  `json:"stages"`
	LeftOut []string `json:"leftOut,omitempty"` // workers that --limit and --except leave out
	// Failed are the workers that --max-failures leaves out.
	Failed []fleet.LeftOut `json:"failed,omitempty"`
	Later  []string        `json:"later,omitempty"` // workers of a later run, by --hosts

	perStep  time.Duration // of a host or batch in earlier upgrades; 0: unknown
	rollback string
	changed  string // changes that the dry run itself has made
}

// usualStep is the time of a host or batch before the first upgrade of a cluster: a guess, and shown as one.
const usualStep = 5 * time.Minute

// Write prints the plan. For 100 hosts it fits a screen of 24 rows and 80 columns.
func (p Plan) Write(w io.Writer) error {
	fmt.Fprintf(w, "all checks pass; Kubernetes %s → %s, in this order:\n\n", p.From.Kubernetes, p.To.Kubernetes)
	if err := writeStages(w, p.Stages); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", p.estimate())
	if len(p.Later) > 0 {
		fmt.Fprintf(w, "later, with the same command again: %s\n", hostrange.Join(p.Later))
	}
	if len(p.LeftOut) > 0 {
		fmt.Fprintf(w, "left out: %s\n", hostrange.Join(p.LeftOut))
	}
	fleet.WriteLeftOut(w, p.Failed)
	_, err := fmt.Fprintf(w, "%s\n%s\n", p.rollback, p.changed)
	return err
}

// estimate says how long the upgrade takes.
func (p Plan) estimate() string {
	steps := 0
	for _, s := range p.Stages {
		steps += s.Steps
	}
	if p.perStep > 0 {
		return fmt.Sprintf("about %s: %s, by the times of earlier upgrades", batches.About(time.Duration(steps)*p.perStep), ui.Count(steps, "step"))
	}
	return fmt.Sprintf("about %s if each of the %s takes %s; the run measures it", batches.About(time.Duration(steps)*usualStep), ui.Count(steps, "step"), batches.About(usualStep))
}

// writeStages prints the stages as a table.
func writeStages(w io.Writer, all []Stage) error {
	racks := false
	for _, s := range all {
		racks = racks || len(s.Racks) > 0
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heading := "STEP\tHOSTS\tCOUNT\tHOW"
	if racks {
		heading = "STEP\tHOSTS\tCOUNT\tRACK\tHOW"
	}
	fmt.Fprintln(t, heading)
	next := 1
	for _, s := range all {
		columns := []string{s.numbers(next), s.shown(), fmt.Sprint(len(s.Hosts))}
		if racks {
			columns = append(columns, s.rack())
		}
		fmt.Fprintln(t, strings.Join(append(columns, s.how()), "\t"))
		next += s.Steps
	}
	return t.Flush()
}

func (u *upgrade) plan() Plan {
	p := Plan{Record: u.record, Failed: u.pace.failed, rollback: u.rollbackNote(), changed: "nothing was changed"}
	if u.fleet != nil { // each host is checked by its own airgap
		p.changed += ", except that the other hosts now have this bundle's airgap.rpm"
	}
	var controlPlane, workers []config.Node
	for _, n := range u.drains() {
		if n.Has(config.ControlPlane) {
			controlPlane = append(controlPlane, n)
		} else {
			workers = append(workers, n)
		}
	}
	u.pace.todo, u.pace.unproved = nil, map[bool]bool{false: true, true: true}
	groups := u.groups(workers, u.workers())
	p.Stages = stages(controlPlane, groups)
	now := map[string]bool{}
	for _, g := range groups {
		for _, name := range g.names() {
			now[name] = true
		}
	}
	for _, n := range workers {
		if !now[n.Name] {
			p.Later = append(p.Later, n.Name)
		}
	}
	for _, n := range u.site.Config.Nodes {
		if u.pace.out[n.Name] {
			p.LeftOut = append(p.LeftOut, n.Name)
		}
	}
	return p
}

// earlierTimes returns the mean time of a host or batch with its comparison, by the journal of this host; 0 if the
// journal has none.
func earlierTimes(journal *step.Journal) (time.Duration, error) {
	entries, err := journal.Entries()
	if err != nil {
		return 0, err
	}
	began, upgraded := map[string]time.Time{}, map[string]time.Duration{}
	var total time.Duration
	hosts := 0
	for _, e := range entries {
		at, is := began[e.Step]
		delete(began, e.Step)
		if e.Event == step.Began {
			began[e.Step] = e.Time
		}
		if e.Event != step.Ended || !is {
			continue
		}
		took := e.Time.Sub(at)
		if name, is := strings.CutPrefix(e.Step, hostName); is {
			upgraded[name] = took
		}
		if name, is := strings.CutPrefix(e.Step, compareName); is && upgraded[name] > 0 {
			total += upgraded[name] + took
			hosts++
			delete(upgraded, name)
		}
	}
	if hosts == 0 {
		return 0, nil
	}
	return total / time.Duration(hosts), nil
}
