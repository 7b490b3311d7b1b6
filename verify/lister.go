package verify

import (
	"cmp"
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// lister lists and watches one kind for its reflector, and notes what the API server
// confirms. Reflectors retry without a word, so this is the only place that sees it.
type lister struct {
	cache.ListWatch // the requests

	noted *confirmation
	renew time.Duration
	asked time.Time // of the list that is under way
	first string    // resourceVersion of its first page
}

// attentive is what a reflector gets.
func (l *lister) attentive() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch}
}

// list asks again for what etcd has where the first answer is older than what was known.
func (l *lister) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.Continue == "" {
		l.asked, l.first = time.Now(), ""
	}
	list, m, err := l.ask(ctx, o)
	if err == nil && o.Continue == "" && l.noted.older(m.GetResourceVersion()) {
		l.asked = time.Now()
		list, m, err = l.ask(ctx, metav1.ListOptions{})
	}
	if err == nil && isBefore(m.GetResourceVersion(), l.first) { // the reflector asks for a whole list then
		err = apierrors.NewResourceExpired("resourceVersion went back to " + m.GetResourceVersion() + " between two pages")
	}
	if err != nil {
		l.failed(ctx, err)
		return nil, err
	}
	l.first = cmp.Or(l.first, m.GetResourceVersion())
	l.noted.begun(l.first)
	if m.GetContinue() == "" {
		l.complete(m.GetResourceVersion(), l.asked)
	}
	return list, nil
}

// ask returns a list, or a page of it, and what it says of itself.
func (l *lister) ask(ctx context.Context, o metav1.ListOptions) (runtime.Object, metav1.ListInterface, error) {
	list, err := l.ListWithContextFunc(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	m, err := meta.ListAccessor(list)
	return list, m, err
}

// complete notes a list of all objects. Nothing was newer when its first page was asked for;
// how long the answers took, nobody knows what happened.
func (l *lister) complete(version string, asked time.Time) {
	if l.noted.older(version) {
		l.noted.wentBack(version)
	}
	l.noted.heard(version, asked)
	l.noted.complete(version)
}

func (l *lister) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		l.noted.failed(err)
	}
}

func (l *lister) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	streams := o.SendInitialEvents != nil && *o.SendInitialEvents
	asked := time.Now()
	inner, err := l.WatchFuncWithContext(ctx, o)
	if err != nil {
		if !streams || !apierrors.IsInvalid(err) { // a server that cannot stream lists is asked for a plain one
			l.failed(ctx, err)
		}
		if streams && o.ResourceVersion == "" && apierrors.IsResourceExpired(err) {
			// A reflector would ask again at once, for ever. So it asks for a plain list.
			err = apierrors.NewInternalError(err)
		}
		return nil, err
	}
	if !streams {
		l.noted.watching(true)
	}
	a := &attended{lister: l, inner: inner, asked: asked, initial: streams, events: make(chan watch.Event), stopped: make(chan struct{})}
	go a.run(ctx) // until its reflector stops it
	return a, nil
}

// attended is a watch whose events are noted before its reflector gets them.
type attended struct {
	*lister

	inner   watch.Interface
	asked   time.Time
	initial bool // its events are still those of a list
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func (a *attended) ResultChan() <-chan watch.Event { return a.events }

func (a *attended) Stop() { a.once.Do(func() { close(a.stopped) }) }

func (a *attended) run(ctx context.Context) {
	defer close(a.events)
	defer a.inner.Stop()
	defer a.noted.watching(false)
	due := a.renew
	if !a.initial {
		due -= a.noted.age() // that it is open confirms nothing yet
	}
	silent := time.NewTimer(due)
	defer silent.Stop()
	for {
		select {
		case <-a.stopped:
			return
		case <-silent.C:
			a.pass(a.expired(ctx, "the watch brought nothing for "+a.renew.String()))
			return
		case event, more := <-a.inner.ResultChan():
			if !more || !a.pass(a.note(ctx, event)) {
				return
			}
			silent.Reset(a.renew)
		}
	}
}

func (a *attended) pass(event watch.Event) bool {
	select {
	case a.events <- event:
		return true
	case <-a.stopped:
		return false
	}
}

// note turns an event that is older than what was known into one that makes the reflector
// list again.
func (a *attended) note(ctx context.Context, event watch.Event) watch.Event {
	if event.Type == watch.Error {
		a.failed(ctx, apierrors.FromObject(event.Object))
		return event
	}
	o, err := meta.Accessor(event.Object)
	if err != nil {
		a.failed(ctx, err)
		return event
	}
	version := o.GetResourceVersion()
	switch last := event.Type == watch.Bookmark && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"; {
	case last && a.noted.older(version) && !a.noted.hasRefused():
		defer a.noted.refuse()
		return a.expired(ctx, "resourceVersion went back to "+version)
	case last:
		a.initial = false
		a.complete(version, a.asked)
		a.noted.watching(true)
	case a.initial:
		a.noted.begun(version)
	case a.noted.older(version):
		return a.expired(ctx, "resourceVersion went back to "+version)
	default:
		a.noted.heard(version, time.Now())
	}
	return event
}

// expired has the reflector list again. Only a list tells what a silent watch kept back: a
// proxy may open every watch and hand nothing on, and after etcd was restored a watch waits
// for a resourceVersion of the future.
func (a *attended) expired(ctx context.Context, why string) watch.Event {
	err := apierrors.NewResourceExpired(why)
	a.failed(ctx, err)
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}
