package nodereport

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// Writer writes a node's report and its GPU labels to the cluster. It writes when something has
// changed, at least once a minute, and at most every 5 s.
type Writer struct {
	Node             string
	Client           dynamic.Interface             // with the identity of the node
	Collect          func(context.Context) Report  // returns the report; the Writer sets Heartbeat
	Logf             func(format string, _ ...any) // logs the first failed write, and the first success after it
	CloseConnections func()                        // closes the connections of Client; called after each failed write
	now              func() time.Time              // time.Now, except in tests

	object  object    // the last version in the cluster
	written *Report   // nil before the first write
	last    time.Time // of the last write
	failed  failed
	applied applied
	refused string // the last error of the labels
}

// failed describes the writes that failed.
type failed struct {
	times  int // in a row
	reason metav1.StatusReason
}

const (
	interval = 5 * time.Second  // between two turns
	beat     = 45 * time.Second // within a minute with the jitter of two turns and a slow answer
	maxPause = 30 * time.Second // between two writes that fail
	jitter   = 0.2
	askLimit = 10 * time.Second
)

// Run writes until ctx ends, also while the API server does not answer.
func (w *Writer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := w.turn(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(pause, jitter)):
		}
	}
}

// turn collects the report, writes it if it is due, and returns the pause until the next turn.
func (w *Writer) turn(ctx context.Context) time.Duration {
	report := w.Collect(ctx)
	if !w.due(report) {
		return interval
	}
	report.Heartbeat = metav1.NewMicroTime(w.clock().UTC())
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := w.write(ctx, report); err != nil {
		return w.failing(ctx, err)
	}
	if w.failed.times > 0 {
		w.Logf("the cluster accepts the report again")
	}
	w.written, w.last, w.failed = &report, w.clock(), failed{}
	w.label(ctx, report)
	return interval
}

// label applies the labels and logs each new error once. An error does not affect the report.
func (w *Writer) label(ctx context.Context, r Report) {
	refused := ""
	err := w.applied.label(ctx, w.Client, w.Node, w.object.owner(), r)
	if err != nil {
		refused = err.Error()
	}
	if refused != "" && refused != w.refused {
		w.Logf("%s", refused)
	}
	w.refused = refused
}

// due reports whether the report must be written, also after the clock was set back.
func (w *Writer) due(r Report) bool {
	if w.written == nil {
		return true
	}
	since := w.clock().Sub(w.last)
	return since < 0 || since >= beat || !equality.Semantic.DeepEqual(lasting(*w.written), lasting(r))
}

// lasting clears the values that change all the time. They are written with the heartbeat.
func lasting(r Report) Report {
	r.Heartbeat = metav1.MicroTime{}
	if r.Clock != nil {
		c := *r.Clock
		c.ErrorMillis, r.Clock = 0, &c
	}
	if r.Etcd != nil {
		e := *r.Etcd
		e.Bytes, r.Etcd = 0, &e
	}
	if r.APIServer != nil {
		a := *r.APIServer
		a.Behind, r.APIServer = 0, &a
	}
	r.HostLinks = lastingLinks(r.HostLinks)
	r.Disks = slices.Clone(r.Disks)
	for i := range r.Disks {
		r.Disks[i].Free, r.Disks[i].InodesFree, r.Disks[i].Inodes = 0, 0, 0 // XFS allocates inodes from free space
	}
	if r.GPU != nil && r.GPU.NVML != nil {
		g, n := *r.GPU, *r.GPU.NVML
		n.GPUs = slices.Clone(n.GPUs)
		for i, c := range n.GPUs {
			// Since the Ada generation, NVML calculates the limits from the temperature, so they vary.
			n.GPUs[i] = GPUDevice{Index: c.Index, UUID: c.UUID, Address: c.Address, WattsLimit: c.WattsLimit}
		}
		g.NVML, r.GPU = &n, &g
	}
	return r
}

// lastingLinks clears counters, and keeps the state of interfaces and bonds.
func lastingLinks(l *HostLinks) *HostLinks {
	if l == nil {
		return nil
	}
	state := HostLinks{Interfaces: slices.Clone(l.Interfaces), Bonds: l.Bonds}
	for i := range state.Interfaces {
		state.Interfaces[i].Grown = nil
	}
	if l.Conntrack != nil {
		state.Conntrack = &Conntrack{Max: l.Conntrack.Max}
	}
	return &state
}

// failing logs an error once, and again only for another reason. It returns the pause.
//
// It closes the connections, so that a load balancer can choose another API server: one that is
// not ready keeps its connections.
func (w *Writer) failing(ctx context.Context, err error) time.Duration {
	if w.CloseConnections != nil {
		w.CloseConnections()
	}
	reason := apierrors.ReasonForError(err)
	if (w.failed.times == 0 || reason != w.failed.reason) && ctx.Err() != context.Canceled {
		w.Logf("%v; retrying", err)
	}
	w.failed = failed{times: w.failed.times + 1, reason: reason}
	return min(interval<<min(w.failed.times-1, 8), maxPause)
}

func (w *Writer) clock() time.Time {
	if w.now != nil {
		return w.now()
	}
	return time.Now()
}

// tries limits the writes of an object that another client changed or deleted in the meantime.
const tries = 3

func (w *Writer) write(ctx context.Context, r Report) error {
	var err error
	for range tries {
		if err = w.object.write(ctx, w.Client, w.Node, r); err == nil {
			return nil
		}
		w.object.live = nil
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return fmt.Errorf("write NodeReport %s: %w", w.Node, err)
}
