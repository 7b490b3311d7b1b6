package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

const (
	probeEvery = time.Second
	probeLimit = 10 * time.Second // a busy API server is slow, not lost
)

// session watches the cluster from one complete list on. It returns nil when
// everything held through the soak window, else why it ended: ctx, or the
// loss of the API server.
func (e *engine) session(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(e.options.Client, 0, informers.WithTransform(trim))
	var probing sync.WaitGroup
	defer probing.Wait()
	defer factory.Shutdown()
	defer end(nil)
	v, err := e.watch(factory, end)
	if err != nil {
		return err
	}
	probing.Go(func() { e.probe(ctx, end) })
	factory.StartWithContext(ctx)
	if synced := factory.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		return context.Cause(ctx)
	}
	e.view, e.seen = v, true
	e.record(apiServer, nil)
	e.markAll()
	return e.soak(ctx)
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
// and the API server's last answer a second.
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

// watch sets up the informers: each change of an object marks the rules that
// watch its kind, each watch that breaks ends the session.
func (e *engine) watch(factory informers.SharedInformerFactory, end context.CancelCauseFunc) (view, error) {
	byKind := map[kind]cache.SharedIndexInformer{
		nodes:       factory.Core().V1().Nodes().Informer(),
		pods:        factory.Core().V1().Pods().Informer(),
		daemonSets:  factory.Apps().V1().DaemonSets().Informer(),
		deployments: factory.Apps().V1().Deployments().Informer(),
	}
	if err := byKind[pods].AddIndexers(podIndexers()); err != nil {
		return view{}, fmt.Errorf("watch pods: %w", err)
	}
	for kind, informer := range byKind {
		if _, err := informer.AddEventHandler(marking(func() { e.dirty.mark(e.watching(kind)...) })); err != nil {
			return view{}, fmt.Errorf("watch %s: %w", kind, err)
		}
		if err := informer.SetWatchErrorHandlerWithContext(losing(kind, end)); err != nil {
			return view{}, fmt.Errorf("watch %s: %w", kind, err)
		}
	}
	return newView(byKind[nodes].GetIndexer(), byKind[pods].GetIndexer(),
		byKind[daemonSets].GetIndexer(), byKind[deployments].GetIndexer()), nil
}

func (e *engine) watching(k kind) []string {
	var ids []string
	for _, r := range e.rules {
		if slices.Contains(r.watches, k) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// losing ends the session with the reason of a broken list or watch. An
// expired one only lists again, which the informer does by itself.
func losing(k kind, end context.CancelCauseFunc) cache.WatchErrorHandlerWithContext {
	return func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return
		}
		end(fmt.Errorf("list and watch %s: %w", k, err))
	}
}

// probe ends the session when the API server does not answer: a reflector
// that is refused waits in silence, with a view that grows old.
func (e *engine) probe(ctx context.Context, end context.CancelCauseFunc) {
	for ctx.Err() == nil {
		if err := e.ready(ctx); err != nil && ctx.Err() == nil {
			end(err)
		}
		sleep(ctx, probeEvery)
	}
}

func (e *engine) ready(ctx context.Context) error {
	limited, cancel := context.WithTimeoutCause(ctx, probeLimit, errors.New("no answer"))
	defer cancel()
	err := e.options.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(limited).Error()
	if err != nil {
		return fmt.Errorf("ask API server: %w", err)
	}
	return nil
}
