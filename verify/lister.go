package verify

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// lister lists and watches one kind for its reflector, and records the confirmations of the API
// server. Reflectors retry silently, so only this code sees the errors.
type lister struct {
	cache.ListWatch // the requests

	noted *confirmation
	renew time.Duration
	asked time.Time // start of the current list
	first string    // resourceVersion of its first page
}

// listWatch returns the functions for a reflector.
func (l *lister) listWatch() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch}
}

// list repeats the request against etcd if the first answer is older than the newest known one.
func (l *lister) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.Continue == "" {
		l.asked, l.first = time.Now(), ""
	}
	list, m, err := l.ask(ctx, o)
	if err == nil && o.Continue == "" && l.noted.older(m.GetResourceVersion()) {
		l.asked = time.Now()
		list, m, err = l.ask(ctx, metav1.ListOptions{})
	}
	if err == nil && isBefore(m.GetResourceVersion(), l.first) { // then the reflector requests a complete list
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

// ask returns a list, or one page of it, with its metadata.
func (l *lister) ask(ctx context.Context, o metav1.ListOptions) (runtime.Object, metav1.ListInterface, error) {
	list, err := l.ListWithContextFunc(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	m, err := meta.ListAccessor(list)
	return list, m, err
}

// complete records a list of all objects. It confirms the state at the request of its first page:
// events during the answers may be missing.
func (l *lister) complete(version string, asked time.Time) {
	if l.noted.older(version) {
		l.noted.wentBack(version)
	}
	l.noted.confirmed(version, asked)
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
		if !streams || !apierrors.IsInvalid(err) { // a server that cannot stream lists gets a plain request
			l.failed(ctx, err)
		}
		if streams && o.ResourceVersion == "" {
			err = endsStream(err)
		}
		return nil, err
	}
	if !streams {
		l.noted.watching(true)
	}
	a := &observedWatch{lister: l, inner: inner, asked: asked, initial: streams, unversioned: o.ResourceVersion == "", events: make(chan watch.Event), stopped: make(chan struct{})}
	go a.run(ctx) // until the reflector stops it
	return a, nil
}

// endsStream returns the error of a streamed list that was requested without a resourceVersion.
// After "expired", a reflector repeats the request at once, without end. After an internal error,
// it requests a plain list.
func endsStream(err error) error {
	if apierrors.IsResourceExpired(err) {
		return apierrors.NewInternalError(err)
	}
	return err
}

// observedWatch is a watch that records each event before its reflector receives it.
type observedWatch struct {
	*lister

	inner       watch.Interface
	asked       time.Time
	initial     bool // its events still belong to the initial list
	unversioned bool // it was requested without a resourceVersion
	events      chan watch.Event
	stopped     chan struct{}
	once        sync.Once
}

func (a *observedWatch) ResultChan() <-chan watch.Event { return a.events }

func (a *observedWatch) Stop() { a.once.Do(func() { close(a.stopped) }) }

func (a *observedWatch) run(ctx context.Context) {
	defer close(a.events)
	defer a.inner.Stop()
	defer a.noted.watching(false)
	due := a.renew
	if !a.initial {
		due -= time.Since(a.noted.confirmedAt()) // an open watch alone confirms nothing
	}
	silent := time.NewTimer(due)
	defer silent.Stop()
	for {
		select {
		case <-a.stopped:
			return
		case <-silent.C:
			a.pass(a.expired(ctx, "the watch received nothing for "+a.renew.String()))
			return
		case event, more := <-a.inner.ResultChan():
			if !more || !a.pass(a.note(ctx, event)) {
				return
			}
			silent.Reset(a.renew)
		}
	}
}

func (a *observedWatch) pass(event watch.Event) bool {
	select {
	case a.events <- event:
		return true
	case <-a.stopped:
		return false
	}
}

// note replaces an event that is older than the newest known one by an error, so that the
// reflector lists again.
func (a *observedWatch) note(ctx context.Context, event watch.Event) watch.Event {
	if event.Type == watch.Error {
		err := apierrors.FromObject(event.Object)
		a.failed(ctx, err)
		if ends, is := errors.AsType[*apierrors.StatusError](endsStream(err)); is && a.initial && a.unversioned {
			event.Object = &ends.ErrStatus
		}
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
		a.noted.confirmed(version, time.Now())
	}
	return event
}

// expired makes the reflector list again. Only a list shows the events that a silent watch did
// not send. For example, a proxy may open a watch and forward nothing, and after a restore of
// etcd a watch may wait for a resourceVersion in the future.
func (a *observedWatch) expired(ctx context.Context, why string) watch.Event {
	err := apierrors.NewResourceExpired(why)
	a.failed(ctx, err)
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}
