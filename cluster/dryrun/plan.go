// Package dryrun runs a command with --dry-run: it returns the changes and makes none.
package dryrun

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

// Plan contains the changes that a command would make on each host.
type Plan struct {
	Preflight preflight.Report `json:"preflight"` // of this host
	Hosts     []Host           `json:"hosts"`     // this host first
}

// Host contains the changes on one host.
type Host struct {
	Node     string        `json:"node"`
	Address  string        `json:"address"`
	Roles    []config.Role `json:"roles"`
	Command  string        `json:"command"`  // command on that host: install, join
	Asked    bool          `json:"asked"`    // false: from airgap.yaml and the lock, not from the host
	UpToDate int           `json:"upToDate"` // number of steps that would not run
	Holds    int           `json:"holds"`    // old name of upToDate, for one release
	Steps    []Change      `json:"steps"`    // steps that would run
}

// Change contains the changes of one step that would run.
type Change struct {
	Step    string   `json:"step"`
	Title   string   `json:"title"`
	Changes []string `json:"changes"`
	// Incomplete is the reason why the changes are not known completely.
	Incomplete string `json:"incomplete,omitempty"`
	Untold     string `json:"untold,omitempty"` // old name of incomplete, for one release
}

// Command describes a command for a dry run.
type Command struct {
	Command  string
	Skip     []string
	Stored   bool // the bundle is in this host's store
	Packages func(context.Context) error
	Steps    func() ([]step.Step, error)
	Others   []Host
}

// Run checks this host, and asks each step for its changes. It takes no lock, because a lock is a file. It
// returns an error while another command changes the host.
func Run(ctx context.Context, s *site.Site, console ui.Console, r Command) (Plan, error) {
	if err := hostcheck.HostAtRest(); err != nil {
		return Plan{}, err
	}
	p := console.Progress()
	if err := hostcheck.AtRest(ctx, s, p); err != nil {
		return Plan{}, err
	}
	p.Now("Determine the changes")
	report, err := hostcheck.Judge(ctx, s, preflight.Choice{Skip: r.Skip}, r.Stored, r.Packages)
	if err != nil {
		return Plan{}, err
	}
	steps, err := r.Steps()
	if err != nil {
		return Plan{}, err
	}
	forecasts, err := step.Plan(ctx, steps)
	if err != nil {
		return Plan{}, err
	}
	here := HostFor(s.Node, r.Command)
	here.Asked = true
	here.add(forecasts)
	return Plan{report, append([]Host{here}, r.Others...)}, nil
}

// HostFor returns a host for the command, without steps.
func HostFor(n config.Node, command string) Host {
	return Host{Node: n.Name, Address: n.Address, Roles: n.Roles, Command: command}
}

func (h *Host) add(forecasts []step.Forecast) {
	for _, f := range forecasts {
		if f.UpToDate {
			h.UpToDate++
			h.Holds++
			continue
		}
		reason := incomplete(f.Incomplete)
		h.Steps = append(h.Steps, Change{Step: f.Step.Name, Title: f.Step.Title, Changes: f.Changes, Incomplete: reason, Untold: reason})
	}
}

// incomplete returns a short reason if an earlier step must run first. The error itself, about a file that does
// not exist yet, would look like a failure.
func incomplete(err error) string {
	if err == nil {
		return ""
	}
	return "more changes are known after the earlier steps"
}

func (d Plan) Write(w io.Writer) error {
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

func (h Host) write(w io.Writer) {
	fmt.Fprintf(w, "%s (%s, %s): airgap %s ", h.Node, h.Address, ui.Words(h.Roles), h.Command)
	switch {
	case !h.Asked:
		fmt.Fprintf(w, "would run %s; to see the changes, use --dry-run there\n", steps(len(h.Steps)))
	case len(h.Steps) == 0:
		fmt.Fprintf(w, "would change nothing: all %d steps are up to date\n", h.UpToDate)
	default:
		fmt.Fprintf(w, "would run %s; up to date: %d\n", steps(len(h.Steps)), h.UpToDate)
	}
	for _, s := range h.Steps {
		fmt.Fprintf(w, "  %-16s %s\n", s.Step, s.Title)
		for _, change := range s.Changes {
			fmt.Fprintf(w, "  %-16s   %s\n", "", change)
		}
		if len(s.Changes) == 0 && s.Incomplete != "" {
			fmt.Fprintf(w, "  %-16s   (%s)\n", "", s.Incomplete)
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
