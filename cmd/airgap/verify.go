package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
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
	systemOnly               bool        // pods and workloads of the site's own are not judged
}

func (a *app) verify() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Watch the cluster until everything is as it should be, or say what is not",
		Long: `Watches nodes, system workloads, running images and what pods on every node
reach of the pod network through informers, until everything has held for the soak
window, or the timeout has passed; then each broken rule says what it last saw, of
which object, and what to do.

On a control-plane host nothing needs to be given. Elsewhere, give --kubeconfig,
and --registry with --ca so that images can be looked up.

Exit code 4 when something is broken.`,
		Example: "  airgap verify\n  airgap verify --timeout 10m --output junit > verify.xml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.runVerify(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig; default: $KUBECONFIG, else "+kubeadm.AdminConf)
	f.StringVar(&o.registry, "registry", "", "ADDRESS:PORT of the registry; default: this host's own cluster's")
	f.StringVar(&o.ca, "ca", registry.PKI{Dir: pkiDir}.CAFile(), "certificate of the registry's authority")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give up after this time")
	f.DurationVar(&o.soak, "soak", 5*time.Second, "everything has to hold this long")
	f.BoolVar(&o.joinedOnly, "joined", false, "do not ask for nodes of airgap.yaml that have not joined yet")
	keyFlags(cmd, &o.keys)
	return gives(cmd, asText, asJSON, asYAML, asJUnit)
}

// check reports options that no cluster could satisfy.
func (o verifyOptions) check() error {
	if o.timeout <= 0 || o.soak <= 0 || o.soak >= o.timeout {
		return usage("airgap verify: --timeout %s, --soak %s: want both above 0, and the soak window shorter", o.timeout, o.soak)
	}
	if o.registry != "" {
		return checkAddress("airgap verify: --registry", o.registry)
	}
	return nil
}

func (a *app) runVerify(ctx context.Context, o verifyOptions) error {
	if o.kubeconfig == "" {
		o.kubeconfig = kubeadm.AdminConf
	}
	p := a.newProgress()
	if o.registry != "" {
		report, err := runRules(ctx, o, nil, p)
		if err != nil {
			return err
		}
		return a.showVerdict(report)
	}
	s, err := storedSite(o.keys, "")
	if err != nil {
		return hint(err, "away from a control-plane host, give --kubeconfig, --registry and --ca")
	}
	report, err := s.verify(ctx, o, p)
	if err != nil {
		return err
	}
	return a.showVerdict(report)
}

// verify judges this host's own cluster.
func (s *site) verify(ctx context.Context, o verifyOptions, p ui.Progress) (verify.Report, error) {
	var nodes []string
	for _, n := range s.config.Nodes {
		if !o.joinedOnly || n.Name == s.node.Name {
			nodes = append(nodes, n.Name)
		}
	}
	o.registry = s.registryAddr()
	if !o.joinedOnly {
		o.registries = s.registries()
	}
	if o.ca == "" {
		o.ca = registry.PKI{Dir: pkiDir}.CAFile()
	}
	o.existing, o.network = s.config.Registry.Existing, &s.config.Network
	o.proxyMode = s.config.Kubernetes.ProxyMode(s.facts)
	return runRules(ctx, o, nodes, p)
}

func runRules(ctx context.Context, o verifyOptions, nodes []string, p ui.Progress) (verify.Report, error) {
	if len(o.registries) == 0 {
		o.registries = []string{o.registry}
	}
	images, err := registryAt(o.registry, o.ca)
	if err != nil {
		return verify.Report{}, err
	}
	api, err := clusterAPI(o.kubeconfig)
	if err != nil {
		return verify.Report{}, err
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return verify.Report{}, err
	}
	probes, err := registryProbes(o.registries, o.ca)
	if err != nil {
		return verify.Report{}, err
	}
	exists := images.Has
	if o.existing != nil {
		exists = o.existing.Has
	}
	system, err := systemOf(ctx, client, o.network)
	if err != nil {
		return verify.Report{}, err
	}
	return verify.Run(ctx, verify.Options{
		API: api, Nodes: nodes, Namespaces: system.namespaces, Workloads: system.workloads,
		PodLinks: system.links, ProxyMode: o.proxyMode, SystemOnly: o.systemOnly,
		ImageExists: exists, Probes: probes, Timeout: o.timeout, Soak: o.soak, Progress: p,
	})
}

// registryProbes ask the registries how they are and whether they have the same.
func registryProbes(addresses []string, caFile string) ([]verify.Probe, error) {
	all, err := registriesAt(addresses, caFile)
	if err != nil {
		return nil, err
	}
	return []verify.Probe{{
		ID: "registries", Title: "Every registry is whole and has what was pushed",
		Ask: func(ctx context.Context) []verify.Finding {
			var findings []verify.Finding
			for _, d := range registry.Compare(ctx, all) {
				findings = append(findings, verify.Finding{Object: d.Object, Saw: d.Saw, Want: d.Want, Fix: d.Fix})
			}
			return findings
		},
	}}, nil
}

// clusterAPI is how to reach the cluster of a kubeconfig.
func clusterAPI(kubeconfig string) (*rest.Config, error) {
	c, err := kubeadm.Kubeconfig(kubeconfig)
	if err != nil {
		return nil, hint(err, "name one with --kubeconfig")
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
	if err := a.printReport(r, forms{text: r.WriteText, junit: r.WriteJUnit}); err != nil {
		return err
	}
	if !r.OK {
		return &coded{code: exitVerify, err: errShown}
	}
	return nil
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
		return nil, hint(fmt.Errorf("read the registry's authority: %w", err), "name its certificate with --ca; on the control-plane host it is %s", registry.PKI{Dir: pkiDir}.CAFile())
	}
	return registry.NewClient(addr, ca)
}
