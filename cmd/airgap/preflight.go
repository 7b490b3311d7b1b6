package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
	"airgap.dev/airgap/registry"
)

const preflightLong = `Reads the facts of this server and judges them by what the bundle in DIR is
about to install. Nothing is changed. airgap install runs the same checks first.

A site sets limits of the checks, and which of them only warn, in airgap.yaml
under preflight.checks; airgap schema has the names.

With --all-hosts it checks the other hosts too, through SSH, and measures what
the network between all of them lets through: ports, packets of each size, a
real VXLAN, protocol 4, clocks. Without SSH between hosts, airgap netprobe
measures the same.

--output html is a page to be printed, or handed to those who look after the
servers. Where hosts cannot reach each other, each writes its own report with
--output json, and --reports makes one of them all, in any format.

Exit code 3 when a check fails, or when something could not be told.`

func (a *app) preflight() *cobra.Command {
	var keys []string
	var choice preflight.Choice
	var nodeName, explain, page string
	var list, indexOnly, reports, allHosts bool
	cmd := &cobra.Command{
		Use:   "preflight DIR | --reports FILE…",
		Short: "Check this server before anything on it is changed",
		Long:  preflightLong,
		Example: "  airgap preflight /media/stick/bank\n  airgap preflight /media/stick/bank --output junit > preflight.xml\n" +
			"  airgap preflight /media/stick/bank --output json > /media/stick/reports/$(hostname).json\n" +
			"  airgap preflight --reports /media/stick/reports --output html > preflight.html\n" +
			"  airgap preflight --explain disk-space",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case page != "" && !allHosts:
				return advice.Usagef("%s: --network-page is about several hosts: give --all-hosts, or use airgap netprobe", cmd.CommandPath())
			case allHosts && (indexOnly || list || reports || explain != ""):
				return advice.Usagef("%s: --all-hosts judges the hosts of a whole bundle: leave --index, --list, --explain and --reports away", cmd.CommandPath())
			case reports:
				return onlyReports(cmd, args)
			case list || explain != "":
				return noArgs(cmd, args)
			default:
				return oneArg("the bundle's directory")(cmd, args)
			}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case reports:
				return a.showReports(args)
			case list:
				return a.listChecks()
			case explain != "":
				return a.explainCheck(explain)
			case allHosts:
				return a.preflightAll(cmd.Context(), fleet.AllOptions{Dir: args[0], Keys: keys, Node: nodeName, Choice: choice}, page)
			case indexOnly:
				return a.preflightByIndex(cmd.Context(), args[0], keys, nodeName, choice)
			default:
				return a.preflightFrom(cmd.Context(), args[0], keys, nodeName, choice)
			}
		},
	}
	keyFlags(cmd, &keys)
	cmd.Flags().StringSliceVar(&choice.Skip, "skip", nil, "checks to leave out, by id")
	cmd.Flags().StringSliceVar(&choice.Only, "only", nil, "the checks to run, by id; default: all")
	cmd.Flags().StringVar(&nodeName, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().BoolVar(&indexOnly, "index", false, "DIR has the signed index and no parts, as on a host that is going to join; dnf is not asked")
	cmd.Flags().BoolVar(&allHosts, "all-hosts", false, "check all hosts of airgap.yaml through SSH, and the network between them; puts airgap.rpm on the others")
	pageFlag(cmd, &page)
	cmd.Flags().BoolVar(&list, "list", false, "list the checks")
	cmd.Flags().BoolVar(&reports, "reports", false, "judge nothing, but show the reports that are named in place of the bundle as one: files that --output json wrote on hosts, or directories of them (*.json)")
	cmd.Flags().StringVar(&explain, "explain", "", "say of one check, by id, what breaks without it and what a site may set")
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

// preflightFrom judges this host by the bundle in dir. Of a delta, a host that
// is to join has no base, and needs none: its packages come from the registry.
func (a *app) preflightFrom(ctx context.Context, dir string, keys []string, node string, choice preflight.Choice) error {
	b, t, err := site.Open(dir, keys)
	if err != nil {
		return err
	}
	defer b.Close()
	s, err := site.Fresh(b.Index(), node)
	if err != nil {
		return err
	}
	if s.Config.SSH == nil {
		if s, err = hostcheck.TakeMeasured(s, site.MeasuredFile); err != nil {
			return err
		}
	}
	s = s.With(site.Given{Medium: host.DeviceOf(dir)})
	store := registry.Store{Dir: site.StoreDir}
	stored, err := store.Holds(b, t.Keys...)
	if err != nil {
		return err
	}
	v, err := store.View(b, t.Keys...)
	joins := s.Node.Name != s.Config.Master().Name
	var dry func(context.Context) error
	switch {
	case err == nil:
		defer v.Close()
		dry = nodesteps.DryRunFrom(s, v)
	case !joins || !errors.Is(err, bundle.ErrBase):
		return err
	}
	report, err := hostcheck.Judge(ctx, s, choice, stored, dry)
	if err != nil {
		return err
	}
	return a.showPreflight(report)
}

// preflightAll judges all hosts and the network between them.
func (a *app) preflightAll(ctx context.Context, o fleet.AllOptions, page string) error {
	if err := cmp.Or(hostcheck.MustBeRoot("preflight --all-hosts"), site.CheckLater("--network-page", page)); err != nil {
		return err
	}
	o.Console = a.terminal()
	o.Measured = func(s *site.Site, m *netprobe.Matrix) error { return writeNetworkPage(s, page, m) }
	all, err := fleet.Judge(ctx, o)
	if err != nil {
		return err
	}
	return a.showAll(all, "mend what failed (airgap docs NAME has the page of a check) and run the command again")
}

// showAll prints the reports, and turns a bad one into exit code 3 with advice.
func (a *app) showAll(all preflight.Reports, next string) error {
	if !all.Passed() {
		return advice.Add(&preflight.ReportsError{Failed: all, All: all}, "%s", next)
	}
	return a.printReport(all, forms{all.Text, all.JUnit, all.HTML})
}

// showPreflight prints the report; exit code 3 where it is bad.
func (a *app) showPreflight(r preflight.Report) error {
	if err := hostcheck.Failed(r); err != nil {
		return err // which carries the report
	}
	return a.printReport(r, forms{r.Text, r.JUnit, preflight.Reports{r}.HTML})
}

// explained is a check without its code.
type explained struct {
	ID     string         `json:"id"`
	Title  string         `json:"title"`
	Breaks string         `json:"breaks"`
	Source string         `json:"source"`
	Role   preflight.Role `json:"role,omitempty"` // which it is for; all without one
	Limits []limitAllowed `json:"limits"`
}

// limitAllowed is what a site may set in airgap.yaml.
type limitAllowed struct {
	Name  string            `json:"name"` // preflight.checks.ID.NAME
	Unit  preflight.Measure `json:"unit"`
	About string            `json:"about"`
}

// explainCheck says of a check what nobody can look up at a site without internet.
func (a *app) explainCheck(id string) error {
	if err := a.noReport("airgap preflight --explain"); err != nil {
		return err
	}
	c, err := preflight.Lookup(id)
	if err != nil {
		return advice.Usagef("%v", err)
	}
	e := explained{ID: c.ID, Title: c.Title, Breaks: c.Breaks, Source: c.Source, Role: c.Role}
	for _, l := range c.Limits {
		e.Limits = append(e.Limits, limitAllowed{l.Name, l.Unit, l.About})
	}
	return a.print(e, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s\n\n  without it  %s\n", e.ID, e.Title, e.Breaks)
		if e.Role != "" {
			fmt.Fprintf(w, "  hosts       with the role %s\n", e.Role)
		}
		for _, l := range e.Limits {
			fmt.Fprintf(w, "  limit       %s (%s): %s\n", l.Name, l.Unit, l.About)
		}
		fmt.Fprintf(w, "  airgap.yaml preflight.checks.%s.severity: warn, and it only warns\n", e.ID)
		_, err := fmt.Fprintf(w, "  skip        --skip %s\n  source      %s\n", e.ID, e.Source)
		return err
	})
}

func (a *app) listChecks() error {
	if err := a.noReport("airgap preflight --list"); err != nil {
		return err
	}
	checks := preflight.Checks()
	type row struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Source string `json:"source"`
	}
	rows := make([]row, len(checks))
	for i, c := range checks {
		rows[i] = row{c.ID, c.Title, c.Source}
	}
	return a.print(rows, func(w io.Writer) error {
		for _, r := range rows {
			if _, err := fmt.Fprintf(w, "%-20s %-40s %s\n", r.ID, r.Title, r.Source); err != nil {
				return err
			}
		}
		return nil
	})
}
