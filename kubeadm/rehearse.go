package kubeadm

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// RehearseWrites asks the API server for writes such as an upgrade makes, without
// their being kept (dryRun=All). The error names what the webhook or the policy that
// would stop one says. A webhook that may not be asked this way is not.
func RehearseWrites(ctx context.Context, client kubernetes.Interface, node string) error {
	dry, patch := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, []byte(`{"metadata":{"annotations":{"airgap.dev/rehearsal":"yes"}}}`)
	system := metav1.NamespaceSystem
	for _, write := range []struct {
		what string
		do   func() error
	}{
		{"change node " + node, func() error {
			_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, dry)
			return err
		}},
		{"change ConfigMap kube-system/kubeadm-config", func() error {
			_, err := client.CoreV1().ConfigMaps(system).Patch(ctx, "kubeadm-config", types.MergePatchType, patch, dry)
			return err
		}},
		{"change Deployment kube-system/coredns", func() error {
			_, err := client.AppsV1().Deployments(system).Patch(ctx, "coredns", types.MergePatchType, patch, dry)
			return err
		}},
		{"make a pod in kube-system", func() error {
			_, err := client.CoreV1().Pods(system).Create(ctx, rehearsalPod(), metav1.CreateOptions{DryRun: dry.DryRun})
			return err
		}},
	} {
		err := write.do()
		if err == nil || strings.Contains(err.Error(), "does not support dry run") {
			continue
		}
		return &Failure{
			What: "rehearse what an upgrade does: " + write.what, Err: err,
			Next: "a webhook that does not answer, or says no, would stop the upgrade in the middle: mend it, or let it leave kube-system and nodes alone (namespaceSelector, failurePolicy: Ignore)",
		}
	}
	return nil
}

func rehearsalPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "airgap-rehearsal-"},
		Spec: corev1.PodSpec{
			Containers:                   []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause"}},
			AutomountServiceAccountToken: new(bool),
		},
	}
}
