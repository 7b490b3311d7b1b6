package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

const (
	probeEvery = 15 * time.Second
	probeLimit = 10 * time.Second // a busy API server is slow, but not lost
)

// session watches the cluster, starting with a complete list. It returns nil when all rules were
// ok for the soak window, or the reason why it ended: ctx, or the loss of the API server.
func (e *engine) session(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	e.api.forget()
	w := &watching{api: e.api, scope: e.options.Scope, bounds: e.options.bounds, noted: e.noted, lost: end, added: make(chan kind), externalFacts: make(chan externalFacts)}
	var background sync.WaitGroup
	defer background.Wait()
	defer w.stop()
	defer end(nil)
	if err := e.api.ready(ctx); err != nil {
		return err
	}
	v := view{caches: map[kind][]cache.Indexer{}, informers: map[kind][]*informer{}, bounds: w.bounds, heartbeats: newHeartbeats()}
	always, optional := e.kindsWatched()
	all, err := e.start(ctx, w, v, always)
	if err != nil {
		return err
	}
	have, missing, err := e.ask(ctx, optional)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err) // a list may have shown that the credentials expired
	}
	v.server = e.server
	some, err := e.start(ctx, w, v, have)
	if err != nil {
		return err
	}
	all = append(all, some...)
	w.addMissing(missing...)
	background.Go(func() { e.probe(ctx, end) })
	background.Go(func() { w.await(ctx, e.options.grow) })
	background.Go(func() { e.refreshFacts(ctx, w.externalFacts) })
	if listed := v.informers[pods]; e.board.rows[imagesID] != nil {
		background.Go(func() { lookUpImages(ctx, listed, e.images) })
	}
	if !settled(ctx, all) {
		return context.Cause(ctx)
	}
	e.begin(v)
	return e.soak(ctx, w)
}

// start creates and starts the informers of kinds.
func (e *engine) start(ctx context.Context, w *watching, v view, kinds []kind) ([]*informer, error) {
	var all []*informer
	for _, k := range kinds {
		some, err := e.watch(w, v, k)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	w.run(ctx, all)
	return all, nil
}

// ask gets the version of the API server, the optional kinds that it has, and the other facts, in
// parallel: one after the other, these requests would take longer than the first lists.
func (e *engine) ask(ctx context.Context, optional []kind) (have, missing []kind, err error) {
	var facts externalFacts
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { e.server, err = e.api.version(ctx); return err })
	group.Go(func() (err error) { facts, err = e.refresh(ctx); return err })
	group.Go(func() (err error) { have, missing, err = e.api.split(ctx, optional); return err })
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	e.applyFacts(facts)
	return have, missing, nil
}

// begin evaluates all rules on a complete view.
func (e *engine) begin(v view) {
	if e.options.Listed != nil {
		e.options.Listed()
	}
	v.site = e.site
	e.view, e.seen, e.lost = v, true, time.Time{}
	e.evaluateAll()
	e.judge(e.dirty.take()) // at once: this session may be lost at any moment, and results of an older one are no evidence
}

// evaluateAll evaluates all rules again after kinds were added or removed.
func (e *engine) evaluateAll() {
	e.view.now = time.Now()
	for _, r := range e.rules {
		left := r.leftOut(e.view)
		if e.board.apply(r.id, left); left != "" {
			e.changes.note(r.id, nil) // the findings are gone with their kind
		}
		e.dirty.mark(r.id)
	}
	e.record(apiServer, e.doubted())
	e.board.settle(e.view.now) // there may be no rule to wait for
}

// soak evaluates marked rules until all rules were ok for long enough.
func (e *engine) soak(ctx context.Context, w *watching) error {
	publishing := time.NewTicker(publishEvery)
	defer publishing.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-publishing.C:
			e.review(w, time.Now())
			e.publish()
		case k := <-w.added:
			if err := e.join(ctx, w, k); err != nil {
				return err
			}
		case l := <-w.externalFacts:
			e.applyFacts(l)
			e.view.site = e.site
			e.evaluateAll()
		case <-e.dirty.ring:
			sleep(ctx, e.judge(e.dirty.take()))
		case <-e.soaked():
			if healthy, err := e.finalCheck(ctx); healthy || err != nil {
				return err
			}
		}
	}
}

