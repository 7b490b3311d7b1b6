package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// factories make shared informers: of one factory, or of one for each
// namespace that was asked for, and as many more for each label selector.
type factories struct {
	client  kubernetes.Interface
	scope   []string
	typed   []informers.SharedInformerFactory
	byLabel map[string][]informers.SharedInformerFactory // those of typed with a selector, "" for none
	dynamic dynamic.Interface
	untyped []cache.SharedIndexInformer // of the dynamic client; its own factory hands no context on
	running sync.WaitGroup
}

func newFactories(a *api, scope []string) *factories {
	if len(scope) == 0 {
		scope = []string{metav1.NamespaceAll}
	}
	return &factories{client: a.typed, dynamic: a.dynamic, scope: scope, byLabel: map[string][]informers.SharedInformerFactory{}}
}

// labelled are the factories of objects that a label selector matches, one a namespace.
func (f *factories) labelled(selector string) []informers.SharedInformerFactory {
	if made, known := f.byLabel[selector]; known {
		return made
	}
	var list []informers.SharedInformerFactory
	for _, namespace := range f.scope {
		list = append(list, informers.NewSharedInformerFactoryWithOptions(f.client, 0, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector })))
	}
	f.byLabel[selector], f.typed = list, append(f.typed, list...)
	return list
}

// of are the informers of a kind, one a namespace.
func (f *factories) of(k kind) ([]cache.SharedIndexInformer, error) {
	s := sources[k]
	if s.untyped {
		informer := dynamicinformer.NewFilteredDynamicInformer(f.dynamic, s.resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		f.untyped = append(f.untyped, informer)
		return []cache.SharedIndexInformer{informer}, nil
	}
	var list []cache.SharedIndexInformer
	for _, factory := range f.labelled(s.labels) {
		generic, err := factory.ForResource(s.resource)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", k, err)
		}
		list = append(list, generic.Informer())
	}
	return list, nil
}

// start returns when every informer has a complete list, or false when ctx
// ended before.
func (f *factories) start(ctx context.Context) bool {
	for _, factory := range f.typed {
		factory.StartWithContext(ctx)
	}
	for _, informer := range f.untyped {
		f.running.Go(func() { informer.RunWithContext(ctx) })
	}
	for _, factory := range f.typed {
		if synced := factory.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
			return false
		}
	}
	for _, informer := range f.untyped {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return false
		}
	}
	return ctx.Err() == nil
}

func (f *factories) shutdown() {
	for _, factory := range f.typed {
		factory.Shutdown()
	}
	f.running.Wait()
}

// kinds are those that the rules watch, as far as the cluster has them and may
// be asked for them, and those that it may have later. On the way it learns the
// API server's version.
func (e *engine) kinds(ctx context.Context) (have, missing []kind, err error) {
	if err := e.ready(ctx); err != nil {
		return nil, nil, err
	}
	version, err := e.api.typed.Discovery().ServerVersion()
	if err != nil {
		return nil, nil, fmt.Errorf("ask API server for its version: %w", err)
	}
	e.server = version.GitVersion
	for _, k := range e.kindsWatched() {
		switch there, err := e.knows(k); {
		case err != nil:
			return nil, nil, err
		case there:
			have = append(have, k)
		default:
			missing = append(missing, k)
		}
	}
	return have, missing, nil
}

// kindsWatched are those of all rules that this verification can watch.
func (e *engine) kindsWatched() []kind {
	var all, list []kind
	for _, r := range e.rules {
		all = append(all, r.kinds()...)
	}
	if e.options.Snapshot {
		all = append(all, nodes, pods, daemonSets, deployments, statefulSets)
	}
	for _, k := range all {
		outside := len(e.options.Scope) > 0 && !sources[k].namespaced
		if !slices.Contains(list, k) && !outside {
			list = append(list, k)
		}
	}
	return list
}

// knows tells whether the cluster has a kind that it may do without.
func (e *engine) knows(k kind) (bool, error) {
	s := sources[k]
	if !s.optional {
		return true, nil
	}
	list, err := e.api.typed.Discovery().ServerResourcesForGroupVersion(s.resource.GroupVersion().String())
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask API server for %s: %w", s.resource.GroupVersion(), err)
	}
	for _, r := range list.APIResources {
		if r.Name == s.resource.Resource {
			return true, nil
		}
	}
	return false, nil
}

// await ends the session when the cluster has got a kind that it lacked.
//
// One is asked for at a time, so that a cluster at rest is asked little.
func (e *engine) await(ctx context.Context, missing []kind, end context.CancelCauseFunc) {
	for i := 0; len(missing) > 0 && ctx.Err() == nil; i++ {
		sleep(ctx, e.options.grow)
		if there, err := e.knows(missing[i%len(missing)]); err == nil && there {
			end(errGrown)
		}
	}
}

func (e *engine) watching(k kind) []string {
	var ids []string
	for _, r := range e.rules {
		if r.every == 0 && slices.Contains(r.kinds(), k) {
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

// probe ends the session when the connection to the API server breaks, or when
// it does not answer: a connection may die unseen.
func (e *engine) probe(ctx context.Context, end context.CancelCauseFunc) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err := <-e.api.failed:
			end(fmt.Errorf("talk to API server: %w", err))
		case <-time.After(probeEvery):
			if err := e.ready(ctx); err != nil {
				end(err)
			}
		}
	}
}

func (e *engine) ready(ctx context.Context) error {
	limited, cancel := context.WithTimeoutCause(ctx, probeLimit, errors.New("no answer"))
	defer cancel()
	said, err := e.api.typed.Discovery().RESTClient().Get().AbsPath("/readyz").Do(limited).Raw()
	if failed := failedChecks(said); err != nil && failed != "" {
		return fmt.Errorf("ask API server: it is not ready: %s", failed)
	}
	if err != nil {
		return fmt.Errorf("ask API server: %w", err)
	}
	return nil
}

// failedChecks names those that fail in the answer of /readyz, which lists all:
// "[+]ping ok", "[-]etcd failed: reason withheld".
func failedChecks(said []byte) string {
	var failed []string
	for line := range strings.Lines(string(said)) {
		if check, is := strings.CutPrefix(line, "[-]"); is {
			name, _, _ := strings.Cut(check, " ")
			failed = append(failed, name)
		}
	}
	return strings.Join(failed, ", ")
}
