package drain

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/apitest"
)

// drainable is a real API server with a node n1 and a kubelet that ends pods at
// once, except pods named "stays".
func drainable(t *testing.T) kubernetes.Interface {
	t.Helper()
	client := apitest.Start(t).Client(t)
	if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := client.CoreV1().Pods(metav1.NamespaceAll).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range w.ResultChan() {
			p, is := event.Object.(*corev1.Pod)
			if is && event.Type == watch.Modified && p.DeletionTimestamp != nil && p.Name != "stays" {
				_ = client.CoreV1().Pods(p.Namespace).Delete(context.Background(), p.Name, *metav1.NewDeleteOptions(0))
			}
		}
	}()
	t.Cleanup(func() { w.Stop(); <-ended })
	return client
}

// runningPod creates a running and ready pod on node n1 with the label app=NAME; as changes
// it.
func runningPod(t *testing.T, client kubernetes.Interface, name string, as ...func(*corev1.Pod)) {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}, OwnerReferences: []metav1.OwnerReference{ownedBy("ReplicaSet")}},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range as {
		change(p)
	}
	status := p.Status
	made, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status = status
	if _, err := client.CoreV1().Pods("default").UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func ownedBy(kind string) metav1.OwnerReference {
	controller := true
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: "owner", UID: "1", Controller: &controller}
}

func bare(p *corev1.Pod)     { p.OwnerReferences = nil }
func notReady(p *corev1.Pod) { p.Status.Conditions = nil }
func elsewhere(p *corev1.Pod) {
	p.Spec.NodeName = "n2"
}

// guard creates a budget for app=NAME, with the numbers of its controller.
func guard(t *testing.T, client kubernetes.Interface, name, app string, s policyv1.PodDisruptionBudgetStatus, policy ...policyv1.UnhealthyPodEvictionPolicyType) {
	t.Helper()
	one := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: metav1.SetAsLabelSelector(map[string]string{"app": app})},
	}
	if policy != nil {
		b.Spec.UnhealthyPodEvictionPolicy = &policy[0]
	}
	made, err := client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), b, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.ObservedGeneration += made.Generation
	made.Status = s
	if _, err := client.PolicyV1().PodDisruptionBudgets("default").UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func counted(expected, desired, healthy int32) policyv1.PodDisruptionBudgetStatus {
	return policyv1.PodDisruptionBudgetStatus{ExpectedPods: expected, DesiredHealthy: desired, CurrentHealthy: healthy, DisruptionsAllowed: max(0, healthy-desired)}
}

