// Package upstream is the lab's internet. It has the images, packages and files that
// `airgap bundle` fetches from registry.k8s.io, ghcr.io, docker.io, quay.io, pkgs.k8s.io, a
// Linux vendor's mirror and GitHub's releases. It builds them from the real components and
// serves them on one loopback port like a corporate mirror: paths begin with the host name.
//
// Build fills a cache outside the source tree. Serve serves it over TLS, and injects faults
// for the scenarios in which an upstream fails. The programs are real, except in the arm64
// images and in packages that are marked as stubs.
package upstream

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// Build updates the cache and reports each stage on progress. It returns within a second if
// the cache is current. It may run in several processes at the same time: all except one
// wait.
func Build(ctx context.Context, cache string, progress io.Writer) error {
	return build(ctx, cache, progress, recipe.All())
}

// BuildDefault is Build without the runtimes that only some scenarios use.
func BuildDefault(ctx context.Context, cache string, progress io.Writer) error {
	return build(ctx, cache, progress, recipe.Default())
}

func build(ctx context.Context, cache string, progress io.Writer, recipes []recipe.Recipe) error {
	b, unlock, err := open(ctx, cache, progress)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.programs(ctx, recipes); err != nil {
		return err
	}
	if err := b.releases(); err != nil {
		return err
	}
	if err := b.charts(); err != nil {
		return err
	}
	if err := b.repositories(ctx); err != nil {
		return err
	}
	images, err := b.images()
	if err != nil {
		return err
	}
	return b.putImages(ctx, b.cache.images(), images)
}

// BuildBefore adds the Kubernetes minor before recipe.Current to a cache that Build has
// updated.
func BuildBefore(ctx context.Context, cache string, progress io.Writer) error {
	return buildMinor(ctx, cache, progress, recipe.Before())
}

// BuildAfter is BuildBefore for the next minor.
func BuildAfter(ctx context.Context, cache string, progress io.Writer) error {
	return buildMinor(ctx, cache, progress, recipe.After())
}

// buildMinor adds the packages and images of a Kubernetes minor.
func buildMinor(ctx context.Context, cache string, progress io.Writer, c recipe.Cluster) error {
	b, unlock, err := open(ctx, cache, progress)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.programs(ctx, c.Recipes()); err != nil {
		return err
	}
	if err := b.kubernetesRepository(ctx, c); err != nil {
		return err
	}
	userland, err := userland()
	if err != nil {
		return err
	}
	return b.putImages(ctx, b.cache.images(), append(b.controlPlane(c), b.kubernetes(c, "kube-proxy", userland)))
}

// builder is one run of Build.
type builder struct {
	cache places
	root  string // directory of the lab's module, with the recipes
	log   *stage.Log
	keys  map[string]string // by recipe, the key of its programs
}

func open(ctx context.Context, cache string, progress io.Writer) (*builder, func(), error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, nil, err
	}
	c := places(cache)
	log, err := stage.Open(c.stages(), progress)
	if err != nil {
		return nil, nil, err
	}
	unlock, err := log.Lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &builder{cache: c, root: root, log: log, keys: map[string]string{}}, unlock, nil
}

// programs compiles two recipes at a time: while one waits for the network, or links on a
// single core, the other compiles.
func (b *builder) programs(ctx context.Context, recipes []recipe.Recipe) error {
	compiler, err := recipe.Compiler(ctx)
	if err != nil {
		return err
	}
	var stale []recipe.Recipe
	for _, r := range recipes {
		if b.keys[r.Name], err = r.Key(b.root, compiler); err != nil {
			return err
		}
		current, err := b.log.Current("programs "+r.Name, b.keys[r.Name])
		if err != nil {
			return err
		}
		if !current {
			stale = append(stale, r)
		}
	}
	left := newEstimate(b.log, stale)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for _, r := range stale {
		g.Go(func() error {
			_, err := b.log.Do("programs "+r.Name, b.keys[r.Name], func() error { return compile(ctx, b, r) })
			left.without(r)
			return err
		})
	}
	return g.Wait()
}

func compile(ctx context.Context, b *builder, r recipe.Recipe) error {
	began := time.Now()
	if err := r.Download(ctx, b.root); err != nil {
		return err
	}
	b.log.Printf("programs %s: modules after %.1f s\n", r.Name, time.Since(began).Seconds())
	return r.Build(ctx, b.root, b.cache.programs(r.Name))
}

// moduleRoot returns the directory of the lab's module. The working directory may be any
// directory of the source tree.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		for _, candidate := range []string{d, filepath.Join(d, "e2e")} {
			if _, err := os.Stat(filepath.Join(candidate, "upstream", "recipes")); err == nil {
				return candidate, nil
			}
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("find the lab's recipes: %s is outside the source tree", dir)
		}
	}
}
