package dataplane_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/dataplane"
)

// tokenOf returns the token that the kubelet mounts for the pod; "": a token that is not bound to a
// pod.
func tokenOf(t *testing.T, server *apitest.Server, pod string) string {
	t.Helper()
	admin := server.Client(t)
	request := &authenticationv1.TokenRequest{}
	if pod != "" {
		there, err := admin.CoreV1().Pods(dataplane.Namespace).Get(t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod, UID: there.UID}
	}
	given, err := admin.CoreV1().ServiceAccounts(dataplane.Namespace).CreateToken(t.Context(), dataplane.Name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return given.Status.Token
}

// boundTo returns a client with the token of tokenOf.
func boundTo(t *testing.T, server *apitest.Server, pod string) kubernetes.Interface {
	t.Helper()
	config := rest.AnonymousClientConfig(server.Config)
	config.BearerToken, config.QPS = tokenOf(t, server, pod), -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// onlyItsOwn: with its token, a pod can change only its own condition.
func onlyItsOwn(t *testing.T, server *apitest.Server, own kubernetes.Interface) {
	admin := server.Client(t)
	makePod(t, admin, "data-plane-w2", "w2")
	change := func(client kubernetes.Interface, pod, text string) error {
		_, err := client.CoreV1().Pods(dataplane.Namespace).Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{}, "status")
		return err
	}
	patch := func(client kubernetes.Interface, pod, status string) error {
		return change(client, pod, `{"status":`+status+`}`)
	}
	ours := func(status string) string {
		return fmt.Sprintf(`{"conditions":[{"type":%q,"status":%q}]}`, dataplane.Condition, status)
	}
	kubelets := `{"phase":"Running","podIP":"10.244.1.7","podIPs":[{"ip":"10.244.1.7"}],"conditions":[{"type":"Ready","status":"True"}],` +
		`"containerStatuses":[{"name":"data-plane","image":"x","imageID":"x","ready":true}]}`
	for _, pod := range []string{"data-plane-w1", "data-plane-w2"} {
		if err := patch(admin, pod, kubelets); err != nil {
			t.Fatal(err)
		}
	}
	// A policy becomes effective a moment after it was created.
	denied := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "airgap-data-plane") && strings.Contains(err.Error(), "the data-plane probe may change only")
	}
	for began := time.Now(); !denied(patch(own, "data-plane-w2", ours("Unknown"))); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("a minute after the policy was created, it still allows the status of another pod")
		}
	}
	for what, err := range map[string]error{
		"another pod's condition":  patch(own, "data-plane-w2", ours("False")),
		"another pod's address":    patch(own, "data-plane-w2", `{"podIP":"10.0.0.66","podIPs":[{"$patch":"replace"},{"ip":"10.0.0.66"}]}`),
		"its own address":          patch(own, "data-plane-w1", `{"podIP":"10.0.0.66","podIPs":[{"$patch":"replace"},{"ip":"10.0.0.66"}]}`),
		"its own phase":            patch(own, "data-plane-w1", `{"phase":"Failed"}`),
		"its own containers":       patch(own, "data-plane-w1", `{"containerStatuses":[{"name":"data-plane","image":"x","imageID":"x","ready":false}]}`),
		"the kubelet's condition":  patch(own, "data-plane-w1", `{"conditions":[{"type":"Ready","status":"False"}]}`),
		"another condition":        patch(own, "data-plane-w1", `{"conditions":[{"type":"example.com/x","status":"True"}]}`),
		"its own labels":           change(own, "data-plane-w1", `{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}`),
		"its own annotations":      change(own, "data-plane-w1", `{"metadata":{"annotations":{"a":"b"}}}`),
		"its own finalizers":       change(own, "data-plane-w1", `{"metadata":{"finalizers":["example.com/stay"]}}`),
		"removing the kubelet's":   patch(own, "data-plane-w1", `{"conditions":[{"$patch":"delete","type":"Ready"}]}`),
		"with an unbound token":    patch(boundTo(t, server, ""), "data-plane-w1", ours("True")),
		"with another pod's token": patch(boundTo(t, server, "data-plane-w2"), "data-plane-w1", ours("True")),
	} {
		if !denied(err) {
			t.Errorf("%s: got %v, want the policy's error", what, err)
		}
	}
	if err := patch(own, "data-plane-w1", ours("True")); err != nil {
		t.Errorf("its own condition: %v", err)
	}
	if err := patch(admin, "data-plane-w2", ours("True")); err != nil {
		t.Errorf("the administrator: %v", err)
	}
	policy, err := admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), "airgap-"+dataplane.Name, metav1.GetOptions{})
	if err != nil || policy.Status.TypeChecking != nil && len(policy.Status.TypeChecking.ExpressionWarnings) > 0 {
		t.Errorf("the policy: %v, %+v", err, policy.Status)
	}
}
