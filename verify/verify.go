// Package verify says whether a cluster is well, and if not, what is broken.
//
// What flows in is the cluster's state, by informers of one shared factory
// that keep only what is judged. Rules are pure functions over the listers;
// an event marks the rules it may concern, and a loop judges them again, at
// a bounded rate. What flows out is a Report: everything held through the
// soak window, or the time ran out and each broken rule says what it last
// saw, of which object, since when, and what to do. A run may also watch, and
// tell every change as an Event; compare with a Baseline, of which only what is
// new decides; or ask what went wrong since a time.
//
// A lost API server is a finding, not the end: the view is built anew when it
// answers again. The package never changes anything in the cluster.
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
	"airgap.dev/airgap/verify/imagebook"
	"airgap.dev/airgap/verify/result"
)

// Options say what to verify. Zero values take the defaults named here.
type Options struct {
	// API is how to reach the API server.
	API *rest.Config
	// Connect reads API again whenever the API server was lost: credentials may have been
	// renewed. Nil: they stay.
	Connect func() (*rest.Config, error)
	// Facts says again, in each session and every five minutes, what Nodes, Namespaces,
	// Workloads and PodLinks are. Nil: they stay.
	Facts func(context.Context) Facts
	// Nodes are the names that must have joined; nil asks only that those
	// that have joined are Ready.
	Nodes []string
	// Namespaces are the system's: kube-system, airgap-system and kube-flannel.
	Namespaces []string
	// Scope are the only namespaces that may be looked at; nil: the whole
	// cluster. Rules about more than pods and workloads are left out then.
	Scope []string
	// Workloads must exist, written "DaemonSet kube-system/kube-proxy":
	// kube-proxy, CoreDNS and flannel's.
	Workloads []string
	// PodLinks are the host's links of the pod network: "flannel.1".
	PodLinks []string
	// ProxyMode is kube-proxy's ("nftables"); "": what most hosts have.
	ProxyMode string
	// NodeReports says that this cluster's hosts report what only they know, so
	// that it is missed where they do not.
	NodeReports bool
	// SystemOnly leaves out pods, workloads, webhooks and APIServices of all other
	// namespaces: an add-on may wait for a node that has not joined yet.
	SystemOnly bool
	// ImageExists asks our registry; nil leaves the rule about images out.
	ImageExists imagebook.Exists
	Probes      []Probe // rules of the caller's
	// Only are the rules to judge, by id, none for all: one that does not apply is
	// unseen then. Skip are those to leave out. That the API server answers is
	// always judged.
	Only, Skip []string
	// Snapshot says that the report is to become a baseline: what that has of the cluster
	// is watched, whatever rules were chosen.
	Snapshot bool
	// Baseline is what to compare with: findings that it had decide nothing,
	// what vanished or restarted since then is a finding. Nil compares nothing.
	Baseline *result.Baseline
	// Since asks also for what went wrong after it, though it is well now.
	Since time.Time
	// Watch, where there is one, is told every change, and the verification
	// goes on until the time is up or ctx ends. It is called by Run, one change
	// at a time.
	Watch func(result.Event)
	// Listed is called whenever all that is watched has been listed. Nil for nobody.
	Listed func()
	// Seen gets the state of a run that watches: with every change, and once a
	// minute. Nil for nobody.
	Seen     func(result.Report)
	Timeout  time.Duration // for the whole verification: 5 minutes; without end where somebody watches
	Soak     time.Duration // everything must hold that long: DefaultSoak
	Progress ui.Progress   // nil for none
	About    result.About  // stands in the report

	grow   time.Duration // how often to look for kinds that the cluster did not have
	learn  time.Duration // how often to ask for what no informer tells
	bounds bounds
}

// Facts are what the caller knows of the cluster, and may change while a run lasts. Nil
// leaves the option as it is.
type Facts struct{ Nodes, Namespaces, Workloads, PodLinks []string }

func (o *Options) take(f Facts) {
	for to, from := range map[*[]string][]string{&o.Nodes: f.Nodes, &o.Namespaces: f.Namespaces, &o.Workloads: f.Workloads, &o.PodLinks: f.PodLinks} {
		if from != nil {
			*to = from
		}
	}
}

// DefaultSoak is how long everything must hold where nobody says otherwise.
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
	if o.learn == 0 {
		o.learn = 5 * time.Minute
	}
	o.bounds.fill()
	o.Scope = slices.Compact(slices.Sorted(slices.Values(o.Scope))) // one given twice counts once
	if o.Progress == nil {
		o.Progress = ui.Discard()
	}
}

// Run watches the cluster until everything held through the soak window or
// the time is up, and reports. A cluster that is not well, or was not seen, is
// no error: see Report.OK. The error says that there is no rule of o.Only, or
// that ctx ended first; the report then holds what was seen until then. Where somebody watches, ctx is what ends the run, and
// that is no error.
func Run(ctx context.Context, o Options) (result.Report, error) {
	if o.API == nil {
		return result.Report{}, errors.New("verify: nothing is said of the API server")
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
		return e.last(e.board.well(), began), nil
	}
	report := e.last(soaked, began)
	if err := ctx.Err(); err != nil && !soaked {
		return report, fmt.Errorf("verify cluster: %w", err)
	}
	return report, nil
}
