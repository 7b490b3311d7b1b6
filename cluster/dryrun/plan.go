// Package dryrun runs a command with --dry-run: it returns the changes and makes none.
package dryrun

import (
	"context"
	"fmt"
	"io"
	"strings"

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
	// Preflight is the report of another host that was asked.
	Preflight *preflight.Report `json:"preflight,omitempty"`
	NotAsked  string            `json:"notAsked,omitempty"` // why another host was not asked, though it should be
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

// Write writes the changes on this host, those on the other hosts with equal hosts together, and the result of
// preflight.
func (d Plan) Write(w io.Writer) error {
	here := d.Hosts[0]
	fmt.Fprintf(w, "%s: %s\n\n", here.name(), here.says())
	for _, text := range others(d.Hosts[1:]) {
		fmt.Fprintf(w, "%s\n\n", text)
	}
	if failed := failedPreflight(d.Hosts[1:]); failed != "" {
		fmt.Fprintf(w, "preflight fails on %s; airgap preflight DIR --all-hosts shows the checks\n", failed)
	}
	if d.Preflight.Passed() {
		_, err := fmt.Fprintf(w, "preflight of %s: %s\nnothing was changed\n", here.Node, d.Preflight.Summary())
		return err
	}
	fmt.Fprintf(w, "preflight of ")
	return d.Preflight.Text(w)
}

// Passed reports whether preflight passed on this host and on the hosts that were asked.
func (d Plan) Passed() bool { return d.Preflight.Passed() && failedPreflight(d.Hosts[1:]) == "" }

func (h Host) name() string { return fmt.Sprintf("%s (%s, %s)", h.Node, h.Address, ui.Words(h.Roles)) }

// summary has the effect of the command on the host.
func (h Host) summary() string {
	text := "airgap " + h.Command + " would run " + steps(len(h.Steps))
	switch {
	case h.NotAsked != "":
		return fmt.Sprintf("the changes of airgap %s are not known: %s", h.Command, h.NotAsked)
	case !h.Asked:
		return text + "; to see the changes, use --all-hosts, or --dry-run there"
	case len(h.Steps) == 0:
		return fmt.Sprintf("airgap %s would change nothing: all %d steps are up to date", h.Command, h.UpToDate)
	default:
		return fmt.Sprintf("%s; up to date: %d", text, h.UpToDate)
	}
}

// says is the summary, with a line for each step and each change.
func (h Host) says() string {
	lines := []string{h.summary()}
	if h.NotAsked != "" {
		return lines[0]
	}
	for _, s := range h.Steps {
		lines = append(lines, fmt.Sprintf("  %-16s %s", s.Step, s.Title))
		for _, change := range s.Changes {
			lines = append(lines, fmt.Sprintf("  %-16s   %s", "", change))
		}
		if len(s.Changes) == 0 && s.Incomplete != "" {
			lines = append(lines, fmt.Sprintf("  %-16s   (%s)", "", s.Incomplete))
		}
	}
	return strings.Join(lines, "\n")
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}
