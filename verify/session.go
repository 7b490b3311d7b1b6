package verify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

const (
	probeEvery = 15 * time.Second
	probeLimit = 10 * time.Second // a busy API server is slow, not lost
)

// errGrown says that the cluster has a kind now which it did not have, so that
// the session has to begin anew. Nothing was lost.
var errGrown = errors.New("the cluster has a new kind")

// session watches the cluster from one complete list on. It returns nil when
// everything held through the soak window, else why it ended: ctx, a new kind,
// or the loss of the API server.
func (e *engine) session(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	e.api.forget()
	f := newFactories(e.api, e.options.Scope)
	var background sync.WaitGroup
	defer background.Wait()
	defer f.shutdown()
	defer end(nil)
	have, missing, err := e.kinds(ctx)
	if err != nil {
		return err
	}
	if err := e.askNamespaces(ctx); err != nil {
		return err
	}
	v, err := e.watch(f, have, end)
	if err != nil {
		return err
	}
	background.Go(func() { e.probe(ctx, end) })
	background.Go(func() { e.await(ctx, missing, end) })
	if !f.start(ctx) {
		return context.Cause(ctx)
	}
	e.begin(v)
	return e.soak(ctx)
}

// begin judges everything on a view that is complete.
func (e *engine) begin(v view) {
	if e.options.Listed != nil {
		e.options.Listed()
	}
	v.site = e.site
	e.view, e.seen = v, true
	e.record(apiServer, nil)
	for _, r := range e.rules {
		left := r.leftOut(v)
		if e.board.apply(r.id, left); left != "" {
			e.changes.note(r.id, nil) // what was broken has gone with its kind
		}
		e.dirty.mark(r.id)
	}
	e.board.settle(time.Now()) // there may be nothing to wait for
}

// soak judges what is marked until all rules held long enough.
func (e *engine) soak(ctx context.Context) error {
	telling := time.NewTicker(tellEvery)
	defer telling.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-telling.C:
			e.markDue(time.Now())
			e.tell()
		case <-e.dirty.ring:
			sleep(ctx, e.judge(e.dirty.take()))
		case <-e.soaked():
			if well, err := e.lastLook(ctx); well || err != nil {
				return err
			}
		}
	}
}

// lastLook judges everything as it is now, since events may be a pause old
// and the API server's last answer some seconds.
func (e *engine) lastLook(ctx context.Context) (well bool, err error) {
	if err := e.ready(ctx); err != nil {
		return false, err
	}
	e.judge(e.all())
	return e.board.holds(), nil
}

// soaked fires at the end of the soak window, or never while a rule is
// broken or somebody watches.
func (e *engine) soaked() <-chan time.Time {
	if !e.board.holds() || e.options.Watch != nil {
		return nil
	}
	return time.After(time.Until(e.board.holdsSince.Add(e.options.Soak)))
}

func (e *engine) all() map[string]bool {
	all := map[string]bool{}
	for _, r := range e.rules {
		all[r.id] = true
	}
	return all
}

// markDue marks the rules whose answer may have changed with time alone.
func (e *engine) markDue(now time.Time) {
	for _, r := range e.rules {
		if r.every > 0 && now.Sub(e.judged[r.id]) >= r.every {
			e.dirty.mark(r.id)
		}
	}
}

// watch sets up the informers: each change of an object marks the rules that
// watch its kind, each watch that breaks ends the session.
func (e *engine) watch(f *factories, kinds []kind, end context.CancelCauseFunc) (view, error) {
	v := view{caches: map[kind][]cache.Indexer{}, heard: newHeard(), server: e.server}
	for _, k := range kinds {
		informers, err := f.of(k)
		if err != nil {
			return view{}, err
		}
		ids := e.watching(k)
		mark := func() { e.dirty.mark(ids...) }
		for _, informer := range informers {
			if err := listen(informer, k, v.heard, mark, end); err != nil {
				return view{}, fmt.Errorf("watch %s: %w", k, err)
			}
			v.caches[k] = append(v.caches[k], informer.GetIndexer())
		}
	}
	return v, nil
}

// listen sets an informer up before it is started.
func listen(informer cache.SharedIndexInformer, k kind, h *heard, mark func(), end context.CancelCauseFunc) error {
	if err := informer.AddIndexers(sources[k].indexers); err != nil {
		return err
	}
	if err := informer.SetTransform(trim); err != nil {
		return err
	}
	if err := informer.SetWatchErrorHandlerWithContext(losing(k, end)); err != nil {
		return err
	}
	_, err := informer.AddEventHandler(marking(mark, h.hear))
	return err
}
