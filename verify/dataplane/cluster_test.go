package dataplane_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/dataplane/deploy"
)

const image = "airgap.dev/airgap:v1@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

var etcdOf = dataplane.Etcd{Members: []string{"w1", "w2"}, Election: time.Second}

// TestCluster applies the objects to a real API server, which admits the pod. Then it sends all requests of the pod with the pod's rights.
func TestCluster(t *testing.T) {
	server := apitest.Start(t)
	admin := server.Client(t)
	applied := deploy.Step(func() (string, error) { return image, nil }, hostPort, etcdOf, func() (*rest.Config, error) { return server.Config, nil })
	applyTwice(t, applied)
	makePod(t, admin, "data-plane-w1", "w1")
	makeSlices(t, admin)

	own, api := boundTo(t, server, "data-plane-w1"), account(t, server, "data-plane-w1")
	t.Run("another pod's status", func(t *testing.T) { onlyItsOwn(t, server, own) })
	t.Run("list peers", func(t *testing.T) {
		want := []string{"w1 10.244.1.7:8080", "w2 10.244.2.7:8080"}
		var got []string
		var err error
		// The API server's cache has the slices a moment later.
		for began := time.Now(); time.Since(began) < 10*time.Second && err == nil && !slices.Equal(got, want); time.Sleep(20 * time.Millisecond) {
			got, err = api.Peers(t.Context())
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
	t.Run("read the Service", func(t *testing.T) {
		address, nodePort, err := api.OwnService(t.Context())
		if err != nil || !netip.MustParsePrefix("10.96.0.0/16").Contains(address.Addr()) || address.Port() != 80 || nodePort < 30000 {
			t.Errorf("got %s, %d, %v", address, nodePort, err)
		}
	})
	t.Run("write the condition", func(t *testing.T) { writesCondition(t, admin, api) })
	t.Run("a pod with more rights", func(t *testing.T) { otherRights(t, admin) })
	t.Run("no other right", func(t *testing.T) {
		_, secrets := own.CoreV1().Secrets(dataplane.Namespace).List(t.Context(), metav1.ListOptions{})
		_, pods := own.CoreV1().Pods(dataplane.Namespace).List(t.Context(), metav1.ListOptions{})
		_, spec := own.CoreV1().Pods(dataplane.Namespace).Patch(t.Context(), "data-plane-w1", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
		_, nodes := own.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		for _, err := range []error{secrets, pods, spec, nodes} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("got %v, want Forbidden", err)
			}
		}
	})
	t.Run("the policy was deleted", func(t *testing.T) {
		if err := admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), "airgap-"+dataplane.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		applyTwice(t, applied)
	})
	t.Run("without the API server", func(t *testing.T) {
		server.Stop()
		p := dataplane.NewProber(dataplane.Options{Self: dataplane.Self{Pod: "data-plane-w1", Node: "w1"}, API: api, Say: func(string) {}}, "w2")
		failures := p.Look(t.Context())
		if !slices.Equal(failures, []dataplane.Failure{{Target: "API server by its Service", Saw: "connection refused"}}) || p.Others() != 1 {
			t.Errorf("got %v and %d peers, want the API server's failure and 1 peer", failures, p.Others())
		}
		p.ConfirmedBefore(dataplane.Stale() + time.Second)
		p.Tell(t.Context(), failures)
		if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "the condition was last confirmed 1m1s ago") || !strings.Contains(err.Error(), dataplane.Condition) {
			t.Errorf("ready: got %v", err)
		}
	})
}

