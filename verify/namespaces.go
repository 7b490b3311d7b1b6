package verify

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// presence is whether a namespace of the scope is there.
type presence int

const (
	isThere presence = iota
	isNot
	mayBe // who verifies may not ask
)

// askNamespaces asks once a session for each namespace of the scope: a list of what is in
// one that does not exist is empty, and no error.
func (e *engine) askNamespaces(ctx context.Context) error {
	e.site = e.options.site()
	for _, name := range e.options.Scope {
		limited, cancel := limit(ctx)
		err := e.api.rest.Get().AbsPath("/api/v1/namespaces", name).Do(limited).Error()
		cancel()
		switch {
		case apierrors.IsNotFound(err):
			e.site.scope[name] = isNot
		case apierrors.IsForbidden(err):
			e.site.scope[name] = mayBe
		case err != nil:
			return fmt.Errorf("ask API server for the namespace %s: %w", name, err)
		default:
			e.site.scope[name] = isThere
		}
	}
	return nil
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
