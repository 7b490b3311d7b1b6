package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/result"
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

func (a *app) verify() *cobra.Command {
	var o verdict.Options
	cmd := &cobra.Command{
		Use:   "verify [--baseline save|compare FILE]",
		Short: "Watch the cluster until everything is as it should be, or say what is not",
		Long:  verifyLong,
		Example: "  airgap verify\n  airgap verify --timeout 10m --output junit > verify.xml\n" +
			"  airgap verify --baseline save before.json\n" +
			"  airgap verify --baseline compare before.json --output html > change-4711.html\n" +
			"  airgap verify --since 2h --only nodes-ready,pods\n" +
			"  airgap verify --watch --textfile /var/lib/node_exporter/airgap.prom",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.Modes.Baseline == "" {
				return noArgs(cmd, args)
			}
			return oneArg("the baseline's file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Modes.List {
				return a.listRules()
			}
			if o.Modes.Watch && !cmd.Flags().Changed("timeout") {
				o.Timeout = 0 // no end
			}
			if len(args) > 0 {
				o.Modes.File = args[0]
			}
			if err := o.Check(); err != nil {
				return err
			}
			if err := checkModes(&o.Modes, cmd, a.output, o.Scope); err != nil {
				return err
			}
			return a.runVerify(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig; default: $KUBECONFIG, else "+kubeadm.AdminConf)
	f.StringVar(&o.Registry, "registry", "", "ADDRESS:PORT of the registry; default: this host's own cluster's")
	f.StringVar(&o.CA, "ca", trust.PKI{Dir: site.PKIDir}.CAFile(), "certificate of the registry's authority")
	f.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "give up after this time; with --watch the default is to go on")
	f.DurationVar(&o.Soak, "soak", verify.DefaultSoak, "everything has to hold this long")
	f.BoolVar(&o.JoinedOnly, "joined", false, "do not ask for nodes of airgap.yaml that have not joined yet")
	f.StringSliceVarP(&o.Scope, "namespace", "n", nil, "look at these namespaces only, with rights for no more; can be given more than once")
	modeFlags(&o.Modes, cmd)
	keyFlags(cmd, &o.Keys)
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

func (a *app) runVerify(ctx context.Context, o verdict.Options) error {
	began := time.Now()
	listed := collectForVerify()
	defer listed()
	before, err := o.Modes.Before()
	if err != nil {
		return err
	}
	p := a.newProgress()
	v, err := o.Verification(p)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(v.API)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, time.Minute))
	defer cancel()
	if err := verdict.NamespacesExist(asking, client, o.Scope); err != nil {
		return err
	}
	cluster, err := o.Modes.Cluster(asking, client, before)
	if err != nil {
		return err
	}
	v.Scope, v.Only, v.Skip, v.Since, v.Baseline = o.Scope, o.Modes.Only, o.Modes.Skip, o.Modes.From, before
	v.Snapshot, v.Listed = o.Modes.Baseline == verdict.SaveBaseline, listed
	v.Timeout = o.Left(time.Since(began))
	if o.Modes.Watch {
		return a.watch(ctx, v, o.Modes)
	}
	report, err := verify.Run(ctx, v)
	if err != nil {
		return err
	}
	failed := errors.Join(o.Modes.Save(report, cluster, p), o.Modes.WriteTextfile(report))
	return after(endedHint(a.showVerdict(report), report, site.ThisMachine().Host), failed)
}

// endedHint names certificates of this host that have ended or are not valid yet, where that may
// be why no API server answers: no other host can be asked for its own then.
func endedHint(err error, report result.Report, h host.Host) error {
	if !slices.ContainsFunc(report.Findings, func(f result.Finding) bool { return f.Object == "API server" }) {
		return err
	}
	list, unread := certs.Of(h)
	ended := slices.DeleteFunc(list, func(c certs.Certificate) bool { return c.Span().Trouble(time.Now(), 0) == "" })
	if unread != nil || len(ended) == 0 {
		return err
	}
	return advice.Add(err, "certificates of this host cannot be used, %s is one of %d: it %s. airgap certs lists them, and airgap certs renew makes them anew", ended[0].File, len(ended), ended[0].Span().Trouble(time.Now(), 0))
}

// showVerdict prints the report and turns a bad one into exit code 4.
func (a *app) showVerdict(r result.Report) error {
	if err := a.printReport(r, forms{r.WriteText, r.WriteJUnit, r.WriteHTML}); err != nil {
		return err
	}
	return exitOf(r)
}

// exitOf turns a bad report into exit code 4.
func exitOf(r result.Report) error {
	if !r.OK {
		return &coded{exitcode.Verify, errShown}
	}
	return nil
}

// after is the end of a run whose verdict is shown, and which could not write a
// file then.
func after(shown, failed error) error {
	if shown == nil || failed == nil {
		return cmp.Or(shown, failed)
	}
	return &coded{exitcode.Verify, failed}
}
