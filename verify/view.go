package verify

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// view is the cluster as the informers see it. A kind has one cache for each namespace of the
// scope, or one for all namespaces, or none if the cluster does not have the kind.
type view struct {
	now        time.Time // time of the evaluation
	caches     map[kind][]cache.Indexer
	heartbeats *heartbeats
	server     string // version of the API server: "v1.36.3"
	site       site
	// informers fill the caches and have the last confirmation of the API server. bounds limit its
	// age.
	informers map[kind][]*informer
	bounds    bounds
}

// seenUntil returns the time that the caches of these kinds show. An object that they do not have was
// absent at that time, and may exist now.
func (v view) seenUntil(kinds ...kind) time.Time {
	until := v.now
	for _, k := range kinds {
		for _, w := range v.informers[k] {
			if w.shared.HasSynced() { // otherwise its cache is empty, and nothing is judged by it
				until = earlier(until, w.shownUntil(v.now))
			}
		}
	}
	return until
}

// has reports whether the cluster has a kind.
func (v view) has(k kind) bool { return len(v.caches[k]) > 0 }

// The functions below read caches in memory. Their only errors are about unknown indexes.

func all[T any](v view, k kind) []T {
	var list []T
	for _, c := range v.caches[k] {
		list = collect(list, c.List())
	}
	return list
}

// each is like all, without a new list.
func each[T any](v view, k kind) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range v.caches[k] {
			for _, obj := range c.List() {
				if o, is := obj.(T); is && !yield(o) {
					return
				}
			}
		}
	}
}

func in[T any](v view, k kind, namespace string) []T {
	return by[T](v, k, cache.NamespaceIndex, namespace)
}

func by[T any](v view, k kind, index, value string) []T {
	var list []T
	for _, c := range v.caches[k] {
		found, _ := c.ByIndex(index, value)
		list = collect(list, found)
	}
	return list
}

func collect[T any](list []T, objects []any) []T {
	for _, obj := range objects {
		if o, is := obj.(T); is {
			list = append(list, o)
		}
	}
	return list
}

// get returns the object with a name, or the zero value of T.
func get[T any](v view, k kind, namespace, name string) T {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	var none T
	for _, c := range v.caches[k] {
		if obj, exists, _ := c.GetByKey(key); exists {
			o, _ := obj.(T)
			return o
		}
	}
	return none
}

func (v view) allNodes() []*corev1.Node { return all[*corev1.Node](v, nodes) }

// node returns the node with a name, or nil.
func (v view) node(name string) *corev1.Node { return get[*corev1.Node](v, nodes, "", name) }

// values returns all values of an index.
func (v view) values(k kind, index string) []string {
	var all []string
	for _, c := range v.caches[k] {
		all = append(all, c.ListIndexFuncValues(index)...)
	}
	return all
}

// count returns the number of objects of a kind.
func (v view) count(k kind) int {
	n := 0
	for _, c := range v.caches[k] {
		n += len(c.ListKeys())
	}
	return n
}
