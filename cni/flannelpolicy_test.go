package cni

import (
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
)

// TestFlannelWritesItsOwnNode checks that the token of a pod on w1 can change the node w1 and no other.
func TestFlannelWritesItsOwnNode(t *testing.T) {
	server := apitest.Start(t, "--allow-privileged")
	admin := server.Client(t)
	var config Config
	config.Default()
	if _, err := manifests.Apply(t.Context(), server.Config, render(t, config)); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"w1", "w2"} {
		if _, err := admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set, err := admin.AppsV1().DaemonSets("kube-flannel").Get(t.Context(), "kube-flannel-ds", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "flannel-w1", Namespace: "kube-flannel"}, Spec: set.Spec.Template.Spec}
	pod.Spec.NodeName, pod.Spec.PriorityClassName = "w1", ""
	if pod, err = admin.CoreV1().Pods("kube-flannel").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	given, err := admin.CoreV1().ServiceAccounts("kube-flannel").CreateToken(t.Context(), "flannel", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	as := rest.AnonymousClientConfig(server.Config)
	as.BearerToken, as.QPS = given.Status.Token, -1
	own, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	announce := func(node string) error {
		patch := []byte(`{"metadata":{"annotations":{"flannel.alpha.coreos.com/public-ip":"10.0.0.66"}}}`)
		_, err := own.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
	// The API server applies the policy a short time after its creation.
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := announce("w2")
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "flannel may change only the node that its pod runs on") {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("another node: %v", err)
		}
	}
	if err := announce("w1"); err != nil {
		t.Errorf("its own node: %v", err)
	}
	for _, metadata := range []string{`{"labels":{"node-restriction.kubernetes.io/vault":"yes"}}`, `{"labels":{"node-role.kubernetes.io/control-plane":""}}`, `{"finalizers":["example.com/stay"]}`} {
		_, err := own.CoreV1().Nodes().Patch(t.Context(), "w1", types.StrategicMergePatchType, []byte(`{"metadata":`+metadata+`}`), metav1.PatchOptions{}, "status")
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "flannel may not change labels") {
			t.Errorf("%s: %v, want the policy's refusal", metadata, err)
		}
	}
}
