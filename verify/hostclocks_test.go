package verify

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestHostsDateEnds: an hour ago a pod ended on a host with a wrong clock. An API server with a third
// clock dated the pod that may have replaced it.
func TestHostsDateEnds(t *testing.T) {
	now := time.Now()
	const hour = time.Hour
	for _, test := range []struct {
		name          string
		server, host  time.Duration // ahead of this computer's clock
		made          time.Duration // ago
		replaced      bool
		noRetryInTime bool
	}{
		{"no difference", 0, 0, hour / 2, true, true},
		{"no difference, and an older pod", 0, 0, hour + hour/2, false, true},
		{"the host is ahead", 0, 2 * hour, hour / 2, true, true},
		{"the host is behind, and an older pod", 0, -2 * hour, hour + hour/2, false, true},
		{"the server is ahead, and an older pod", 2 * hour, 0, hour + hour/2, false, true},
		{"created in the second of the end", 0, 0, hour, true, true},
	} {
		by := owners()[otherOwns][0]
		said := func(ago, ahead time.Duration) time.Time { return now.Add(ahead - ago).Truncate(time.Second) }
		end := func(p *corev1.Pod) {
			failedPod(p)
			for i := range p.Status.ContainerStatuses {
				p.Status.ContainerStatuses[i].State = terminated(1, said(hour, test.host))
			}
		}
		v := seen(t, node("cp1", corev1.ConditionTrue, controlPlaneNode), node("w1", corev1.ConditionTrue),
			pod("shop", "ended", "w1", by, createdAt(said(5*hour, test.server)), end), pod("shop", "next", "cp1", by, createdAt(said(test.made, test.server))),
			job("shop", "nightly", func(j *batchv1.Job) { j.Status.Active, j.Status.Failed = 0, 1 }), pod("shop", "try", "w1", owners()[jobOwns][0], createdAt(said(5*hour, test.server)), end))
		v.heartbeats.take(leaseOf("cp1"), now.Add(test.server), now, now)
		v.heartbeats.take(leaseOf("w1"), now.Add(test.host), now, now)
		found := judgePods(v, anyNamespace)
		if got := !slices.ContainsFunc(found, func(f Finding) bool { return f.Object == "Pod shop/ended" }); got != test.replaced {
			t.Errorf("%s: replaced %v", test.name, got)
		}
		if got := len(judgeJobs(v, anyNamespace)) == 1; got != test.noRetryInTime {
			t.Errorf("%s: Job not retried in time: %v", test.name, got)
		}
	}
}

// TestServersDateDeletions: the rule terminating also uses the clocks of the servers if it is the only rule.
func TestServersDateDeletions(t *testing.T) {
	for _, r := range []rule{terminating(anyNamespace), jobsDone(anyNamespace), otherPods(nil), systemPods(nil)} {
		if !slices.Contains(r.kinds(), leases) {
			t.Errorf("%s does not read leases", r.id)
		}
	}
	v := seen(t, node("cp1", corev1.ConditionTrue, controlPlaneNode), deletedAgo(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, time.Second))
	v.heartbeats.take(leaseOf("cp1"), v.now.Add(time.Hour), v.now, v.now)
	if f := terminating(anyNamespace).judge(v); len(f) != 1 {
		t.Errorf("deleted an hour ago by the clock of the server: %+v", f)
	}
}
