package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify"
)

type verifyOptions struct {
	kubeconfig, registry, ca string
	registries               []string           // of all control-plane hosts, which have the same; none: registry alone
	existing                 *registry.Existing // where images come from instead
	keys                     []string
	timeout, soak            time.Duration
	joinedOnly               bool        // nodes of airgap.yaml may still be missing
	network                  *cni.Config // nil: whatever the cluster has
	proxyMode                string      // kube-proxy's; "": whatever most hosts have
	scope                    []string    // the only namespaces that may be looked at; nil: all
	systemOnly               bool        // pods and workloads of the site's own are not judged
	skip                     []string    // rules, by id
	modes                    verifyModes
}

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
	var o verifyOptions
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
			if o.modes.baseline == "" {
				return noArgs(cmd, args)
			}
			return oneArg("the baseline's file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.modes.list {
				return a.listRules()
			}
			if o.modes.watch && !cmd.Flags().Changed("timeout") {
				o.timeout = 0 // no end
			}
			if len(args) > 0 {
				o.modes.file = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			if err := o.modes.check(cmd, a.output, o.scope); err != nil {
				return err
			}
			return a.runVerify(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig; default: $KUBECONFIG, else "+kubeadm.AdminConf)
	f.StringVar(&o.registry, "registry", "", "ADDRESS:PORT of the registry; default: this host's own cluster's")
	f.StringVar(&o.ca, "ca", registry.PKI{Dir: pkiDir}.CAFile(), "certificate of the registry's authority")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give up after this time; with --watch the default is to go on")
	f.DurationVar(&o.soak, "soak", verify.DefaultSoak, "everything has to hold this long")
	f.BoolVar(&o.joinedOnly, "joined", false, "do not ask for nodes of airgap.yaml that have not joined yet")
	f.StringSliceVarP(&o.scope, "namespace", "n", nil, "look at these namespaces only, with rights for no more; can be given more than once")
	o.modes.flags(cmd)
	keyFlags(cmd, &o.keys)
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

// check reports options that no cluster could satisfy.
func (o verifyOptions) check() error {
	endless := o.modes.watch && o.timeout == 0
	if !endless && o.timeout <= 0 || o.soak <= 0 || !endless && o.soak >= o.timeout {
		return advice.Usagef("airgap verify: --timeout %s, --soak %s: want both above 0, and the soak window shorter", o.timeout, o.soak)
	}
	if o.registry != "" {
		return checkAddress("airgap verify: --registry", o.registry)
	}
	return nil
}

func (a *app) runVerify(ctx context.Context, o verifyOptions) error {
	began := time.Now()
	listed := collectForVerify()
	defer listed()
	before, err := o.modes.before()
	if err != nil {
		return err
	}
	p := a.newProgress()
	v, err := o.verification(p)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(v.API)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, cmp.Or(o.timeout, time.Minute))
	defer cancel()
	if err := namespacesExist(asking, client, o.scope); err != nil {
		return err
	}
	cluster, err := o.modes.cluster(asking, client, before)
	if err != nil {
		return err
	}
	v.Scope, v.Only, v.Skip, v.Since, v.Baseline = o.scope, o.modes.only, o.modes.skip, o.modes.from, before
	v.Snapshot, v.Listed = o.modes.baseline == saveBaseline, listed
	v.Timeout = o.left(time.Since(began))
	if o.modes.watch {
		return a.watch(ctx, v, o.modes)
	}
	report, err := verify.Run(ctx, v)
	if err != nil {
		return err
	}
	failed := errors.Join(o.modes.save(report, cluster, p), o.modes.writeTextfile(report))
	return after(endedHint(a.showVerdict(report), report, thisMachine().Host), failed)
}

// left is what remains of the timeout, which is for the whole command; 0 has no end. Where
// nothing remains the verdict is that nothing was seen.
func (o verifyOptions) left(took time.Duration) time.Duration {
	if o.timeout == 0 {
		return 0
	}
	return max(o.timeout-took, time.Nanosecond)
}

// namespacesExist refuses a namespace that the cluster does not have, in which nothing could be
// wrong. Where that may not be asked, or nobody answers, verification tells.
func namespacesExist(ctx context.Context, client kubernetes.Interface, scope []string) error {
	for _, name := range scope {
		if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return advice.Add(fmt.Errorf("verify the namespace %s: the cluster does not have it", name), "kubectl get namespaces lists those that there are")
		}
	}
	return nil
}

// endedHint names certificates of this host that have ended or are not valid yet, where that may
// be why no API server answers: no other host can be asked for its own then.
func endedHint(err error, report verify.Report, h host.Host) error {
	if !slices.ContainsFunc(report.Findings, func(f verify.Finding) bool { return f.Object == "API server" }) {
		return err
	}
	list, unread := certificatesOf(h)
	ended := slices.DeleteFunc(list, func(c certificate) bool { return c.span().Trouble(time.Now(), 0) == "" })
	if unread != nil || len(ended) == 0 {
		return err
	}
	return advice.Add(err, "certificates of this host cannot be used, %s is one of %d: it %s. airgap certs lists them, and airgap certs renew makes them anew", ended[0].File, len(ended), ended[0].span().Trouble(time.Now(), 0))
}

