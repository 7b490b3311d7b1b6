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

// TestWorkloadsOfARealServer: a ReplicaSet without a Deployment, an orphaned ReplicaSet and a Job
// without their pods are findings. A ReplicaSet of a Deployment, and a pod and a namespace that were
// deleted a moment ago, are not.
func TestWorkloadsOfARealServer(t *testing.T) {
	t.Parallel()
	b := newTestCluster(t)
	_, err := b.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Finalizers: []string{"bank/audit"}}}, metav1.CreateOptions{})
	b.must(err)
	hashed := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "7d"}
	b.replicaSet("bare", metav1.ObjectMeta{})
	b.replicaSet("orphan-7d", metav1.ObjectMeta{Labels: hashed})
	b.replicaSet("web-7d", metav1.ObjectMeta{Labels: hashed, OwnerReferences: controlledBy("apps/v1", "Deployment", "web")})
	_, jobPods := template("nightly")
	jobPods.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err = b.client.BatchV1().Jobs("shop").Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}, Spec: batchv1.JobSpec{Template: jobPods}}, metav1.CreateOptions{})
	b.must(err)
	now := int64(0)
	b.pod(pod("shop", "booked", "cp1", func(p *corev1.Pod) { p.Finalizers = []string{"bank/book"} }))
	b.must(b.client.CoreV1().Pods("shop").Delete(t.Context(), "booked", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	b.must(b.client.CoreV1().Namespaces().Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	o := b.options()
	o.Timeout = 3 * time.Second
	saw := map[string]string{}
	for _, f := range b.verify(o).Findings {
		saw[f.Object] += f.Saw
	}
	for object, want := range map[string]string{"ReplicaSet shop/bare": "0 of 1 pods available", "ReplicaSet shop/orphan-7d": "0 of 1 pods available", "Job shop/nightly": "it has no pod"} {
		if !strings.Contains(saw[object], want) {
			t.Errorf("%s: saw %q, want %q; all: %q", object, saw[object], want, saw)
		}
	}
	if saw["ReplicaSet shop/web-7d"] != "" || saw["Pod shop/booked"] != "" {
		t.Errorf("unexpected findings about healthy or just deleted objects: %q", saw)
	}
}

// replicaSet creates a ReplicaSet with one replica and no pod.
func (b *testCluster) replicaSet(name string, meta metav1.ObjectMeta) {
	b.t.Helper()
	one := int32(1)
	meta.Name = name
	r := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &one}}
	r.Spec.Selector, r.Spec.Template = template(name)
	r, err := b.client.AppsV1().ReplicaSets("shop").Create(b.t.Context(), r, metav1.CreateOptions{})
	b.must(err)
	r.Status.ObservedGeneration = r.Generation
	_, err = b.client.AppsV1().ReplicaSets("shop").UpdateStatus(b.t.Context(), r, metav1.UpdateOptions{})
	b.must(err)
}
