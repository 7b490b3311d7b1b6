package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
)

// StoreOptions are the options of ServeStore.
type StoreOptions struct {
	ServeOptions

	Store Store
	Open  func() ([]*bundle.Bundle, error) // opens the bundles of the store; an error with bundles is about the others
	Check time.Duration                    // interval of checking the bundles that are served in place; 0 is 5 s
}

const checkEvery = 5 * time.Second

// ServeStore serves the bundles of a store until ctx ends, as Serve does. If a bundle that is served in place goes away,
// comes back, or is mounted again, ServeStore opens all bundles again. While it is away, the others are served. New
// connections wait meanwhile, at most for the running answers (20 s).
//
// A store that has no bundle, and none that could come back, is an error.
func ServeStore(ctx context.Context, o StoreOptions) error {
	listener := o.Listener
	if listener == nil {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Addr); err != nil {
			return fmt.Errorf("serve registry: %w", err)
		}
	}
	kept, is := listener.(*net.TCPListener)
	if !is {
		return errors.Join(fmt.Errorf("serve registry: %T is no TCP listener", listener), listener.Close())
	}
	defer kept.Close()
	for ctx.Err() == nil {
		if err := o.serveOnce(ctx, kept); err != nil {
			return err
		}
	}
	return nil
}

// serveOnce serves until ctx ends or a bundle that is served in place changes.
func (o StoreOptions) serveOnce(ctx context.Context, kept *net.TCPListener) error {
	states := o.Store.inPlace()
	bundles, broken := o.Open()
	defer closeAll(bundles)
	if broken != nil {
		o.Log.Error("open store", "error", broken.Error())
	}
	if len(bundles) == 0 && len(states) == 0 {
		return advice.Add(errors.Join(fmt.Errorf("no bundle to serve in %s", o.Store.Dir), broken),
			"run airgap registry import DIR to add one")
	}
	ctx, changed := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { o.watch(ctx, states, changed) })
	defer watching.Wait()
	defer changed()
	if err := kept.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("serve registry: %w", err)
	}
	serve := o.ServeOptions
	serve.Bundles, serve.NotServed, serve.Listener = bundles, messages(broken), keptOpen{kept}
	return Serve(ctx, serve)
}

// watch calls changed when the states differ, and ends with ctx.
func (o StoreOptions) watch(ctx context.Context, states map[string]string, changed func()) {
	every := cmp.Or(o.Check, checkEvery)
	if len(states) == 0 {
		return // another link needs an import, which restarts the registry
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		if current := o.Store.inPlace(); !maps.Equal(current, states) {
			o.Log.Warn("bundles that are served in place have changed; the registry opens its store again",
				"before", states, "now", current)
			changed()
			return
		}
	}
}

// keptOpen is a listener that a server can close and that stays open for the next one.
type keptOpen struct{ *net.TCPListener }

// Close ends a waiting Accept.
func (l keptOpen) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// messages returns the texts of joined errors.
func messages(err error) []string {
	if err == nil {
		return nil
	}
	joined, is := err.(interface{ Unwrap() []error })
	if !is {
		return []string{err.Error()}
	}
	var all []string
	for _, one := range joined.Unwrap() {
		all = append(all, messages(one)...)
	}
	return all
}
