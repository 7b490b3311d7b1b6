package verify

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const (
	shortestPause = 100 * time.Millisecond // between two rounds of judging
	longestPause  = 2 * time.Second
	retryAfter    = time.Second // after the API server was lost
	tellEvery     = time.Second
)

// The rules the engine itself judges.
const (
	apiServer = "api-server"
	soaking   = "soak"
)

// engine judges rules until they all held for the soak window.
type engine struct {
	options Options
	api     *api
	rules   []rule
	images  *imageBook
	probes  []*probed
	dirty   *dirty
	board   *board
	view    view // of the newest session whose informers had synced
	judged  map[string]time.Time
	server  string // version of the API server
	seen    bool   // there was one
}

func newEngine(o Options, a *api) *engine {
	e := &engine{options: o, api: a, dirty: newDirty(), board: newBoard(), judged: map[string]time.Time{}}
	e.images = newImageBook(o.ImageExists, func() { e.dirty.mark("images") })
	for _, p := range o.Probes {
		e.probes = append(e.probes, newProbed(p))
	}
	e.rules = rules(o, e.images, e.probes)
	e.board.add(apiServer, "The API server answers")
	for _, r := range e.rules {
		e.board.add(r.id, r.title)
	}
	return e
}

// run reports whether everything held through the soak window before ctx
// ended. Whenever the API server is lost it starts over with a new session,
// whose informers list everything again: a view that missed events is never
// judged.
func (e *engine) run(ctx context.Context) bool {
	// The informers' own log lines would say the same as our findings.
	ctx, stop := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	background.Go(func() { e.images.run(ctx) })
	for _, p := range e.probes {
		background.Go(func() { p.run(ctx, func() { e.dirty.mark(p.ID) }) })
	}
	for ctx.Err() == nil {
		lost := e.session(ctx)
		if lost == nil {
			e.board.tell(e.options.Progress.Say)
			return true
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(lost, errGrown) {
			continue
		}
		e.lose(lost)
		sleep(ctx, retryAfter)
	}
	return false
}

// lose records that the API server does not answer.
func (e *engine) lose(reason error) {
	e.board.doubt()
	e.board.record(apiServer, []Finding{{
		Object: "API server", Saw: reason.Error(), Want: "it answers lists and watches",
		Fix: "on a control-plane node: journalctl -u kubelet; crictl logs of kube-apiserver and etcd",
	}}, time.Now())
	e.board.tell(e.options.Progress.Say)
}

// judge judges the given rules, and says for how long to leave them alone: a
// round of judging takes at most a tenth of a processor.
func (e *engine) judge(which map[string]bool) time.Duration {
	began := time.Now()
	e.view.now = began
	for _, r := range e.rules {
		if which[r.id] && e.board.applies(r.id) {
			e.board.record(r.id, r.judge(e.view), time.Now())
			e.judged[r.id] = began
		}
	}
	return min(max(10*time.Since(began), shortestPause), longestPause)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
