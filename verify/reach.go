package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// kinds are those that the rules watch, as far as the cluster has them, and those that it
// may have later.
func (e *engine) kinds(ctx context.Context) (have, missing []kind, err error) {
	for _, k := range e.kindsWatched() {
		switch there, err := e.api.knows(ctx, k); {
		case err != nil:
			return nil, nil, err
		case there:
			have = append(have, k)
		default:
			missing = append(missing, k)
		}
	}
	return have, missing, nil
}

// snapshotKinds are what a baseline has of the cluster.
func snapshotKinds() []kind { return []kind{nodes, pods, daemonSets, deployments, statefulSets} }

// kindsWatched are those of all rules that this verification can watch.
func (e *engine) kindsWatched() []kind {
	var all, list []kind
	for _, r := range e.rules {
		all = append(all, r.kinds()...)
	}
	if e.options.Snapshot {
		all = append(all, snapshotKinds()...)
	}
	for _, k := range all {
		outside := len(e.options.Scope) > 0 && !sources[k].namespaced
		if !slices.Contains(list, k) && !outside {
			list = append(list, k)
		}
	}
	return list
}

// reading are the rules that read a kind and are judged on its events. Renewals of leases are
// no events: what they tell of clocks counts when something else happens.
func (e *engine) reading(k kind) []string {
	var ids []string
	for _, r := range e.rules {
		if k != leases && r.every == 0 && slices.Contains(r.kinds(), k) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// knows tells whether the cluster has a kind that it may do without. One whose group the
// API server refuses to describe is taken to be there: its list has the reason.
func (a *api) knows(ctx context.Context, k kind) (bool, error) {
	s := sources[k]
	if !s.optional {
		return true, nil
	}
	limited, cancel := limit(ctx)
	defer cancel()
	var list metav1.APIResourceList
	err := a.rest.Get().AbsPath(pathOf(s.resource.GroupVersion())).Do(limited).Into(&list)
	var status apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsUnauthorized(err), err != nil && !errors.As(err, &status):
		return false, fmt.Errorf("ask API server for %s: %w", s.resource.GroupVersion(), err)
	case err != nil:
		return true, nil
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == s.resource.Resource }), nil
}

// pathOf is where the API server has the resources of a group and version.
func pathOf(v schema.GroupVersion) string {
	if v.Group == "" {
		return "/api/" + v.Version
	}
	return "/apis/" + v.String()
}

// version is the API server's: "v1.36.3".
func (a *api) version(ctx context.Context) (string, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	said, err := a.rest.Get().AbsPath("/version").Do(limited).Raw()
	if err != nil {
		return "", fmt.Errorf("ask API server for its version: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(said, &info); err != nil {
		return "", fmt.Errorf("read the API server's version: %w", err)
	}
	return info.GitVersion, nil
}

func (a *api) ready(ctx context.Context) error {
	limited, cancel := limit(ctx)
	defer cancel()
	err := a.rest.Get().AbsPath("/readyz").Do(limited).Error()
	if failed := failedChecks(err); failed != "" {
		return fmt.Errorf("ask API server: it is not ready: %s", failed)
	}
	if err != nil {
		return fmt.Errorf("ask API server: %w", err)
	}
	return nil
}

// limit is for a request that is answered at once, or not at all.
func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, probeLimit, errors.New("no answer"))
}

// failedChecks names those that fail in the answer of /readyz, which lists all:
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

// probe ends the session when the API server does not answer: a connection may die unseen.
// When a request breaks off it asks at once: one stream may have been cut, or all of them.
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
				err = fmt.Errorf("talk to API server: %w", broke)
			}
			end(err)
		}
	}
}
