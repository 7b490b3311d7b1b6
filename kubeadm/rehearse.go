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

// RehearseWrites asks the API server for writes such as an upgrade makes, without
// their being kept (dryRun=All), and to evict a pod of each namespace from the nodes
// that are to be drained. The error names what the webhook or the policy that would
// stop one says. A webhook that may not be asked this way is not.
func RehearseWrites(ctx context.Context, client kubernetes.Interface, c Config, node string, drained ...string) error {
	evictions, err := rehearsedEvictions(ctx, client, drained)
	if err != nil {
		return err
	}
	writes := rehearsedWrites(ctx, client, node)
	if !slices.Contains(c.IgnorePreflightErrors, "CreateJob") && !slices.Contains(c.IgnorePreflightErrors, "all") {
		writes = append(writes, rehearsedJob(ctx, client))
	}
	for _, write := range append(writes, evictions...) {
		err := write.do()
		if err == nil || apierrors.IsNotFound(err) || strings.Contains(err.Error(), "does not support dry run") {
			continue
		}
		return &host.Failure{
			What: "rehearse what an upgrade does: " + write.what, Err: err,
			Next: "a webhook that does not answer, or says no, would stop the upgrade in the middle: mend it, or let it leave kube-system, nodes and evictions alone (namespaceSelector, failurePolicy: Ignore)",
		}
	}
	return nil
}

// rehearsal is one write. What is not there is not written to.
type rehearsal struct {
	what string
	do   func() error
}

// rehearsedWrites are one of each kind that kubeadm or airgap writes.
func rehearsedWrites(ctx context.Context, client kubernetes.Interface, node string) []rehearsal {
	dry, patch := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, []byte(`{"metadata":{"annotations":{"airgap.dev/rehearsal":"yes"}}}`)
	made, merge, system := metav1.CreateOptions{DryRun: dry.DryRun}, types.MergePatchType, metav1.NamespaceSystem
	return []rehearsal{
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
		{"make a pod in kube-system", func() error {
			_, err := client.CoreV1().Pods(system).Create(ctx, &corev1.Pod{ObjectMeta: rehearsalName(), Spec: rehearsalPod()}, made)
			return err
		}},
	}
}

// rehearsedJob is what kubeadm looks by whether pods come up (check CreateJob).
func rehearsedJob(ctx context.Context, client kubernetes.Interface) rehearsal {
	return rehearsal{"make a Job in kube-system", func() error {
		_, err := client.BatchV1().Jobs(metav1.NamespaceSystem).Create(ctx, rehearsalJob(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}}
}

// rehearsedEvictions are of one pod a namespace: webhooks are chosen by that, most often.
func rehearsedEvictions(ctx context.Context, client kubernetes.Interface, nodes []string) ([]rehearsal, error) {
	var all []rehearsal
	asked := map[string]bool{}
	for _, node := range nodes {
		pods, err := (&drain.Draining{Client: client, Node: node}).Pods(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range pods {
			if !asked[p.Namespace] {
				asked[p.Namespace] = true
				all = append(all, rehearsal{"evict pod " + drain.PodName(&p), func() error { return rehearseEviction(ctx, client, &p) }})
			}
		}
	}
	return all, nil
}

// rehearseEviction takes a no for now, of a budget, for a yes: a drain asks again. Where the
// namespace is being deleted, pods go without. That it is no real one stands in the question and not in the eviction, for webhooks are told by that.
func rehearseEviction(ctx context.Context, client kubernetes.Interface, p *corev1.Pod) error {
	err := client.PolicyV1().RESTClient().Post().AbsPath("/api/v1").Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("eviction").
		VersionedParams(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, scheme.ParameterCodec).
		Body(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}).Do(ctx).Error()
	if apierrors.IsTooManyRequests(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

func rehearsalName() metav1.ObjectMeta {
	return metav1.ObjectMeta{GenerateName: "airgap-rehearsal-"}
}

func rehearsalPod() corev1.PodSpec {
	return corev1.PodSpec{
		Containers:                   []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause"}},
		AutomountServiceAccountToken: new(bool),
	}
}

func rehearsalJob() *batchv1.Job {
	spec := rehearsalPod()
	spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: rehearsalName(), Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
}
