package verify

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/result"
)

// TestAbsenceIsSeen runs half an hour with a silent watch of one kind, in a healthy cluster: a new
// list every 145 seconds is all that an engine receives. A heartbeat or the end of a pod that it
// could not receive is not absent.
func TestAbsenceIsSeen(t *testing.T) {
	for _, k := range []kind{leases, nodeReports, pods} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newFaultedCluster(t, faultPeriod{fault: mute, kinds: []kind{k}, from: early, to: forever})
				defer b.rest()
				until := metav1.NewTime(time.Now().Add(early + 5*time.Second))
				b.pod(pod("kube-system", "ending", "w1", func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &until, new(int64) }))
				time.AfterFunc(early+10*time.Second, func() {
					b.must(b.client.CoreV1().Pods("kube-system").Delete(t.Context(), "ending", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
				})
				ctx, end := context.WithTimeout(t.Context(), 30*time.Minute)
				defer end()
				o, broken, reports := b.options(), map[string]bool{}, 0
				o.Timeout, o.Only, o.Watch = 0, append(o.Only, "terminating", "leaders"), func(result.Event) {}
				o.Seen = func(r result.Report) {
					reports++
					for _, rule := range r.Rules {
						if rule.Outcome == result.Broken && rule.ID != apiServer && !broken[rule.ID] {
							broken[rule.ID] = true
							t.Errorf("%s is broken: %+v", rule.ID, r.Findings)
						}
					}
				}
				o.bounds.fill()
				o.bounds.renew = o.bounds.silent - 5*time.Second
				_, _ = Run(ctx, o)
				if reports < 30 {
					t.Errorf("%d reports", reports)
				}
			})
		})
	}
}

// TestShownUntil: for a moment after a gap, the cache may still show its beginning.
func TestShownUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &confirmation{kind: nodeReports}
		c.begin(nil)
		began := time.Now()
		time.Sleep(time.Minute)
		c.confirmed("1", time.Now())
		ended := time.Now()
		if got := c.shownUntil(time.Now()); !got.Equal(began) {
			t.Errorf("right after a gap: %s, want %s", got, began)
		}
		time.Sleep(handledIn + time.Second)
		if got := c.shownUntil(time.Now()); !got.Equal(ended) {
			t.Errorf("later: %s, want %s", got, ended)
		}
	})
}

// TestDeletedKindsAreWatched: each kind of a deleted object has its informer.
func TestDeletedKindsAreWatched(t *testing.T) {
	for _, of := range []string{"Pod", "Job", "Namespace", "Node", "DaemonSet", "Deployment", "StatefulSet", "ReplicaSet"} {
		if k := (deletedObject{kind: of}).watchedAs(); sources[k].resource.Resource == "" {
			t.Errorf("no kind %q is watched", k)
		}
	}
}