// review marks the rules that must be evaluated without an event: rules with a period, and rules
// with a kind that lost its confirmation or has it again.
func (e *engine) review(w *watching, now time.Time) {
	e.markDue(now)
	e.view.now = now
	for k := range e.view.informers {
		if sources[k].optional && !slices.ContainsFunc(e.view.informers[k], func(one *informer) bool { return !one.gone() }) {
			e.leave(w, k)
		}
	}
	for _, r := range e.rules {
		if e.board.applies(r.id) && r.doubtful(e.view) != e.board.rows[r.id].doubtful {
			e.dirty.mark(r.id)
		}
	}
	e.record(apiServer, e.doubted())
}

// join watches a kind that is new in the cluster.
func (e *engine) join(ctx context.Context, w *watching, k kind) error {
	all, err := e.watch(w, e.view, k)
	if err != nil {
		return err
	}
	w.run(ctx, all)
	e.evaluateAll()
	return nil
}

// leave removes a kind that the cluster no longer has.
func (e *engine) leave(w *watching, k kind) {
	for _, one := range e.view.informers[k] {
		one.stop()
	}
	delete(e.view.informers, k)
	delete(e.view.caches, k)
	w.addMissing(k)
	e.evaluateAll()
}

// doubted returns findings about kinds of the rules that the API server does not confirm.
func (e *engine) doubted() []Finding {
	var findings []Finding
	found := map[string]bool{}
	for _, r := range e.rules {
		if !e.board.applies(r.id) {
			continue
		}
		for _, d := range append(e.view.doubts(r.kinds()), e.view.unreadable(r.kinds())...) {
			if f := d.finding(); !d.early && !found[f.Object] {
				found[f.Object] = true
				findings = append(findings, f)
			}
		}
	}
	return findings
}

// finalCheck evaluates all rules again, because events may be delayed by a pause and the last
// answer of the API server by some seconds. All watches must be open.
func (e *engine) finalCheck(ctx context.Context) (healthy bool, err error) {
	if err := e.api.ready(ctx); err != nil {
		return false, err
	}
	e.view.bounds.down = 0
	e.judge(e.all())
	e.view.bounds = e.options.bounds
	return e.board.allOK(), nil
}

// soaked fires at the end of the soak window; never while a rule is broken or in a run that
// watches.
func (e *engine) soaked() <-chan time.Time {
	if !e.board.allOK() || e.options.Watch != nil {
		return nil
	}
	return time.After(time.Until(e.board.okSince.Add(e.options.Soak)))
}

func (e *engine) all() map[string]bool {
	all := map[string]bool{}
	for _, r := range e.rules {
		all[r.id] = true
	}
	return all
}

// markDue marks the rules at the end of their period.
func (e *engine) markDue(now time.Time) {
	for _, r := range e.rules {
		if r.every > 0 && now.Sub(e.judged[r.id]) >= r.every {
			e.dirty.mark(r.id)
		}
	}
}

// watch creates the informers of a kind without starting them. Each change of an object marks the
// rules that read the kind.
func (e *engine) watch(w *watching, v view, k kind) ([]*informer, error) {
	all, err := w.of(k)
	if err != nil {
		return nil, err
	}
	ids := e.reading(k)
	for _, one := range all {
		if err := one.listen(v.heartbeats, func() { e.dirty.mark(ids...) }); err != nil {
			return nil, fmt.Errorf("watch %s: %w", k, err)
		}
		v.caches[k] = append(v.caches[k], one.shared.GetIndexer())
		v.informers[k] = append(v.informers[k], one)
	}
	return all, nil
}

// listen prepares an informer before its start.
func (w *informer) listen(h *heartbeats, mark func()) error {
	if err := w.shared.SetTransform(trim); err != nil {
		return err
	}
	if err := w.shared.SetWatchErrorHandlerWithContext(w.unexpected); err != nil {
		return err
	}
	_, err := w.shared.AddEventHandler(marking(mark, h.markReadable, func(before, after any) {
		h.observe(before, after, w.sentAfter(time.Now()))
	}))
	return err
}

// gone reports whether the API server answered that the kind does not exist.
func (c *confirmation) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.open && apierrors.IsNotFound(c.reason)
}
