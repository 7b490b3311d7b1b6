// Package verification runs airgap verify for this cluster.
package verification

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/existing"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/imagecache"
	"airgap.dev/airgap/verify/result"
)

// Options control a verification of this cluster.
type Options struct {
	Kubeconfig, Registry, CA string
	registries               []string           // of all control-plane hosts, which have the same; none: registry alone
	existing                 *existing.Registry // where images come from instead
	Keys                     []string
	Timeout, Soak            time.Duration
	JoinedOnly               bool        // nodes of airgap.yaml may be missing
	LeftOut                  []string    // nodes that the command goes on without
	network                  *cni.Config // nil: any network
	proxyMode                string      // kube-proxy's; "": the mode of most hosts
	Scope                    []string    // namespaces to watch; nil: all
	SystemOnly               bool        // pods and workloads of the site's own are not judged
	Skip                     []string    // rules, by id
	Modes                    Modes
	Tell                     func(result.Event) // gets every change, with Modes.Watch
	Listed                   func()             // called after the first complete lists; nil: no call
}

// Check reports options that no cluster could satisfy, and files that could not be written after
// the wait. It sets the time and the namespaces of the modes.
func (o *Options) Check() error {
	endless := o.Modes.Watch && o.Timeout == 0
	if !endless && o.Timeout <= 0 || o.Soak <= 0 || !endless && o.Soak >= o.Timeout {
		return advice.Usagef("airgap verify: --timeout %s, --soak %s: want both above 0, and the soak window shorter", o.Timeout, o.Soak)
	}
	if o.Registry != "" {
		if err := site.CheckAddress("airgap verify: --registry", o.Registry); err != nil {
			return err
		}
	}
	return o.Modes.check(o.Scope, time.Now())
}

// left returns the rest of the timeout, which is for the whole command; 0 has no end. Without
// a rest the result is unseen.
func (o *Options) left(took time.Duration) time.Duration {
	if o.Timeout == 0 {
		return 0
	}
	return max(o.Timeout-took, time.Nanosecond)
}

// namespacesExist refuses a namespace that the cluster does not have, which would have no
// findings. Without the right to ask, or without an answer, the verification reports it.
func namespacesExist(ctx context.Context, client kubernetes.Interface, scope []string) error {
	for _, name := range scope {
		if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return advice.Add(fmt.Errorf("verify the namespace %s: the cluster does not have it", name), "kubectl get namespaces lists those that there are")
		}
	}
	return nil
}

// Verification returns the options of package verify for this host's cluster, or for the given
// one.
func (o Options) Verification(p ui.Progress) (verify.Options, error) {
	if o.Kubeconfig == "" {
		o.Kubeconfig = kube.AdminConf
	}
	if o.Registry != "" {
		return o.rules(nil, p)
	}
	if err := site.MustBeInstalled("verify"); err != nil {
		return verify.Options{}, advice.Replace(err, "run airgap verify on a control-plane host; on another host, give --kubeconfig, --registry and --ca")
	}
	s, err := site.Stored(o.Keys, "")
	if err != nil {
		return verify.Options{}, advice.Add(err, "away from a control-plane host, give --kubeconfig, --registry and --ca")
	}
	return Verification(s, o, p)
}

// OfSite judges this host's own cluster: a ReportError where it is not as it should be.
func OfSite(ctx context.Context, s *site.Site, o Options, p ui.Progress) error {
	report, err := ReportOf(ctx, s, o, p)
	if err != nil {
		return err
	}
	return Failed(report)
}

// ReportOf says how this host's own cluster is.
func ReportOf(ctx context.Context, s *site.Site, o Options, p ui.Progress) (result.Report, error) {
	v, err := Verification(s, o, p)
	if err != nil {
		return result.Report{}, err
	}
	return verify.Run(ctx, v)
}

