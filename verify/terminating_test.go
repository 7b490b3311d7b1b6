package verify

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTerminatingNamesTheCause: a finding names the finalizers, the node or the reasons of the
// namespace controller, and its fix fits the reason.
func TestTerminatingNamesTheCause(t *testing.T) {
	space := deletedAgo(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, time.Hour, "bank/audit")
	space.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	space.Status.Conditions = []corev1.NamespaceCondition{
		{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: "Some resources are remaining: orders.bank has 1 resource instances"},
		{Type: corev1.NamespaceDeletionDiscoveryFailure, Status: corev1.ConditionFalse, Message: "All resources successfully discovered"},
	}
	v := seen(t, node("w1", corev1.ConditionTrue), node("w2", corev1.ConditionUnknown), space,
		pod("shop", "booked", "w1", deletedSince(-time.Hour, "bank/book", "bank/audit")), pod("shop", "away", "w2", deletedSince(-time.Hour)),
		pod("shop", "hangs", "w1", deletedSince(-time.Hour)), pod("shop", "gone", "w9", deletedSince(-time.Hour)))
	for object, words := range map[string][]string{
		"Namespace shop":  {"bank/audit", "orders.bank has 1 resource instances", "kubectl patch namespace shop"},
		"Pod shop/booked": {"held by the finalizers bank/book, bank/audit", "kubectl -n shop patch pod booked"},
		"Pod shop/away":   {"its node w2: not reporting", "airgap remove w2"},
		"Pod shop/gone":   {"its node w9 does not exist", "airgap remove w9"},
		"Pod shop/hangs":  {"its grace period ended at", "on w1: journalctl -u kubelet"},
	} {
		said := ""
		for _, f := range terminating(anyNamespace).judge(v) {
			if f.Object == object {
				said += f.Saw + "; " + f.Fix
			}
		}
		for _, word := range words {
			if !strings.Contains(said, word) || strings.Contains(said, "discovered") {
				t.Errorf("%s: %q does not contain %q", object, said, word)
			}
		}
	}
	if f := terminating(namespaces{"kube-system"}.has).judge(v); len(f) > 0 {
		t.Errorf("findings in other namespaces: %+v", f)
	}
}

func TestJobs(t *testing.T) {
	zero, elsewhere, indexes := int32(0), "kueue.x-k8s.io/multikueue", "1,3-5"
	failed := func(reason, message string) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			turned(batchv1.JobFailed, reason)(j)
			j.Status.Conditions[0].Message = message
		}
	}
	for _, test := range []struct {
		name   string
		change func(*batchv1.Job)
		saw    string
	}{
		{"works", func(*batchv1.Job) {}, ""},
		{"deadline", failed("DeadlineExceeded", "Job was active longer than specified deadline"), "failed: DeadlineExceeded: Job was active longer than specified deadline"},
		{"indexes", func(j *batchv1.Job) { j.Status.FailedIndexes = &indexes }, "it continues, but does not retry its failed indexes 1,3-5"},
		{"no pod", func(j *batchv1.Job) { j.Status.Active = 0 }, "it has no pod"},
		{"needs no pod", func(j *batchv1.Job) { j.Status.Active, j.Spec.Parallelism = 0, &zero }, ""},
		{"another cluster runs it", func(j *batchv1.Job) { j.Status.Active, j.Spec.ManagedBy = 0, &elsewhere }, ""},
		{"about to succeed", turned(batchv1.JobSuccessCriteriaMet, ""), ""},
		{"waits before it retries", func(j *batchv1.Job) { j.Status.Active, j.Status.Failed = 0, 2 }, ""},
		{"deleted", func(j *batchv1.Job) { failed("BackoffLimitExceeded", "")(j); deletedAgo(j, 0) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []Finding
			if test.saw != "" {
				want = []Finding{{Object: "Job shop/nightly", Saw: test.saw}}
			}
			wantSaw(t, judgeJobs(seen(t, job("shop", "nightly", test.change)), anyNamespace), want...)
			wantSaw(t, judgeJobs(seen(t, job("shop", "nightly", test.change)), namespaces{"kube-system"}.has))
		})
	}
}

// TestRefusedPods: a workload reports why its pods are not created.
func TestRefusedPods(t *testing.T) {
	const refused = "FailedCreate: pods \"web-\" is forbidden: exceeded quota: small"
	list := ownersOf("shop", 1)
	reason, message, _ := strings.Cut(refused, ": ")
	v := seen(t, changed(list[0].(*appsv1.Deployment), func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: reason, Message: message})
	}), changed(list[1].(*appsv1.ReplicaSet), func(r *appsv1.ReplicaSet) {
		r.Status.Conditions = append(r.Status.Conditions, appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason, Message: message})
	}))
	wantSaw(t, judgeWorkloads(v, anyNamespace, []string{"Deployment shop/web"}),
		Finding{Object: "Deployment shop/web", Saw: "1 of 2 pods available, " + refused},
		Finding{Object: "ReplicaSet shop/bare", Saw: "1 of 2 pods available, " + refused})
	v = seen(t, deletedAgo(list[0].(*appsv1.Deployment), 0))
	wantSaw(t, judgeWorkloads(v, anyNamespace, []string{"Deployment shop/web"}), Finding{Object: "Deployment shop/web", Saw: "it is being deleted"})
}