// heard collects the messages of Drain.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func TestDrain(t *testing.T) {
	client := drainable(t)
	runningPod(t, client, "web")
	runningPod(t, client, "elsewhere", elsewhere)
	guard(t, client, "web", "web", counted(2, 1, 2))
	var h heard
	if err := Drain(t.Context(), client, "n1", Options{Timeout: time.Minute, Say: h.say}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"evict pod default/web from n1", "pod default/web has left n1"}; !slices.Equal(h.lines, want) {
		t.Errorf("said %q, want %q", h.lines, want)
	}
	if left := podNames(t, client); !slices.Equal(left, []string{"elsewhere"}) {
		t.Errorf("left: %v", left)
	}
	for _, off := range []bool{true, false} {
		if unschedulable(t, client) != off {
			t.Errorf("unschedulable is %v", !off)
		}
		if err := Uncordon(t.Context(), client, "n1"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDrainOfMany: of many nodes at the same time, only pods that stay are shown.
func TestDrainOfMany(t *testing.T) {
	web := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	stays := "pod default/web stays on n1 for now: its PodDisruptionBudget allows no disruption; the next try is in 5s"
	for held, want := range map[bool][]string{true: {stays}, false: {"evict pod default/web from n1", stays, "pod default/web has left n1"}} {
		var h heard
		d := &Draining{Node: "n1", options: Options{Say: h.say, Held: held}, times: map[string]int{}}
		for range 3 {
			d.asked(web)
		}
		d.gone(web, true, nil)
		if !slices.Equal(h.lines, want) {
			t.Errorf("said %q, want %q", h.lines, want)
		}
	}
}

// TestDrainIsHeld: one pod by its budget, another because its host does not end it.
func TestDrainIsHeld(t *testing.T) {
	client := drainable(t)
	runningPod(t, client, "web")
	runningPod(t, client, "stays")
	guard(t, client, "web", "web", counted(2, 1, 1))
	err := Drain(t.Context(), client, "n1", Options{Timeout: 2 * time.Second})
	for _, want := range []string{
		"drain node n1: after 2s", "pod default/stays: has been ending since", "pod default/web: PodDisruptionBudget default/web allows 0 disruptions: 1 pods are healthy, it requires 1",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if f, is := errors.AsType[*host.Failure](err); !is || !strings.Contains(f.Hint(), "kubectl uncordon n1") {
		t.Errorf("got %#v", err)
	}
	if !unschedulable(t, client) {
		t.Error("the node takes pods again")
	}
}

// TestDrainKeepsWhatNobodyMakesAgain: nothing is changed, unless it is asked for.
func TestDrainKeepsWhatNobodyMakesAgain(t *testing.T) {
	client := drainable(t)
	runningPod(t, client, "web")
	if err := Drainable(t.Context(), client, "n1"); err != nil {
		t.Errorf("before there is one: %v", err)
	}
	runningPod(t, client, "alone", bare)
	if err := Drainable(t.Context(), client, "n1"); err == nil || !strings.Contains(err.Error(), "default/alone") {
		t.Errorf("asked beforehand: %v", err)
	}
	err := Drain(t.Context(), client, "n1", Options{})
	if err == nil || !strings.Contains(err.Error(), "default/alone") || strings.Contains(err.Error(), "--force") {
		t.Errorf("got %v", err)
	}
	if unschedulable(t, client) || len(podNames(t, client)) != 2 {
		t.Error("something was changed")
	}
	if err := Drain(t.Context(), client, "n1", Options{Unmanaged: true}); err != nil {
		t.Error(err)
	}
}

func TestDrainEndsWithItsContext(t *testing.T) {
	client := drainable(t)
	runningPod(t, client, "stays")
	ctx, cancel := context.WithCancel(t.Context())
	err := Drain(ctx, client, "n1", Options{Say: func(string, ...any) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, is := errors.AsType[*host.Failure](err); is {
		t.Error("an interruption was explained")
	}
}

func TestNeverAllows(t *testing.T) {
	client := apitest.Start(t).Client(t)
	for name, tc := range map[string]struct {
		status policyv1.PodDisruptionBudgetStatus
		pod    []func(*corev1.Pod)
		policy []policyv1.UnhealthyPodEvictionPolicyType
		never  bool
	}{
		"all":        {status: counted(2, 2, 2), never: true},
		"more":       {status: counted(1, 2, 1), never: true},
		"one-free":   {status: counted(2, 1, 2)},
		"for-now":    {status: counted(3, 2, 2)},
		"no-pods":    {status: counted(0, 1, 0)},
		"not-looked": {status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 2, DesiredHealthy: 2, ObservedGeneration: -1}},
		"sick":       {status: counted(2, 2, 1), pod: []func(*corev1.Pod){notReady}, never: true},
		"sick-goes":  {status: counted(2, 2, 1), pod: []func(*corev1.Pod){notReady}, policy: []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow}},
		"daemon":     {status: counted(2, 2, 2), pod: []func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{ownedBy("DaemonSet")} }}},
		"ended":      {status: counted(2, 2, 2), pod: []func(*corev1.Pod){func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }}},
		"elsewhere":  {status: counted(2, 2, 2), pod: []func(*corev1.Pod){elsewhere}},
	} {
		t.Run(name, func(t *testing.T) {
			runningPod(t, client, name, tc.pod...)
			guard(t, client, name, name, tc.status, tc.policy...)
			if got := namesIn(t, client, "n1"); slices.Contains(got, "default/"+name) != tc.never {
				t.Errorf("got %v", got)
			}
		})
	}
	if got := namesIn(t, client); !slices.Contains(got, "default/elsewhere") {
		t.Errorf("of all nodes: %v", got)
	}
	guard(t, client, "one-free-twice", "one-free", counted(2, 1, 2))
	if got := namesIn(t, client, "n1"); !slices.Contains(got, "default/one-free") || !slices.Contains(got, "default/one-free-twice") {
		t.Errorf("two budgets for one pod: %v", got)
	}
}

func namesIn(t *testing.T, client kubernetes.Interface, nodes ...string) []string {
	t.Helper()
	budgets, err := BlockingBudgets(t.Context(), client, nodes...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range budgets {
		names = append(names, b.Name)
	}
	return names
}

func podNames(t *testing.T, client kubernetes.Interface) []string {
	t.Helper()
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	return names
}

func unschedulable(t *testing.T, client kubernetes.Interface) bool {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node.Spec.Unschedulable
}

// TestDrainAsksAgain: behind a balancer a request may get no answer.
func TestDrainAsksAgain(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	for _, kind := range []string{"pods", "nodes", "poddisruptionbudgets"} {
		silent := 1
		client.PrependReactor("*", kind, func(clienttesting.Action) (bool, runtime.Object, error) {
			silent--
			return silent >= 0, nil, &url.Error{Op: "Get", URL: "https://api", Err: context.DeadlineExceeded}
		})
	}
	if err := Drain(t.Context(), client, "n1", Options{Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil || !node.Spec.Unschedulable {
		t.Errorf("the node takes pods: %v", err)
	}
	if _, err := BlockingBudgets(t.Context(), client, "n1"); err != nil {
		t.Error(err)
	}
}
