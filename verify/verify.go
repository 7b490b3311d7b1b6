// Package verify checks whether a cluster is healthy, and reports the problems if it is not.
//
// Informers of one shared factory watch the state of the cluster and keep only the used fields.
// Rules are pure functions over the listers. An event marks the rules that it may concern, and a
// loop evaluates the marked rules again, at a bounded rate. The result is a Report. If all rules
// were ok for the soak window, the cluster is ok. If the time is over first, each broken rule
// reports its last finding: the object, the observed state, since when, and the fix.
//
// A run may also watch and report each change as an Event. It may compare with a Baseline, and
// then only new findings decide. Or it may report past failures since a time.
//
// A lost API server is a finding and does not end the run: when it answers again, the view is
// built again. The package never changes anything in the cluster.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/imagecache"
	"airgap.dev/airgap/verify/result"
)

// Options configure a verification. Zero values mean the defaults that are named here.
type Options struct {
	// API is the configuration of the client of the API server.
	API *rest.Config
	// Connect reads API again after the API server was lost: credentials may have been renewed.
	// Nil: they do not change.
	Connect func() (*rest.Config, error)
	// Facts returns the current Nodes, Namespaces, Workloads and PodLinks, in each session and
	// every five minutes. Nil: they do not change.
	Facts func(context.Context) Facts
	// Nodes are the names that must have joined; nil: the existing nodes must be Ready.
	Nodes []string
	// Namespaces are the system namespaces: kube-system, airgap-system and kube-flannel.
	Namespaces []string
	// Scope are the only namespaces that may be read; nil: the whole cluster. With a scope, only
	// rules about pods and workloads apply.
	Scope []string
	// Workloads must exist, written "DaemonSet kube-system/kube-proxy":
	// kube-proxy, CoreDNS and flannel's.
	Workloads []string
	// PodLinks are the network links of the pod network on a host: "flannel.1".
	PodLinks []string
	// ProxyMode is the mode of kube-proxy ("nftables"); "": the most frequent one.
	ProxyMode string
	// NodeReports: the hosts of this cluster send NodeReports, so a missing one is a problem.
	NodeReports bool
	// SystemOnly skips pods, workloads, webhooks and APIServices of all other namespaces: an
	// add-on may wait for a node that has not joined yet.
	SystemOnly bool
	// ImageExists asks the registry; nil disables the rule about images.
	ImageExists imagecache.Exists
	Probes      []Probe // additional rules of the caller
	// Only are the IDs of the rules to evaluate, empty for all. Such a rule is unseen if it does
	// not apply. Skip are the rules to leave out. The rule about the API server is always
	// evaluated.
	Only, Skip []string
	// Snapshot: the report becomes a baseline. The kinds of a baseline are watched for all chosen
	// rules.
	Snapshot bool
	// Baseline is compared with the result: its findings do not decide, and objects that vanished
	// or restarted since then are findings. Nil: no comparison.
	Baseline *result.Baseline
	// LeftOut are nodes that the caller knows to be out of order: findings about them alone, and about
	// pods on them, do not decide.
	LeftOut []string
	// Absent are nodes that may be not Ready, as LeftOut then. While such a node is Ready, it is judged as any other.
	Absent []string
	// Elsewhere reports whether a new finding about a workload of the site, with its Place, is not
	// because of the change since Baseline: it does not decide. Nil: all decide.
	Elsewhere func(result.Finding) bool
	// Since enables the report of past failures after this time.
	Since time.Time
	// Watch receives each change, and the run goes on until the timeout or the end of ctx. Run
	// calls it, one change at a time. Nil: the run does not watch.
	Watch func(result.Event)
	// Listed is called whenever all watched kinds were listed. It may be nil.
	Listed func()
	// Seen receives the state of a run that watches, with each change and once a minute. It may be
	// nil.
	Seen     func(result.Report)
	Timeout  time.Duration // of the whole run: 5 minutes; a run that watches has no limit
	Soak     time.Duration // how long all rules must be ok: DefaultSoak
	Progress ui.Progress   // nil: none
	About    result.About  // copied into the report

	grow    time.Duration // how often to look for new kinds
	refresh time.Duration // how often to ask for facts that no informer provides
	bounds  bounds
}

// Facts are facts about the cluster that may change during a run. Nil leaves the option
// unchanged.
type Facts struct{ Nodes, Namespaces, Workloads, PodLinks []string }

func (o *Options) take(f Facts) {
	for to, from := range map[*[]string][]string{&o.Nodes: f.Nodes, &o.Namespaces: f.Namespaces, &o.Workloads: f.Workloads, &o.PodLinks: f.PodLinks} {
		if from != nil {
			*to = from
		}
	}
}

// DefaultSoak is the default time for which all rules must be ok.
const DefaultSoak = 5 * time.Second

func (o *Options) fill() {
	if o.Namespaces == nil {
		o.Namespaces = []string{"kube-system", dataplane.Namespace, "kube-flannel"}
	}
	if o.Workloads == nil {
		o.Workloads = []string{
			"DaemonSet kube-system/kube-proxy",
			"Deployment kube-system/coredns",
			"DaemonSet kube-flannel/kube-flannel-ds",
		}
	}
	if o.Timeout == 0 && o.Watch == nil {
		o.Timeout = 5 * time.Minute
	}
	if o.Soak == 0 {
		o.Soak = DefaultSoak
	}
	if o.grow == 0 {
		o.grow = time.Minute
	}
	if o.refresh == 0 {
		o.refresh = 5 * time.Minute
	}
	o.bounds.fill()
	o.Scope = slices.Compact(slices.Sorted(slices.Values(o.Scope))) // duplicates count once
	if o.Progress == nil {
		o.Progress = ui.Discard()
	}
}

// Run watches the cluster until all rules were ok for the soak window or the time is over, and
// returns the report. An unhealthy or unseen cluster is no error: see Report.OK. It returns an
// error if a rule of o.Only does not exist, or if ctx ended first; the report then has the state
// until that time. With o.Watch, the end of ctx is no error.
func Run(ctx context.Context, o Options) (result.Report, error) {
	if o.API == nil {
		return result.Report{}, errors.New("verify: no API server is given")
	}
	api, err := newAPI(o.API)
	if err != nil {
		return result.Report{}, err
	}
	o.fill()
	e := newEngine(o, api)
	if err := o.check(e.rules); err != nil {
		return result.Report{}, err
	}
	began := time.Now()
	limited, cancel := ctx, context.CancelFunc(func() {})
	if o.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, o.Timeout)
	}
	defer cancel()
	soaked := e.run(limited)
	if o.Watch != nil {
		return e.last(e.board.healthy(), began), nil
	}
	report := e.last(soaked, began)
	if err := ctx.Err(); err != nil && !soaked {
		return report, fmt.Errorf("verify cluster: %w", err)
	}
	return report, nil
}