// Verification returns verify's options for the site's own cluster.
func Verification(s *site.Site, o Options, p ui.Progress) (verify.Options, error) {
	debts, _ := owed.Read() // until the cluster shows its record
	o.Registry, o.registries = s.RegistryAddr(), probed(s, o.JoinedOnly, debts)
	if o.CA == "" {
		o.CA = trust.PKI{Dir: site.PKIDir}.CAFile()
	}
	o.existing, o.network = s.Config.Registry.Existing, &s.Config.Network
	o.proxyMode = s.Config.Kubernetes.SetProxyMode()
	v, err := o.rules(s, p)
	v.About.Cluster, v.NodeReports, v.Skip, v.Nodes = s.Config.Name, true, o.Skip, expected(s, o.JoinedOnly, debts)
	v.About.Notes, v.Absent, v.LeftOut = absentNotes(s), mayBeDown(s, time.Now()), o.LeftOut
	return v, err
}

// rules returns the options for the cluster of s; nil: for the cluster of another host.
func (o Options) rules(s *site.Site, p ui.Progress) (verify.Options, error) {
	if len(o.registries) == 0 {
		o.registries = []string{o.Registry}
	}
	images, err := RegistryAt(o.Registry, o.CA)
	if err != nil {
		return verify.Options{}, err
	}
	api, err := clusterAPI(o.Kubeconfig)
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
	probes := []verify.Probe{probe}
	if !o.SystemOnly { // commands that leave hosts out report them on their own
		probes = append(probes, o.debts(s).probe())
	}
	return verify.Options{
		API: api, Connect: func() (*rest.Config, error) { return clusterAPI(o.Kubeconfig) }, Facts: facts.ask,
		ProxyMode: o.proxyMode, SystemOnly: o.SystemOnly,
		ImageExists: exists, Probes: probes, Timeout: o.Timeout, Soak: o.Soak, Progress: p, About: aboutRun(api),
	}, nil
}

// lookingIn asks for images that were pushed to the registries themselves, and
// run under their addresses, by the name that they have there.
func lookingIn(registries []string, exists imagecache.Exists) imagecache.Exists {
	return func(ctx context.Context, repository, digest string) (bool, error) {
		if host, path := reference.SplitHost(repository); slices.Contains(registries, host) {
			repository = path
		}
		return exists(ctx, repository, digest)
	}
}

// RegistriesProbe is the probe without its registries.
func RegistriesProbe() verify.Probe {
	return verify.Probe{ID: "registries", Title: "Every registry is complete and has all pushed images"}
}

// clusterAPI is how to reach the cluster of a kubeconfig.
func clusterAPI(kubeconfig string) (*rest.Config, error) {
	c, err := kube.Kubeconfig(kubeconfig)
	if err != nil {
		return nil, advice.Add(err, "name one with --kubeconfig")
	}
	return c, nil
}

// ClusterClient returns a client of the API server that a kubeconfig names.
func ClusterClient(kubeconfig string) (kubernetes.Interface, error) {
	c, err := clusterAPI(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(c)
}

// RegistryClient asks the cluster's registry as any host would.
func RegistryClient(s *site.Site) (*registry.Client, error) {
	return RegistryAt(s.RegistryAddr(), trust.PKI{Dir: site.PKIDir}.CAFile())
}

// RegistriesAt are registries that one authority vouches for.
func RegistriesAt(addresses []string, caFile string) ([]*registry.Client, error) {
	var all []*registry.Client
	for _, addr := range addresses {
		c, err := RegistryAt(addr, caFile)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// RegistryAt returns a client of the registry; caFile has its CA certificate.
func RegistryAt(addr, caFile string) (*registry.Client, error) {
	ca, err := host.ReadInput(caFile, host.MaxInput)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read the registry's authority: %w", err), "name its certificate with --ca; on the control-plane host it is %s", trust.PKI{Dir: site.PKIDir}.CAFile())
	}
	return registry.NewClient(addr, ca)
}
