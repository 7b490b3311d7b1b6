package main

import (
	"context"
	"fmt"
	"io"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
)

// DryRun is what a command would change, and on which host.
type dryRun struct {
	Preflight preflight.Report `json:"preflight"` // of this host
	Hosts     []hostPlan       `json:"hosts"`     // this one first
}

// hostPlan is what would change on one host.
type hostPlan struct {
	Node    string        `json:"node"`
	Address string        `json:"address"`
	Roles   []config.Role `json:"roles"`
	Command string        `json:"command"` // that does it there: install, join
	Asked   bool          `json:"asked"`   // false: told by airgap.yaml and the lock, not by the host
	Holds   int           `json:"holds"`   // steps that would not run
	Steps   []stepPlan    `json:"steps"`   // those that would run
}

// stepPlan is what a step that would run changes.
type stepPlan struct {
	Step    string   `json:"step"`
	Title   string   `json:"title"`
	Changes []string `json:"changes"`
	// Untold says why it changes more, or less, than can be told now.
	Untold string `json:"untold,omitempty"`
}

// rehearsal is a command with everything that it would do but for the doing.
type rehearsal struct {
	command  string
	skip     []string
	stored   bool // the bundle is in this host's store
	packages func(context.Context) error
	steps    []step.Step
	others   []hostPlan
}

// rehearse judges this host and asks the steps. It takes no lock, since that
// makes a file, but does not go on while another command changes the host.
func rehearse(ctx context.Context, s *site.Site, console ui.Console, r rehearsal) (dryRun, error) {
	if err := hostcheck.HostAtRest(); err != nil {
		return dryRun{}, err
	}
	p := console.Progress()
	if err := hostcheck.AtRest(ctx, s, p); err != nil {
		return dryRun{}, err
	}
	p.Now("Ask what would change")
	report, err := hostcheck.Judge(ctx, s, preflight.Choice{Skip: r.skip}, r.stored, r.packages)
	if err != nil {
		return dryRun{}, err
	}
	forecasts, err := step.Plan(ctx, r.steps)
	if err != nil {
		return dryRun{}, err
	}
	here := planFor(s.Node, r.command)
	here.Asked = true
	here.add(forecasts)
	return dryRun{report, append([]hostPlan{here}, r.others...)}, nil
}

func planFor(n config.Node, command string) hostPlan {
	return hostPlan{Node: n.Name, Address: n.Address, Roles: n.Roles, Command: command}
}

func (h *hostPlan) add(forecasts []step.Forecast) {
	for _, f := range forecasts {
		if f.Holds {
			h.Holds++
			continue
		}
		h.Steps = append(h.Steps, stepPlan{Step: f.Step.Name, Title: f.Step.Title, Changes: f.Changes, Untold: untold(f.Untold)})
	}
}

// untold leaves it at that where an earlier step has to run first: the error
// itself, of a file that is not there yet, would look like a failure.
func untold(err error) string {
	if err == nil {
		return ""
	}
	return "more when the steps before it have run"
}

func (d dryRun) write(w io.Writer) error {
	for _, h := range d.Hosts {
		h.write(w)
	}
	if d.Preflight.Passed() {
		_, err := fmt.Fprintf(w, "preflight of %s: %s\nnothing was changed\n", d.Hosts[0].Node, d.Preflight.Summary())
		return err
	}
	fmt.Fprintf(w, "preflight of ")
	return d.Preflight.Text(w)
}

func (h hostPlan) write(w io.Writer) {
	fmt.Fprintf(w, "%s (%s, %s): airgap %s ", h.Node, h.Address, list(h.Roles), h.Command)
	switch {
	case !h.Asked:
		fmt.Fprintf(w, "would run %s; --dry-run there says what is left to change\n", steps(len(h.Steps)))
	case len(h.Steps) == 0:
		fmt.Fprintf(w, "would change nothing: all %d steps hold\n", h.Holds)
	default:
		fmt.Fprintf(w, "would run %s; holding already: %d\n", steps(len(h.Steps)), h.Holds)
	}
	for _, s := range h.Steps {
		fmt.Fprintf(w, "  %-16s %s\n", s.Step, s.Title)
		for _, change := range s.Changes {
			fmt.Fprintf(w, "  %-16s   %s\n", "", change)
		}
		if len(s.Changes) == 0 && s.Untold != "" {
			fmt.Fprintf(w, "  %-16s   (%s)\n", "", s.Untold)
		}
	}
	fmt.Fprintln(w)
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}
