package verify

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/nodereport"
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

// TestAgesUpToTheCache: a new pod of a Job, and a new backup, may exist after the time that the caches
// show. A backup right after a gap is not from the future.
func TestAgesUpToTheCache(t *testing.T) {
	now := time.Now()
	over := now.Add(-retriesWithin - time.Minute)
	idle := []metav1.Object{
		job("default", "nightly", func(j *batchv1.Job) { j.Status.Active, j.Status.Failed = 0, 1 }),
		pod("default", "p", "w1", owners()[jobOwns][0], createdAt(over), failedPod, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = terminated(1, over) }),
	}
	backed := func(ago time.Duration) []metav1.Object {
		etcd := &nodereport.Etcd{HasLeader: true, Members: []string{"w1"}, Snapshot: &metav1.Time{Time: now.Add(-ago)}}
		return []metav1.Object{node("w1", corev1.ConditionTrue), report(t, "w1", nodereport.Report{Etcd: etcd})}
	}
	current := &confirmation{at: now}
	silent := &confirmation{at: now.Add(-2 * time.Minute)}
	resumed := &confirmation{at: now, gap: gap{from: now.Add(-time.Hour), to: now.Add(-time.Second)}}
	for name, test := range map[string]struct {
		rule    rule
		objects []metav1.Object
		caches  map[kind]*confirmation
		found   bool
	}{
		"a Job without a pod":                  {jobsDone(anyNamespace), idle, map[kind]*confirmation{jobs: current, pods: current}, true},
		"a Job, and pods are silent":           {jobsDone(anyNamespace), idle, map[kind]*confirmation{jobs: current, pods: silent}, false},
		"a Job that is silent":                 {jobsDone(anyNamespace), idle, map[kind]*confirmation{jobs: silent, pods: current}, false},
		"a Job, right after a gap of pods":     {jobsDone(anyNamespace), idle, map[kind]*confirmation{jobs: current, pods: resumed}, false},
		"an old backup":                        {etcdHealthy(), backed(backupAge + time.Minute), map[kind]*confirmation{nodeReports: current}, true},
		"a backup, and reports are silent":     {etcdHealthy(), backed(backupAge + time.Minute), map[kind]*confirmation{nodeReports: silent}, false},
		"a very old backup":                    {etcdHealthy(), backed(backupAge + 3*time.Minute), map[kind]*confirmation{nodeReports: silent}, true},
		"a new backup, right after a long gap": {etcdHealthy(), backed(time.Minute), map[kind]*confirmation{nodeReports: resumed}, false},
	} {
		v := seen(t, test.objects...)
		v.now, v.informers = now, map[kind][]*informer{}
		for k, c := range test.caches {
			v.informers[k] = []*informer{{confirmation: c, shared: synced{}}}
		}
		if findings := test.rule.judge(v); (len(findings) > 0) != test.found {
			t.Errorf("%s: got %+v, want a finding: %v", name, findings, test.found)
		}
	}
}

// synced is an informer whose first list is in its cache.
type synced struct{ cache.SharedIndexInformer }

func (synced) HasSynced() bool { return true }

// TestDeletedKindsAreWatched: each kind of a deleted object has its informer.
func TestDeletedKindsAreWatched(t *testing.T) {
	for _, of := range []string{"Pod", "Job", "Namespace", "Node", "DaemonSet", "Deployment", "StatefulSet", "ReplicaSet"} {
		if k := (deletedObject{kind: of}).watchedAs(); sources[k].resource.Resource == "" {
			t.Errorf("no kind %q is watched", k)
		}
	}
}
