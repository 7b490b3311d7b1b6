package verify

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// presence is whether a namespace of the scope exists.
type presence int

const (
	isThere presence = iota
	isNot
	mayBe // the user is not allowed to get it
)

// externalFacts has the facts that no informer provides.
type externalFacts struct {
	facts Facts
	scope map[string]presence
}

// refresh asks the caller for the current facts, and the API server for each namespace of the
// scope: listing in a namespace that does not exist returns an empty list and no error.
func (e *engine) refresh(ctx context.Context) (externalFacts, error) {
	l := externalFacts{scope: map[string]presence{}}
	if e.options.Facts != nil {
		limited, cancel := limit(ctx)
		l.facts = e.options.Facts(limited)
		cancel()
	}
	for _, name := range e.options.Scope {
		limited, cancel := limit(ctx)
		err := e.api.rest.Get().AbsPath("/api/v1/namespaces", name).Do(limited).Error()
		cancel()
		switch {
		case apierrors.IsNotFound(err):
			l.scope[name] = isNot
		case apierrors.IsForbidden(err):
			l.scope[name] = mayBe
		case err != nil:
			return externalFacts{}, fmt.Errorf("get namespace %s: %w", name, err)
		default:
			l.scope[name] = isThere
		}
	}
	return l, nil
}

// refreshFacts repeats learn every few minutes, because a session may last for days. If it fails,
// the earlier facts stay.
func (e *engine) refreshFacts(ctx context.Context, to chan<- externalFacts) {
	for ctx.Err() == nil {
		sleep(ctx, wait.Jitter(e.options.refresh, 0.2))
		l, err := e.refresh(ctx)
		if err != nil {
			continue
		}
		select {
		case to <- l:
		case <-ctx.Done():
		}
	}
}

// applyFacts applies the learned facts. The IDs of the rules do not change.
func (e *engine) applyFacts(l externalFacts) {
	if e.options.Facts != nil {
		e.options.take(l.facts)
		e.choose()
	}
	e.site = e.options.site()
	e.site.scope = l.scope
}

// unknownNamespace returns a namespace of the scope that does not exist, or that is empty and
// possibly does not exist. The results of the other namespaces alone would be incomplete.
func (v view) unknownNamespace() expectation {
	fix := "check the name: kubectl get namespaces"
	for _, name := range v.site.namespaces() {
		switch {
		case v.site.scope[name] == isNot:
			return expectation{missing: "namespace " + name + " does not exist", fix: fix}
		case v.site.scope[name] == mayBe && v.empty(name):
			return expectation{missing: "namespace " + name + " is empty, and this user is not allowed to check whether it exists", fix: fix}
		}
	}
	return expectation{}
}

// empty reports whether no watched object is in a namespace.
func (v view) empty(namespace string) bool {
	for k := range v.caches {
		if slices.Contains(v.values(k, cache.NamespaceIndex), namespace) {
			return false
		}
	}
	return true
}
