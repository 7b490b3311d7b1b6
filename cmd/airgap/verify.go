package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify"
)

const verifyLong = `Watches nodes, system workloads, running images and what pods on every node
reach of the pod network through informers, until everything has held for the soak
window, or the timeout has passed; then each broken rule says what it last saw, of
which object, and what to do.

On a control-plane host nothing needs to be given. Elsewhere, give --kubeconfig,
and --registry with --ca so that images can be looked up.

--watch stays, and tells each change as it happens, until a signal or a --timeout
that was given. With --output json each is a JSON object on a line of its own: event
is broken, unseen (the rule cannot be judged), changed, mended (afterSeconds: for how
long it was so), well (nothing is broken or unseen any more) or, last, verdict with the
report. Of one object of the cluster there is a line a second at most, and leftOut
counts those left out.

--baseline save FILE writes down, at the end, the cluster as it is: before a change.
--baseline compare FILE, after the change, fails only for what is new: nodes and
workloads that vanished and containers that restarted are findings too. What was
broken before and what changed (versions, images) is told and decides nothing.

--since asks also for what went wrong lately, though it is well now: containers that
ended badly or restarted, nodes whose Ready turned, pods that were evicted.

--namespace is for who may see only some: rules about more than pods, workloads and
their images are left out.

A rule holds only if it saw what it is about. It is unseen where something was missing,
such as a host's report, which is as bad as broken; n/a where the cluster need not have
it, such as GPUs. A rule that --only asks for is never n/a: nothing seen is unseen.

--output html is a page for a change ticket. --textfile is for Prometheus: a file in
the directory of node_exporter's textfile collector, written with the verdict; with
--watch after each change, and once a minute.

` + upkeep.VerifyTimer + ` verifies every day on each control-plane host. The verdicts are in
journalctl -u airgap-verify, the last one is in ` + upkeep.MetricsDir + `
for node_exporter (--collector.textfile.directory), and ` + upkeep.VerifyService + ` has failed
where that was bad.

Rights to verify and to change nothing are the ClusterRole ` + verify.ReaderRole + `:
kubectl create clusterrolebinding NAME --clusterrole ` + verify.ReaderRole + ` --user USER

Exit code 4 when something is broken or unseen, with --watch: at its end.`

const verifyExample = "  airgap verify\n  airgap verify --timeout 10m --output junit > verify.xml\n" +
	"  airgap verify --baseline save before.json\n" +
	"  airgap verify --baseline compare before.json --output html > change-4711.html\n" +
	"  airgap verify --since 2h --only nodes-ready,pods\n" +
	"  airgap verify --watch --textfile /var/lib/node_exporter/airgap.prom"

func verifyCommand(a *app) *cobra.Command {
	var o verdict.Options
	cmd := &cobra.Command{
		Use:     "verify [--baseline save|compare FILE]",
		Short:   "Watch the cluster until everything is as it should be, or say what is not",
		Long:    verifyLong,
		Example: verifyExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.Modes.Baseline == "" {
				return noArgs(cmd, args)
			}
			return oneArg("the baseline's file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Modes.List {
				return listRules(a)
			}
			if err := checkModes(&o.Modes, cmd, a.output); err != nil {
				return err
			}
			if o.Modes.Watch && !cmd.Flags().Changed("timeout") {
				o.Timeout = 0 // no end
			}
			if len(args) > 0 {
				o.Modes.File = args[0]
			}
			o.Listed = collectForVerify()
			defer o.Listed()
			if o.Modes.Watch {
				return watch(cmd.Context(), a, o)
			}
			return a.finishVerdict(verdict.Run(cmd.Context(), o, a.newProgress()))
		},
	}
	verifyFlags(cmd, &o)
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func verifyFlags(cmd *cobra.Command, o *verdict.Options) {
	f := cmd.Flags()
	f.StringVar(&o.Kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig; default: $KUBECONFIG, else "+kube.AdminConf)
	f.StringVar(&o.Registry, "registry", "", "ADDRESS:PORT of the registry; default: this host's own cluster's")
	f.StringVar(&o.CA, "ca", trust.PKI{Dir: site.PKIDir}.CAFile(), "certificate of the registry's authority")
	f.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "give up after this time; with --watch the default is to go on")
	f.DurationVar(&o.Soak, "soak", verify.DefaultSoak, "everything has to hold this long")
	f.BoolVar(&o.JoinedOnly, "joined", false, "do not ask for nodes of airgap.yaml that have not joined yet")
	f.StringSliceVarP(&o.Scope, "namespace", "n", nil, "look at these namespaces only, with rights for no more; can be given more than once")
	modeFlags(&o.Modes, cmd)
	keyFlags(cmd, &o.Keys)
}

// finishVerdict prints the report and turns a bad one into exit code 4, with what is to be said
// beside it.
func (a *app) finishVerdict(o verdict.Outcome, err error) error {
	if err == nil {
		err = a.printReport(o.Report, forms{o.Report.WriteText, o.Report.WriteJUnit, o.Report.WriteHTML})
	}
	if err != nil {
		return err
	}
	return after(o)
}

// after is the end of a run whose verdict is shown, and which may have failed to write a file
// then.
func after(o verdict.Outcome) error {
	switch {
	case o.Report.OK:
		return o.Unwritten
	case o.Unwritten != nil:
		return &coded{exitcode.Verify, o.Unwritten}
	}
	err := error(&coded{exitcode.Verify, errShown})
	if o.Hint != "" {
		err = advice.Add(err, "%s", o.Hint)
	}
	return err
}