// account returns the API server with the files that the kubelet mounts for the pod.
func account(t *testing.T, server *apitest.Server, pod string) *dataplane.API {
	t.Helper()
	dir := t.TempDir()
	ca, err := os.ReadFile(server.Config.CAFile)
	errToken := os.WriteFile(filepath.Join(dir, "token"), []byte(tokenOf(t, server, pod)), 0o600)
	if err := errors.Join(err, errToken, os.WriteFile(filepath.Join(dir, "ca.crt"), ca, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dataplane.NewAPI(server.Config.Host, dir)
}

func applyTwice(t *testing.T, s step.Step) {
	t.Helper()
	if plan, err := s.Plan(t.Context()); err != nil || !slices.Contains(plan, "apply ValidatingAdmissionPolicyBinding airgap-data-plane") {
		t.Fatalf("plan: %v, %v", plan, err)
	}
	before, errBefore := s.Done(t.Context())
	errRun := s.Run(t.Context())
	after, errAfter := s.Done(t.Context())
	if err := errors.Join(errBefore, errRun, errAfter); err != nil || before || !after {
		t.Fatalf("done before %v, after %v: %v", before, after, err)
	}
}

// makePod creates a pod like the DaemonSet controller.
func makePod(t *testing.T, admin kubernetes.Interface, name, node string) {
	t.Helper()
	set, err := admin.AppsV1().DaemonSets(dataplane.Namespace).Get(t.Context(), dataplane.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(set, name, node)
	if _, err := admin.CoreV1().Pods(dataplane.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func podOf(set *appsv1.DaemonSet, name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
	pod.Name, pod.Namespace, pod.Spec.NodeName = name, dataplane.Namespace, node
	return pod
}

// makeSlices creates EndpointSlices like their controller: w3's pod is not ready, and w2's is in two
// slices, which can happen during an update.
func makeSlices(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	no, port, proto := false, int32(8080), corev1.ProtocolTCP
	on := func(node, address string, c discoveryv1.EndpointConditions) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{NodeName: &node, Addresses: []string{address}, Conditions: c}
	}
	for name, endpoints := range map[string][]discoveryv1.Endpoint{
		"data-plane-a": {on("w2", "10.244.2.7", discoveryv1.EndpointConditions{}), on("w3", "10.244.3.7", discoveryv1.EndpointConditions{Ready: &no})},
		"data-plane-b": {on("w1", "10.244.1.7", discoveryv1.EndpointConditions{}), on("w2", "10.244.2.7", discoveryv1.EndpointConditions{})},
	} {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: dataplane.Name}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints, Ports: []discoveryv1.EndpointPort{{Port: &port, Protocol: &proto}},
		}
		if _, err := admin.DiscoveryV1().EndpointSlices(dataplane.Namespace).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// writesCondition: the condition is written only after a change, and the kubelet's stay.
func writesCondition(t *testing.T, admin kubernetes.Interface, api *dataplane.API) {
	kubelets := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	if _, err := admin.CoreV1().Pods(dataplane.Namespace).Patch(t.Context(), "data-plane-w1", types.StrategicMergePatchType, kubelets, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	var said []string
	p := dataplane.NewProber(dataplane.Options{Self: dataplane.Self{Pod: "data-plane-w1"}, API: api, Say: func(line string) { said = append(said, line) }})
	condition := func() (c corev1.PodCondition, version string) {
		pod, err := admin.CoreV1().Pods(dataplane.Namespace).Get(t.Context(), "data-plane-w1", metav1.GetOptions{})
		if err != nil || len(pod.Status.Conditions) != 2 {
			t.Fatalf("conditions %v, %v", pod.Status.Conditions, err)
		}
		for _, c = range pod.Status.Conditions {
			if c.Type == dataplane.Condition {
				break
			}
		}
		return c, pod.ResourceVersion
	}
	p.Tell(t.Context(), nil)
	good, version := condition()
	p.Tell(t.Context(), nil)
	if again, same := condition(); good.Status != corev1.ConditionTrue || same != version || again != good {
		t.Errorf("without failures: got %+v; written again: %v", good, same != version)
	}
	failures := []dataplane.Failure{{Target: "pod on w2", Saw: "no answer"}, {Target: "pod on w3", Saw: "no answer"}}
	p.Tell(t.Context(), failures)
	if bad, _ := condition(); bad.Status != corev1.ConditionFalse || !slices.Equal(dataplane.Parse(bad.Message), failures) {
		t.Errorf("with two failures: got %+v", bad)
	}
	since := p.Since()
	p.Tell(t.Context(), failures[:1])
	if bad, _ := condition(); !slices.Equal(dataplane.Parse(bad.Message), failures[:1]) || !p.Since().Equal(since) {
		t.Errorf("with one failure: got %+v, since %s, want %s", bad, p.Since(), since)
	}
	if err := p.Ready(); err != nil {
		t.Error(err)
	}
	want := []string{"all targets answer", "pod on w2: no answer", "pod on w3: no answer", "pod on w2: no answer"}
	if !slices.Equal(said, want) {
		t.Errorf("logged %q, want %q", said, want)
	}
}
