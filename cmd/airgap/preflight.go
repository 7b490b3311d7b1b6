package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
)

const preflightLong = `Read the facts of this server and check whether the bundle in DIR can be installed on
it. Nothing is changed. airgap install runs the same checks first.

preflight.checks in airgap.yaml sets the limits of the checks, and turns failures into
warnings. airgap schema lists the names.

--all-hosts also checks the other hosts through SSH, and measures the network between all
of them: ports, packets of each size, a real VXLAN, protocol 4, clocks. Without SSH
between the hosts, airgap netprobe measures the same. The text groups equal findings of
several hosts, has the failures at its end, and names hosts that differ from most others,
for example by their kernel. --limit, --except and --max-failures leave hosts out, as in airgap
install. --output json has the report of each host.

--output html writes a page for printing, or for the server team. If hosts cannot reach
each other, write a report on each host with --output json; --reports combines them into
one report, in any format.

The exit code is 3 if a check fails or cannot be evaluated, and 5 if all checks pass but
hosts are left out after a failure.`

// preflightFlags select the checks to run, or other output.
type preflightFlags struct {
	hostcheck.Options

	page                               measure.File
	hosts                              choice.Choice
	explain                            string
	list, byIndex, reports, everywhere bool
}

func preflightCommand(a *app) *cobra.Command {
	var o preflightFlags
	cmd := &cobra.Command{
		Use:   "preflight DIR | --reports FILE…",
		Short: "Check this server before an installation",
		Long:  preflightLong,
		Example: "  airgap preflight /mnt/stick/bank\n  airgap preflight /mnt/stick/bank --output junit > preflight.xml\n" +
			"  airgap preflight /mnt/stick/bank --output json > /mnt/stick/reports/$(hostname).json\n" +
			"  airgap preflight --reports /mnt/stick/reports --output html > preflight.html\n" +
			"  airgap preflight --explain disk-space",
		Args: func(cmd *cobra.Command, args []string) error { return o.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Dir = args[0]
			}
			o.Say = func(format string, args ...any) { a.newProgress().Say(format, args...) }
			switch {
			case o.reports:
				return a.finishReports(hostcheck.ReadReports(args))
			case o.list:
				return listChecks(a)
			case o.explain != "":
				return explainCheck(a, o.explain)
			case o.everywhere:
				return a.finishReports(fleet.Judge(cmd.Context(), fleet.AllOptions{Options: o.Options, Page: o.page, Console: a.terminal(), Hosts: o.hosts}))
			case o.byIndex:
				return a.finishPreflight(hostcheck.ByIndex(cmd.Context(), o.Options))
			default:
				return a.finishPreflight(hostcheck.ByBundle(cmd.Context(), o.Options))
			}
		},
	}
	o.add(cmd)
	return withFormats(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func (o *preflightFlags) add(cmd *cobra.Command) {
	keyFlags(cmd, &o.Keys)
	pageFlags(cmd, &o.page)
	f := cmd.Flags()
	choiceFlags(f, &o.hosts)
	f.StringSliceVar(&o.Choice.Skip, "skip", nil, "IDs of the checks to skip")
	f.StringSliceVar(&o.Choice.Only, "only", nil, "IDs of the checks to run; default: all")
	f.StringVar(&o.Node, "node", "", "name of this host in airgap.yaml; default: by its addresses")
	f.BoolVar(&o.byIndex, "index", false, "DIR contains only the signed index, as on a host that is about to join; skips dnf")
	f.BoolVar(&o.everywhere, "all-hosts", false, "check all hosts of airgap.yaml through SSH, and the network between them; installs airgap.rpm on the other hosts")
	f.BoolVar(&o.list, "list", false, "list the checks")
	f.BoolVar(&o.reports, "reports", false, "combine reports of --output json instead of checking; the arguments are report files or directories with *.json")
	f.StringVar(&o.explain, "explain", "", "explain the check with this ID: the failure that it prevents, and its settings")
}

// check refuses flags that exclude each other, and wrong arguments.
func (o *preflightFlags) check(cmd *cobra.Command, args []string) error {
	if err := checkPage(cmd, &o.page); err != nil {
		return err
	}
	switch {
	case o.page.Path != "" && !o.everywhere:
		return advice.Usagef("%s: --network-page requires --all-hosts; without SSH use airgap netprobe", cmd.CommandPath())
	case !o.everywhere && (o.hosts.Limit != nil || o.hosts.Except != nil || o.hosts.MaxFailures != 0):
		return advice.Usagef("%s: --limit, --except and --max-failures require --all-hosts", cmd.CommandPath())
	case o.everywhere && (o.byIndex || o.list || o.reports || o.explain != ""):
		return advice.Usagef("%s: --all-hosts excludes --index, --list, --explain and --reports", cmd.CommandPath())
	case o.reports:
		return onlyReports(cmd, args)
	case o.list || o.explain != "":
		return noArgs(cmd, args)
	default:
		return oneArg("the directory of the bundle")(cmd, args)
	}
}

// onlyReports requires report files, and refuses the flags for checking a host: the reports
// have results already.
func onlyReports(cmd *cobra.Command, args []string) error {
	for _, flag := range []string{"list", "explain", "skip", "only", "node", "index", "all-hosts", "require-key"} {
		if cmd.Flags().Changed(flag) {
			return advice.Usagef("%s: --reports shows existing results: leave out --%s", cmd.CommandPath(), flag)
		}
	}
	if len(args) > 0 {
		return nil
	}
	return usageError(cmd, fmt.Errorf("%s: --reports requires report files or their directory", cmd.CommandPath()))
}

// finishPreflight prints the report of a call, unless the error contains the report.
func (a *app) finishPreflight(r preflight.Report, err error) error {
	if _, included := errors.AsType[*preflight.ReportError](err); err != nil && (included || len(r.Results) == 0) {
		return err
	}
	return errors.Join(a.printReport(r, reportWriters{r.Text, r.JUnit, preflight.Reports{r}.HTML}), err)
}

// finishReports prints the reports of a call, or returns its error, which can contain them.
func (a *app) finishReports(all preflight.Reports, err error) error {
	if err != nil {
		return err
	}
	return a.printReport(all, reportWriters{all.Text, all.JUnit, all.HTML})
}
