package dataplane

import (
	"errors"
	"net/netip"
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
)

const image = "airgap.dev/airgap:v1@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// TestCluster applies the objects to a real API server, which admits the pod
// under the restricted profile, and does everything that the pod does with the
// pod's own rights.
func TestCluster(t *testing.T) {
	server := apitest.Start(t)
	admin := server.Client(t)
	applied := Step(func() (string, error) { return image, nil }, func() (*rest.Config, error) { return server.Config, nil })
	applyTwice(t, applied)
	makePod(t, admin, "data-plane-w1", "w1")
	makeSlices(t, admin)

	own := boundTo(t, server, "data-plane-w1")
	t.Run("another pod's status", func(t *testing.T) { onlyItsOwn(t, server, own) })
	t.Run("who is there", func(t *testing.T) {
		want := []peer{{"w1", netip.MustParseAddrPort("10.244.1.7:8080")}, {"w2", netip.MustParseAddrPort("10.244.2.7:8080")}}
		var got []peer
		var err error
		// The API server's cache learns of the slices a moment later.
		for began := time.Now(); time.Since(began) < 10*time.Second && err == nil && !slices.Equal(got, want); time.Sleep(20 * time.Millisecond) {
			got, err = peers(t.Context(), own)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
	t.Run("how the Service is reached", func(t *testing.T) {
		got, err := ownService(t.Context(), own, reached{})
		if err != nil || !netip.MustParsePrefix("10.96.0.0/16").Contains(got.address.Addr()) || got.address.Port() != 80 || got.nodePort < 30000 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("what is told", func(t *testing.T) { tells(t, admin, own) })
	t.Run("no other right", func(t *testing.T) {
		_, secrets := own.CoreV1().Secrets(Namespace).List(t.Context(), metav1.ListOptions{})
		_, pods := own.CoreV1().Pods(Namespace).List(t.Context(), metav1.ListOptions{})
		_, spec := own.CoreV1().Pods(Namespace).Patch(t.Context(), "data-plane-w1", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
		_, nodes := own.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		for _, err := range []error{secrets, pods, spec, nodes} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("got %v, want it forbidden", err)
			}
		}
	})
	t.Run("a cluster of an airgap without the policy", func(t *testing.T) {
		if err := admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), "airgap-"+Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		applyTwice(t, applied)
	})
	t.Run("without the API server", func(t *testing.T) {
		server.Stop()
		p := &prober{options: Options{Self: Self{Pod: "data-plane-w1", Node: "w1"}, Client: own, Say: func(string) {}}, peers: []peer{{node: "w2"}}}
		failures := p.look(t.Context())
		if !slices.Equal(failures, []Failure{{"API server by its Service", "connection refused"}}) || len(p.peers) != 1 {
			t.Errorf("got %v, and the others are %v", failures, p.peers)
		}
		p.heard.last = time.Now().Add(-stale - time.Second)
		p.tell(t.Context(), failures)
		if err := p.ready(); err == nil || !strings.Contains(err.Error(), "the cluster was last told 1m1s ago") || !strings.Contains(err.Error(), string(Condition)) {
			t.Errorf("ready: %v", err)
		}
	})
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

// makePod is what the DaemonSet's controller does.
func makePod(t *testing.T, admin kubernetes.Interface, name, node string) {
	t.Helper()
	set, err := admin.AppsV1().DaemonSets(Namespace).Get(t.Context(), Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(set, name, node)
	if _, err := admin.CoreV1().Pods(Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func podOf(set *appsv1.DaemonSet, name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
	pod.Name, pod.Namespace, pod.Spec.NodeName = name, Namespace, node
	return pod
}

// makeSlices is what the EndpointSlice controller does: w3's pod is not ready,
// w4's goes, and w2's is in two slices, as it may be while one is rewritten.
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
			ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: Name}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints, Ports: []discoveryv1.EndpointPort{{Port: &port, Protocol: &proto}},
		}
		if _, err := admin.DiscoveryV1().EndpointSlices(Namespace).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// tells: the condition is written when something changes, beside the kubelet's.
func tells(t *testing.T, admin, own kubernetes.Interface) {
	kubelets := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	if _, err := admin.CoreV1().Pods(Namespace).Patch(t.Context(), "data-plane-w1", types.StrategicMergePatchType, kubelets, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	var said []string
	p := &prober{options: Options{Self: Self{Pod: "data-plane-w1"}, Client: own, Say: func(line string) { said = append(said, line) }}}
	condition := func() (c corev1.PodCondition, version string) {
		pod, err := admin.CoreV1().Pods(Namespace).Get(t.Context(), "data-plane-w1", metav1.GetOptions{})
		if err != nil || len(pod.Status.Conditions) != 2 {
			t.Fatalf("conditions %v, %v", pod.Status.Conditions, err)
		}
		for _, c = range pod.Status.Conditions {
			if c.Type == Condition {
				break
			}
		}
		return c, pod.ResourceVersion
	}
	p.tell(t.Context(), nil)
	good, version := condition()
	p.tell(t.Context(), nil)
	if again, same := condition(); good.Status != corev1.ConditionTrue || same != version || again != good {
		t.Errorf("all answers: %+v; it was written again: %v", good, same != version)
	}
	failures := []Failure{{"pod on w2", "no answer"}, {"pod on w3", "no answer"}}
	p.tell(t.Context(), failures)
	if bad, _ := condition(); bad.Status != corev1.ConditionFalse || !slices.Equal(Parse(bad.Message), failures) {
		t.Errorf("two do not answer: %+v", bad)
	}
	since := p.since
	p.tell(t.Context(), failures[:1])
	if bad, _ := condition(); !slices.Equal(Parse(bad.Message), failures[:1]) || p.since != since {
		t.Errorf("one does not answer: %+v, since %s, want %s", bad, p.since, since)
	}
	if err := p.ready(); err != nil {
		t.Error(err)
	}
	want := []string{"everything answers", "pod on w2: no answer", "pod on w3: no answer", "pod on w2: no answer"}
	if !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
}
