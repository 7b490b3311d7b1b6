package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify"
)

const verifyLong = `Watch nodes, system workloads and running images through informers, and the connections
of pods on every node in the pod network. The command ends when all rules have passed for
the whole soak window, or after --timeout. For each broken rule it then shows the object,
the last observation, and the fix.

A control-plane host requires no flags. On other hosts, use --kubeconfig, and --registry
with --ca to look up images.

--watch keeps running and prints each change, until a signal or an explicit --timeout.
With --output json each change is one JSON object per line. event is broken, unseen (the
rule cannot be evaluated), changed, fixed (afterSeconds is the duration of the
fault), healthy (nothing is broken or unseen) or, as the last line, result with the report.
One object of the cluster causes at most one line per second; leftOut counts the skipped
lines.

--baseline save FILE records the state of the cluster at the end: use it before a change.
--baseline compare FILE, after the change, fails only for new findings. Missing nodes,
missing workloads and restarted containers are findings, too. Earlier findings and changed
versions or images are reported, but do not change the result.

--since also reports past faults: failed or restarted containers, nodes with a changed
Ready condition, evicted pods.

--namespace is for users with access to some namespaces only. It skips the rules that
require more than pods, workloads and their images.

A rule passes only if its objects were observed. It is unseen if an observation is
missing, such as the report of a host; this counts as broken. It is n/a if the cluster
does not have the optional object, such as a GPU. A rule in --only is never n/a: without
an observation it is unseen.

--output html writes a page for a change ticket. --textfile writes the result for
Prometheus, to the directory of the textfile collector of node_exporter; with --watch
after each change, and once a minute.

` + upkeep.VerifyTimer + ` runs airgap verify every day on each control-plane host. The results are
in journalctl -u airgap-verify. The last result is in ` + upkeep.MetricsDir + `
for node_exporter (--collector.textfile.directory). ` + upkeep.VerifyService + ` is failed if
the last result is not ok.

The ClusterRole ` + verify.ReaderRole + ` has read-only permissions for this command:
kubectl create clusterrolebinding NAME --clusterrole ` + verify.ReaderRole + ` --user USER

The exit code is 4 if a rule is broken or unseen, with --watch at the end.`

const verifyExample = "  airgap verify\n  airgap verify --timeout 10m --output junit > verify.xml\n" +
	"  airgap verify --baseline save before.json\n" +
	"  airgap verify --baseline compare before.json --output html > change-4711.html\n" +
	"  airgap verify --since 2h --only nodes-ready,pods\n" +
	"  airgap verify --watch --textfile /var/lib/node_exporter/airgap.prom"

func verifyCommand(a *app) *cobra.Command {
	var o verification.Options
	cmd := &cobra.Command{
		Use:     "verify [--baseline save|compare FILE]",
		Short:   "Check that the cluster is healthy, and report each fault",
		Long:    verifyLong,
		Example: verifyExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.Modes.Baseline == "" {
				return noArgs(cmd, args)
			}
			return oneArg("the baseline file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Modes.List {
				return listRules(a)
			}
			if err := checkModes(&o.Modes, cmd, a.output); err != nil {
				return err
			}
			if o.Modes.Watch && !cmd.Flags().Changed("timeout") {
				o.Timeout = 0 // no limit
			}
			if len(args) > 0 {
				o.Modes.File = args[0]
			}
			o.Listed = tuneGCForVerify()
			defer o.Listed()
			if o.Modes.Watch {
				return watch(cmd.Context(), a, o)
			}
			return a.finishVerdict(verification.Run(cmd.Context(), o, a.newProgress()))
		},
	}
	verifyFlags(cmd, &o)
	return withFormats(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func verifyFlags(cmd *cobra.Command, o *verification.Options) {
	f := cmd.Flags()
	f.StringVar(&o.Kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig; default: $KUBECONFIG, else "+kube.AdminConf)
	f.StringVar(&o.Registry, "registry", "", "ADDRESS:PORT of the registry; default: the registry of the cluster of this host")
	f.StringVar(&o.CA, "ca", trust.PKI{Dir: site.PKIDir}.CAFile(), "CA certificate of the registry")
	f.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "maximum time to wait; with --watch: no limit by default")
	f.DurationVar(&o.Soak, "soak", verify.DefaultSoak, "time for which all rules must pass")
	f.BoolVar(&o.JoinedOnly, "joined", false, "ignore nodes of airgap.yaml that have not joined yet")
	f.StringSliceVarP(&o.Scope, "namespace", "n", nil, "check only these namespaces, with permissions for no others; can be repeated")
	modeFlags(&o.Modes, cmd)
	keyFlags(cmd, &o.Keys)
}

// finishVerdict prints the report. If a rule is broken or unseen, the error has exit code 4 and
// the hint of the result.
func (a *app) finishVerdict(o verification.Outcome, err error) error {
	if err == nil {
		err = a.printReport(o.Report, reportWriters{o.Report.WriteText, o.Report.WriteJUnit, o.Report.WriteHTML})
	}
	if err != nil {
		return err
	}
	return verifyError(o)
}

// verifyError returns the error of a printed result, or of a file that could not be written.
func verifyError(o verification.Outcome) error {
	switch {
	case o.Report.OK:
		return o.Unwritten
	case o.Unwritten != nil:
		return &exitError{exitcode.Verify, o.Unwritten}
	}
	err := error(&exitError{exitcode.Verify, errPrinted})
	if o.Hint != "" {
		err = advice.Add(err, "%s", o.Hint)
	}
	return err
}
