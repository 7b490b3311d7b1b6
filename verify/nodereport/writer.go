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

// Writer keeps a node's report in the cluster, and the labels of its cards. It writes when something has
// changed, at the latest each minute, and never more often than each 5 s.
type Writer struct {
	Node    string
	Client  dynamic.Interface             // with the identity of the node
	Collect func(context.Context) Report  // what there is to be said; Heartbeat is the Writer's
	Say     func(format string, _ ...any) // when the cluster does not take it, and when it does again
	HangUp  func()                        // has Client dial anew; called while the cluster does not take it
	now     func() time.Time              // time.Now but in tests

	object  object    // as the cluster last had it
	written *Report   // nil until something was
	last    time.Time // when
	failed  failed
	labeled labeled
	refused string // why the Node does not take its labels
}

// failed is why the cluster does not take the report.
type failed struct {
	times  int // in a row
	reason metav1.StatusReason
}

const (
	often    = 5 * time.Second  // from one look to the next
	beat     = 45 * time.Second // with two looks' jitter and a slow answer within the minute
	seldom   = 30 * time.Second // between two tries, at most, while the cluster does not take it
	jitter   = 0.2
	askLimit = 10 * time.Second
)

// Run writes until ctx ends. An API server that is away ends nothing.
func (w *Writer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := w.turn(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(pause, jitter)):
		}
	}
}

// turn looks, writes if it is time, and says how long to wait.
func (w *Writer) turn(ctx context.Context) time.Duration {
	report := w.Collect(ctx)
	if !w.due(report) {
		return often
	}
	report.Heartbeat = metav1.NewMicroTime(w.clock().UTC())
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := w.write(ctx, report); err != nil {
		return w.failing(ctx, err)
	}
	if w.failed.times > 0 {
		w.Say("the cluster takes the report again")
	}
	w.written, w.last, w.failed = &report, w.clock(), failed{}
	w.label(ctx, report)
	return often
}

// label says once why the Node does not take its labels: the report counts more.
func (w *Writer) label(ctx context.Context, r Report) {
	refused := ""
	err := w.labeled.label(ctx, w.Client, w.Node, w.object.owner(), r)
	if err != nil {
		refused = err.Error()
	}
	if refused != "" && refused != w.refused {
		w.Say("%s", refused)
	}
	w.refused = refused
}

// due is also true of a clock that was set back.
func (w *Writer) due(r Report) bool {
	if w.written == nil {
		return true
	}
	since := w.clock().Sub(w.last)
	return since < 0 || since >= beat || !equality.Semantic.DeepEqual(lasting(*w.written), lasting(r))
}

// lasting leaves out what changes all the time and goes with the heartbeat.
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
	r.Disks = slices.Clone(r.Disks)
	for i := range r.Disks {
		r.Disks[i].Free, r.Disks[i].InodesFree, r.Disks[i].Inodes = 0, 0, 0 // XFS makes inodes of free space
	}
	if r.GPU != nil && r.GPU.NVML != nil {
		g, n := *r.GPU, *r.GPU.NVML
		n.GPUs = slices.Clone(n.GPUs)
		for i, c := range n.GPUs {
			// From Ada on the limits are reckoned from the temperature, and move a little with it.
			n.GPUs[i] = Card{Index: c.Index, UUID: c.UUID, Address: c.Address, WattsLimit: c.WattsLimit}
		}
		g.NVML, r.GPU = &n, &g
	}
	return r
}

// failing says once why, and again only for another reason.
//
// A balancer may have another API server for the next try: one that is not ready
// keeps the connections that it has.
func (w *Writer) failing(ctx context.Context, err error) time.Duration {
	if w.HangUp != nil {
		w.HangUp()
	}
	reason := apierrors.ReasonForError(err)
	if (w.failed.times == 0 || reason != w.failed.reason) && ctx.Err() != context.Canceled {
		w.Say("%v; it is tried again", err)
	}
	w.failed = failed{times: w.failed.times + 1, reason: reason}
	return min(often<<min(w.failed.times-1, 8), seldom)
}

func (w *Writer) clock() time.Time {
	if w.now != nil {
		return w.now()
	}
	return time.Now()
}

// tries are for an object that somebody else changed or deleted meanwhile.
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