// verification is what to verify: this host's own cluster, or the one that
// was named.
func (o verifyOptions) verification(p ui.Progress) (verify.Options, error) {
	if o.kubeconfig == "" {
		o.kubeconfig = kubeadm.AdminConf
	}
	if o.registry != "" {
		return o.rules(nil, p)
	}
	s, err := storedSite(o.keys, "")
	if err != nil {
		return verify.Options{}, advice.Add(err, "away from a control-plane host, give --kubeconfig, --registry and --ca")
	}
	return s.verification(o, p)
}

// verify judges this host's own cluster.
func (s *site) verify(ctx context.Context, o verifyOptions, p ui.Progress) (verify.Report, error) {
	v, err := s.verification(o, p)
	if err != nil {
		return verify.Report{}, err
	}
	return verify.Run(ctx, v)
}

func (s *site) verification(o verifyOptions, p ui.Progress) (verify.Options, error) {
	o.registry, o.registries = s.registryAddr(), s.probed(o.joinedOnly)
	if o.ca == "" {
		o.ca = registry.PKI{Dir: pkiDir}.CAFile()
	}
	o.existing, o.network = s.config.Registry.Existing, &s.config.Network
	o.proxyMode = s.config.Kubernetes.SetProxyMode()
	v, err := o.rules(s, p)
	v.About.Cluster, v.NodeReports, v.Skip, v.Nodes = s.config.Name, true, o.skip, s.expected(o.joinedOnly)
	return v, err
}

// rules are what to verify of the cluster of s; nil: of another host's.
func (o verifyOptions) rules(s *site, p ui.Progress) (verify.Options, error) {
	if len(o.registries) == 0 {
		o.registries = []string{o.registry}
	}
	images, err := registryAt(o.registry, o.ca)
	if err != nil {
		return verify.Options{}, err
	}
	api, err := clusterAPI(o.kubeconfig)
	if err != nil {
		return verify.Options{}, err
	}
	facts := &verifyFacts{o: o, site: s, registries: o.registries}
	probe, err := facts.probe()
	if err != nil {
		return verify.Options{}, err
	}
	exists := lookingIn(o.registries, images.Has)
	if o.existing != nil {
		exists = o.existing.Has
	}
	return verify.Options{
		API: api, Connect: func() (*rest.Config, error) { return clusterAPI(o.kubeconfig) }, Facts: facts.ask,
		ProxyMode: o.proxyMode, SystemOnly: o.systemOnly,
		ImageExists: exists, Probes: []verify.Probe{probe}, Timeout: o.timeout, Soak: o.soak, Progress: p, About: aboutRun(api),
	}, nil
}

// lookingIn asks for images that were pushed to the registries themselves, and
// run under their addresses, by the name that they have there.
func lookingIn(registries []string, exists verify.ImageExists) verify.ImageExists {
	return func(ctx context.Context, repository, digest string) (bool, error) {
		if host, path, _ := strings.Cut(repository, "/"); slices.Contains(registries, host) {
			repository = path
		}
		return exists(ctx, repository, digest)
	}
}

// registriesWhole is the probe without whom it asks.
func registriesWhole() verify.Probe {
	return verify.Probe{ID: "registries", Title: "Every registry is whole and has what was pushed"}
}

// clusterAPI is how to reach the cluster of a kubeconfig.
func clusterAPI(kubeconfig string) (*rest.Config, error) {
	c, err := kubeadm.Kubeconfig(kubeconfig)
	if err != nil {
		return nil, advice.Add(err, "name one with --kubeconfig")
	}
	return c, nil
}

func clusterClient(kubeconfig string) (kubernetes.Interface, error) {
	c, err := clusterAPI(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(c)
}

// showVerdict prints the report and turns a bad one into exit code 4.
func (a *app) showVerdict(r verify.Report) error {
	if err := a.printReport(r, forms{r.WriteText, r.WriteJUnit, r.WriteHTML}); err != nil {
		return err
	}
	return verdict(r)
}

// verdict turns a bad report into exit code 4.
func verdict(r verify.Report) error {
	if !r.OK {
		return &coded{exitVerify, errShown}
	}
	return nil
}

// after is the end of a run whose verdict is shown, and which could not write a
// file then.
func after(shown, failed error) error {
	if shown == nil || failed == nil {
		return cmp.Or(shown, failed)
	}
	return &coded{exitVerify, failed}
}

// registryClient asks the cluster's registry as any host would.
func (s *site) registryClient() (*registry.Client, error) {
	return registryAt(s.registryAddr(), registry.PKI{Dir: pkiDir}.CAFile())
}

// registriesAt are registries that one authority vouches for.
func registriesAt(addresses []string, caFile string) ([]*registry.Client, error) {
	var all []*registry.Client
	for _, addr := range addresses {
		c, err := registryAt(addr, caFile)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func registryAt(addr, caFile string) (*registry.Client, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read the registry's authority: %w", err), "name its certificate with --ca; on the control-plane host it is %s", registry.PKI{Dir: pkiDir}.CAFile())
	}
	return registry.NewClient(addr, ca)
}
