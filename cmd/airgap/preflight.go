package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/preflight"
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

// preflightFlags say what is judged, or shown instead.
type preflightFlags struct {
	hostcheck.Options

	page, explain                      string
	list, byIndex, reports, everywhere bool
}

func preflightCommand(a *app) *cobra.Command {
	var o preflightFlags
	cmd := &cobra.Command{
		Use:   "preflight DIR | --reports FILE…",
		Short: "Check this server before anything on it is changed",
		Long:  preflightLong,
		Example: "  airgap preflight /media/stick/bank\n  airgap preflight /media/stick/bank --output junit > preflight.xml\n" +
			"  airgap preflight /media/stick/bank --output json > /media/stick/reports/$(hostname).json\n" +
			"  airgap preflight --reports /media/stick/reports --output html > preflight.html\n" +
			"  airgap preflight --explain disk-space",
		Args: func(cmd *cobra.Command, args []string) error { return o.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Dir = args[0]
			}
			switch {
			case o.reports:
				return a.finishReports(hostcheck.ReadReports(args))
			case o.list:
				return listChecks(a)
			case o.explain != "":
				return explainCheck(a, o.explain)
			case o.everywhere:
				return a.finishReports(fleet.Judge(cmd.Context(), fleet.AllOptions{Options: o.Options, Page: o.page, Console: a.terminal()}))
			case o.byIndex:
				return a.finishPreflight(hostcheck.ByIndex(cmd.Context(), o.Options))
			default:
				return a.finishPreflight(hostcheck.ByBundle(cmd.Context(), o.Options))
			}
		},
	}
	o.add(cmd)
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func (o *preflightFlags) add(cmd *cobra.Command) {
	keyFlags(cmd, &o.Keys)
	pageFlag(cmd, &o.page)
	f := cmd.Flags()
	f.StringSliceVar(&o.Choice.Skip, "skip", nil, "checks to leave out, by id")
	f.StringSliceVar(&o.Choice.Only, "only", nil, "the checks to run, by id; default: all")
	f.StringVar(&o.Node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	f.BoolVar(&o.byIndex, "index", false, "DIR has the signed index and no parts, as on a host that is going to join; dnf is not asked")
	f.BoolVar(&o.everywhere, "all-hosts", false, "check all hosts of airgap.yaml through SSH, and the network between them; puts airgap.rpm on the others")
	f.BoolVar(&o.list, "list", false, "list the checks")
	f.BoolVar(&o.reports, "reports", false, "judge nothing, but show the reports that are named in place of the bundle as one: files that --output json wrote on hosts, or directories of them (*.json)")
	f.StringVar(&o.explain, "explain", "", "say of one check, by id, what breaks without it and what a site may set")
}

// check wants flags that go together, and the arguments that go with them.
func (o *preflightFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case o.page != "" && !o.everywhere:
		return advice.Usagef("%s: --network-page is about several hosts: give --all-hosts, or use airgap netprobe", cmd.CommandPath())
	case o.everywhere && (o.byIndex || o.list || o.reports || o.explain != ""):
		return advice.Usagef("%s: --all-hosts judges the hosts of a whole bundle: leave --index, --list, --explain and --reports away", cmd.CommandPath())
	case o.reports:
		return onlyReports(cmd, args)
	case o.list || o.explain != "":
		return noArgs(cmd, args)
	default:
		return oneArg("the bundle's directory")(cmd, args)
	}
}

// onlyReports wants files, and refuses the flags that say how a host is judged:
// these were judged when their reports were written.
func onlyReports(cmd *cobra.Command, args []string) error {
	for _, flag := range []string{"list", "explain", "skip", "only", "node", "index", "all-hosts", "require-key"} {
		if cmd.Flags().Changed(flag) {
			return advice.Usagef("%s: --reports shows what was judged already: leave --%s away", cmd.CommandPath(), flag)
		}
	}
	if len(args) > 0 {
		return nil
	}
	return advice.Add(&coded{exitcode.Usage, fmt.Errorf("%s: --reports wants the reports' files, or their directory", cmd.CommandPath())}, "see %s --help", cmd.CommandPath())
}

// finishPreflight prints the report of a call, unless the error carries it.
func (a *app) finishPreflight(r preflight.Report, err error) error {
	if _, carried := errors.AsType[*preflight.ReportError](err); err != nil && (carried || len(r.Results) == 0) {
		return err
	}
	return errors.Join(a.printReport(r, forms{r.Text, r.JUnit, preflight.Reports{r}.HTML}), err)
}

// finishReports prints the reports of a call, unless there is an error, which may carry them.
func (a *app) finishReports(all preflight.Reports, err error) error {
	if err != nil {
		return err
	}
	return a.printReport(all, forms{all.Text, all.JUnit, all.HTML})
}
