package verify

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// presence is whether a namespace of the scope is there.
type presence int

const (
	isThere presence = iota
	isNot
	mayBe // who verifies may not ask
)

// learned is what no informer tells.
type learned struct {
	facts Facts
	scope map[string]presence
}

// learn asks the caller what it knows of the cluster now, and the API server for each namespace
// of the scope: a list of what is in one that does not exist is empty, and no error.
func (e *engine) learn(ctx context.Context) (learned, error) {
	l := learned{scope: map[string]presence{}}
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
			return learned{}, fmt.Errorf("ask API server for the namespace %s: %w", name, err)
		default:
			l.scope[name] = isThere
		}
	}
	return l, nil
}

// learnAgain learns every few minutes, since a session may last for days. What was learned
// before stands where nobody answers.
func (e *engine) learnAgain(ctx context.Context, to chan<- learned) {
	for ctx.Err() == nil {
		sleep(ctx, wait.Jitter(e.options.learn, 0.2))
		l, err := e.learn(ctx)
		if err != nil {
			continue
		}
		select {
		case to <- l:
		case <-ctx.Done():
		}
	}
}

// heed judges by what was learned from now on. Rules keep their ids.
func (e *engine) heed(l learned) {
	if e.options.Facts != nil {
		e.options.take(l.facts)
		e.choose()
	}
	e.site = e.options.site()
	e.site.scope = l.scope
}

// unknownNamespace names one of the scope that is not there, or of which nobody can tell:
// it is empty. What the other ones have is half of what was asked for.
func (v view) unknownNamespace() expectation {
	fix := "kubectl get namespaces; is the name right?"
	for _, name := range v.site.namespaces() {
		switch {
		case v.site.scope[name] == isNot:
			return expectation{missing: "the namespace " + name + " does not exist", fix: fix}
		case v.site.scope[name] == mayBe && v.empty(name):
			return expectation{missing: "nothing is in the namespace " + name + ", and whether it exists may not be asked", fix: fix}
		}
	}
	return expectation{}
}

// empty tells whether nothing that is watched is in a namespace.
func (v view) empty(namespace string) bool {
	for k := range v.caches {
		if slices.Contains(v.values(k, cache.NamespaceIndex), namespace) {
			return false
		}
	}
	return true
}
