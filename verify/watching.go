package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

const (
	listLimit = 30 * time.Second // of first lists: then the rules of missing kinds are unseen
	stopLimit = time.Second      // a reflector that waits after a 429 ignores its context
)

// informer watches one kind, in one namespace or in all.
type informer struct {
	*confirmation

	shared cache.SharedIndexInformer
	stop   context.CancelFunc
}

// unexpected records errors that only the reflector detects.
func (w *informer) unexpected(ctx context.Context, _ *cache.Reflector, err error) {
	if ctx.Err() == nil && !w.knows(err) {
		w.failed(err)
	}
}

// watching has the informers of a session.
type watching struct {
	api           *api
	scope         []string
	bounds        bounds
	noted         *confirmations
	lost          func(error)
	running       sync.WaitGroup
	added         chan kind // kinds that are new in the cluster
	externalFacts chan externalFacts

	mu      sync.Mutex
	missing []kind
}

// of returns the informers of a kind, one for each namespace.
func (w *watching) of(k kind) ([]*informer, error) {
	var all []*informer
	for _, namespace := range k.namespaces(w.scope) {
		noted := w.noted.of(k, namespace)
		noted.begin(w.lost)
		requests, example, err := w.api.source(sources[k], namespace)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", k, err)
		}
		l := &lister{ListWatch: requests, noted: noted, renew: w.bounds.renew}
		shared := cache.NewSharedIndexInformerWithOptions(l.listWatch(), example, cache.SharedIndexInformerOptions{Indexers: sources[k].indexes()})
		all = append(all, &informer{confirmation: noted, shared: shared})
	}
	return all, nil
}

// namespaces returns the namespaces in which a kind is watched; "" is all of them.
func (k kind) namespaces(scope []string) []string {
	s := sources[k]
	switch {
	case !s.namespaced || len(scope) == 0 && len(s.only) == 0:
		return []string{metav1.NamespaceAll}
	case len(scope) == 0:
		return s.only
	case len(s.only) == 0:
		return scope
	}
	return slices.DeleteFunc(slices.Clone(scope), func(n string) bool { return !slices.Contains(s.only, n) })
}

func (s source) indexes() cache.Indexers {
	all := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	maps.Copy(all, s.indexers)
	if s.untyped {
		all[byUnreadable] = indexUnreadable
	}
	return all
}

// run starts informers, which end with ctx.
func (w *watching) run(ctx context.Context, all []*informer) {
	for _, one := range all {
		own, stop := context.WithCancel(ctx)
		one.stop = stop
		w.running.Go(func() { defer stop(); one.shared.RunWithContext(own) })
	}
}

// settled waits until each informer has a complete list, has failed, or has reached the time
// limit. It returns false if ctx ended first.
func settled(ctx context.Context, all []*informer) bool {
	limit := time.NewTimer(listLimit)
	defer limit.Stop()
	for _, one := range all {
		select {
		case <-one.shared.HasSyncedChecker().Done():
		case <-one.failing:
		case <-limit.C:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// stop waits for informers after the end of their context.
func (w *watching) stop() {
	ended := make(chan struct{})
	go func() { w.running.Wait(); close(ended) }() // they end within a minute
	select {
	case <-ended:
	case <-time.After(stopLimit):
	}
}

// addMissing records kinds that the cluster does not have.
func (w *watching) addMissing(kinds ...kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.missing = append(w.missing, kinds...)
}

// next takes the kind that has waited longest for a request.
func (w *watching) next() (k kind, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.missing) == 0 {
		return "", false
	}
	k, w.missing = w.missing[0], w.missing[1:]
	return k, true
}

// await sends the kinds that are new in the cluster. It checks one kind at a time to keep the
// load low.
func (w *watching) await(ctx context.Context, pause time.Duration) {
	for ctx.Err() == nil {
		sleep(ctx, pause)
		k, some := w.next()
		if !some {
			continue
		}
		if there, err := w.api.knows(ctx, k); err != nil || !there {
			w.addMissing(k)
			continue
		}
		select {
		case w.added <- k:
		case <-ctx.Done():
		}
	}
}

// source returns the requests for a kind, and an example of its objects.
func (a *api) source(s source, namespace string) (cache.ListWatch, runtime.Object, error) {
	if s.untyped {
		resource := a.dynamic.Resource(s.resource).Namespace(namespace)
		return cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return listed(resource.List(ctx, o))
			},
			WatchFuncWithContext: resource.Watch,
		}, &unstructured.Unstructured{}, nil
	}
	example, err := exampleOf(s.resource)
	return a.requests(s.resource, namespace), example, err
}

// listed returns an untyped nil for a nil list.
func listed(list *unstructured.UnstructuredList, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return list, nil
}

// exampleOf returns an empty object of the Go type of a resource.
func exampleOf(r schema.GroupVersionResource) (runtime.Object, error) {
	for name := range scheme.Scheme.KnownTypes(r.GroupVersion()) {
		of := r.GroupVersion().WithKind(name)
		if plural, _ := meta.UnsafeGuessKindToResource(of); plural == r {
			return scheme.Scheme.New(of)
		}
	}
	return nil, fmt.Errorf("client-go has no Go type for %s", r)
}
