// Package mutationtest enables client-go's cache mutation detector in the tests that import it: a
// test that changes an object of an informer's cache panics.
//
// The detector reads its environment variable while Go initializes client-go. Go initializes
// packages without pending imports in the order of their import paths. So this package is first: it
// imports only os, and its path sorts before k8s.io.
package mutationtest

import "os"

var _ = os.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
