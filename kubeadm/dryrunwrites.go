package kubeadm

import (
	"context"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/drain"
)

// DryRunWrites sends the writes of an upgrade to the API server as a dry run (dryRun=All),
// with the eviction of one pod per namespace from the drained nodes. The error contains the
// message of the webhook or policy that would stop the upgrade. Webhooks without support for dry
// runs are skipped.
func DryRunWrites(ctx context.Context, client kubernetes.Interface, c Config, node string, drained ...string) error {
	evictions, err := dryRunEvictions(ctx, client, drained)
	if err != nil {
		return err
	}
	writes := dryRunWrites(ctx, client, node)
	if !slices.Contains(c.IgnorePreflightErrors, "CreateJob") && !slices.Contains(c.IgnorePreflightErrors, "all") {
		writes = append(writes, dryRunJob(ctx, client))
	}
	for _, write := range append(writes, evictions...) {
		err := write.do()
		if err == nil || apierrors.IsNotFound(err) || strings.Contains(err.Error(), "does not support dry run") {
			continue
		}
		return &host.Failure{
			What: "dry-run the upgrade: " + write.what, Err: err,
			Next: "fix the webhook that does not answer or denies the request, or exclude kube-system, nodes and evictions from it (namespaceSelector, failurePolicy: Ignore): it would stop the upgrade halfway",
		}
	}
	return nil
}

// dryRunWrite is one write. It is skipped if its object does not exist.
type dryRunWrite struct {
	what string
	do   func() error
}

// dryRunWrites returns one write for each kind of object that kubeadm or airgap changes.
func dryRunWrites(ctx context.Context, client kubernetes.Interface, node string) []dryRunWrite {
	dry, patch := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, []byte(`{"metadata":{"annotations":{"airgap.dev/dry-run":"yes"}}}`)
	made, merge, system := metav1.CreateOptions{DryRun: dry.DryRun}, types.MergePatchType, metav1.NamespaceSystem
	return []dryRunWrite{
		{"change node " + node, func() error {
			_, err := client.CoreV1().Nodes().Patch(ctx, node, merge, patch, dry)
			return err
		}},
		{"change ConfigMap kube-system/kubeadm-config", func() error {
			_, err := client.CoreV1().ConfigMaps(system).Patch(ctx, "kubeadm-config", merge, patch, dry)
			return err
		}},
		{"change Role kube-system/kubeadm:nodes-kubeadm-config", func() error {
			_, err := client.RbacV1().Roles(system).Patch(ctx, "kubeadm:nodes-kubeadm-config", merge, patch, dry)
			return err
		}},
		{"change Deployment kube-system/coredns", func() error {
			_, err := client.AppsV1().Deployments(system).Patch(ctx, "coredns", merge, patch, dry)
			return err
		}},
		{"change DaemonSet kube-system/kube-proxy", func() error {
			_, err := client.AppsV1().DaemonSets(system).Patch(ctx, "kube-proxy", merge, patch, dry)
			return err
		}},
		{"create a pod in kube-system", func() error {
			_, err := client.CoreV1().Pods(system).Create(ctx, &corev1.Pod{ObjectMeta: dryRunName(), Spec: dryRunPod()}, made)
			return err
		}},
	}
}

// dryRunJob is the Job with which kubeadm checks that pods start (preflight check CreateJob).
func dryRunJob(ctx context.Context, client kubernetes.Interface) dryRunWrite {
	return dryRunWrite{"create a Job in kube-system", func() error {
		_, err := client.BatchV1().Jobs(metav1.NamespaceSystem).Create(ctx, jobObject(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}}
}

// dryRunEvictions returns the eviction of one pod per namespace, because most webhooks select
// by namespace.
func dryRunEvictions(ctx context.Context, client kubernetes.Interface, nodes []string) ([]dryRunWrite, error) {
	var all []dryRunWrite
	asked := map[string]bool{}
	for _, node := range nodes {
		pods, err := (&drain.Draining{Client: client, Node: node}).Pods(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range pods {
			if !asked[p.Namespace] {
				asked[p.Namespace] = true
				all = append(all, dryRunWrite{"evict pod " + drain.PodName(&p), func() error { return dryRunEviction(ctx, client, &p) }})
			}
		}
	}
	return all, nil
}

// dryRunEviction ignores a PodDisruptionBudget without allowed disruptions, because a drain
// retries, and a namespace that is being deleted, because its pods end anyway. dryRun is a query
// parameter and not part of the Eviction: webhooks see only the parameter.
func dryRunEviction(ctx context.Context, client kubernetes.Interface, p *corev1.Pod) error {
	err := client.PolicyV1().RESTClient().Post().AbsPath("/api/v1").Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("eviction").
		VersionedParams(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, scheme.ParameterCodec).
		Body(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}).Do(ctx).Error()
	if apierrors.IsTooManyRequests(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

func dryRunName() metav1.ObjectMeta {
	return metav1.ObjectMeta{GenerateName: "airgap-dry-run-"}
}

func dryRunPod() corev1.PodSpec {
	return corev1.PodSpec{
		Containers:                   []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause"}},
		AutomountServiceAccountToken: new(bool),
	}
}

func jobObject() *batchv1.Job {
	spec := dryRunPod()
	spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: dryRunName(), Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
}
