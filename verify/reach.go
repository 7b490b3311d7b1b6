package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// split returns the kinds that the cluster has, and those that it may get later.
func (a *api) split(ctx context.Context, optional []kind) (have, missing []kind, err error) {
	exist := make([]bool, len(optional))
	group, ctx := errgroup.WithContext(ctx)
	for i, k := range optional {
		group.Go(func() (err error) { exist[i], err = a.knows(ctx, k); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for i, k := range optional {
		if exist[i] {
			have = append(have, k)
		} else {
			missing = append(missing, k)
		}
	}
	return have, missing, nil
}

// snapshotKinds are the kinds in a baseline.
func snapshotKinds() []kind { return []kind{nodes, pods, daemonSets, deployments, statefulSets} }

// kindsWatched returns the kinds of all rules that this run can watch: those of every cluster, and
// those that only some clusters have.
func (e *engine) kindsWatched() (always, optional []kind) {
	var all []kind
	for _, r := range e.rules {
		all = append(all, r.kinds()...)
	}
	if e.options.Snapshot {
		all = append(all, snapshotKinds()...)
	}
	for _, k := range all {
		outside := len(e.options.Scope) > 0 && !sources[k].namespaced
		switch {
		case outside || slices.Contains(always, k) || slices.Contains(optional, k):
		case sources[k].optional:
			optional = append(optional, k)
		default:
			always = append(always, k)
		}
	}
	return always, optional
}

// reading returns the rules that read a kind and are evaluated on its events. Renewals of Leases
// do not count as events: their clocks are used when something else happens.
func (e *engine) reading(k kind) []string {
	var ids []string
	for _, r := range e.rules {
		if k != leases && r.every == 0 && slices.Contains(r.kinds(), k) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// knows reports whether the cluster has a kind. If the API server refuses to describe
// its group, the kind counts as existing: its list returns the reason.
func (a *api) knows(ctx context.Context, k kind) (bool, error) {
	s := sources[k]
	limited, cancel := limit(ctx)
	defer cancel()
	var list metav1.APIResourceList
	err := a.rest.Get().AbsPath(pathOf(s.resource.GroupVersion())).Do(limited).Into(&list)
	var status apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsUnauthorized(err), err != nil && !errors.As(err, &status):
		return false, fmt.Errorf("get API group %s: %w", s.resource.GroupVersion(), err)
	case err != nil:
		return true, nil
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == s.resource.Resource }), nil
}

// pathOf returns the URL path of a group and version.
func pathOf(v schema.GroupVersion) string {
	if v.Group == "" {
		return "/api/" + v.Version
	}
	return "/apis/" + v.String()
}

// version returns the version of the API server: "v1.36.3".
func (a *api) version(ctx context.Context) (string, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	said, err := a.rest.Get().AbsPath("/version").Do(limited).Raw()
	if err != nil {
		return "", fmt.Errorf("get the API server's version: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(said, &info); err != nil {
		return "", fmt.Errorf("parse the API server's version: %w", err)
	}
	return info.GitVersion, nil
}

func (a *api) ready(ctx context.Context) error {
	limited, cancel := limit(ctx)
	defer cancel()
	err := a.rest.Get().AbsPath("/readyz").Do(limited).Error()
	if failed := failedChecks(err); failed != "" {
		return fmt.Errorf("check API server: not ready: %s", failed)
	}
	if err != nil {
		return fmt.Errorf("check API server: %w", err)
	}
	return nil
}

// limit bounds a short request.
func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, probeLimit, errors.New("no answer"))
}

// failedChecks returns the failed checks in an answer of /readyz, which lists all checks:
// "[+]ping ok", "[-]etcd failed: reason withheld".
func failedChecks(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	var failed []string
	for _, cause := range status.Status().Details.Causes {
		for line := range strings.Lines(cause.Message) {
			if check, is := strings.CutPrefix(line, "[-]"); is {
				name, _, _ := strings.Cut(check, " ")
				failed = append(failed, name)
			}
		}
	}
	return strings.Join(failed, ", ")
}

// probe ends the session if the API server does not answer: a connection may die silently. After
// a failed request it probes at once, because all connections may be lost.
func (e *engine) probe(ctx context.Context, end context.CancelCauseFunc) {
	for ctx.Err() == nil {
		broke := error(nil)
		select {
		case <-ctx.Done():
			return
		case broke = <-e.api.failed:
		case <-time.After(probeEvery):
		}
		if err := e.api.ready(ctx); err != nil && ctx.Err() == nil {
			if broke != nil {
				err = fmt.Errorf("request to the API server: %w", broke)
			}
			end(err)
		}
	}
}
