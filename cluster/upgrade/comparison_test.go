package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/result"
)

// compared is a cluster with its state before the upgrade.
type compared struct {
	client kubernetes.Interface
	before result.Baseline
	with   verify.Options
	data   upgraderecord.Attributed
	said   []string
}

// compare compares the cluster after a change of hosts, and returns what was said and the objects that stop the upgrade.
func (c *compared) compare(t *testing.T, hosts ...string) (said, stop []string) {
	t.Helper()
	c.said = nil
	say := func(format string, args ...any) { c.said = append(c.said, fmt.Sprintf(format, args...)) }
	err := comparison{hosts, c.data, say}.run(t.Context(), c.with, c.before)
	if bad, is := errors.AsType[*verification.ReportError](err); is {
		for _, f := range bad.Report.Findings {
			stop = append(stop, f.Object)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return c.said, stop
}

// pod creates a pod on a node, or changes its state.
func (c *compared) pod(t *testing.T, namespace, name, on string, works bool) {
	t.Helper()
	state, ready := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ConditionTrue
	if !works {
		state, ready = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, corev1.ConditionFalse
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Name: "main", Image: "x"}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: works, State: state}},
		},
	}
	api := c.client.CoreV1().Pods(namespace)
	if _, err := api.Create(t.Context(), p, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if _, err := api.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestFindingsAreAttributed: a pod of another team that fails on another host does not stop the upgrade of w1, takes no
// time, and is listed at the end. A pod that was evicted from w1 stops it.
func TestFindingsAreAttributed(t *testing.T) {
	server := apitest.Start(t)
	c := &compared{client: server.Client(t), data: upgraderecord.Attributed{Dir: t.TempDir()}}
	c.with = verify.Options{API: server.Config, Only: []string{"pods"}, Skip: []string{"restarts"}, Timeout: 15 * time.Second, Soak: 200 * time.Millisecond}
	for _, name := range []string{"bank", "shop"} {
		if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.pod(t, "bank", "core", "w7", true)
	c.pod(t, "shop", "web", "w8", true) // evicted from w1
	snapshot := c.with
	snapshot.Snapshot = true
	report, err := verify.Run(t.Context(), snapshot)
	if err != nil || !report.OK {
		t.Fatalf("the cluster before: %+v, %v", report.Findings, err)
	}
	c.before = *result.NewBaseline(report, "x")
	if err := c.data.NoteRan("w1", []string{"Pod shop/web"}); err != nil {
		t.Fatal(err)
	}

	c.pod(t, "bank", "core", "w7", false)
	const core = "Pod bank/core: container main: CrashLoopBackOff"
	began := time.Now()
	said, stop := c.compare(t, "w1")
	if want := "not because of w1: " + core; len(said) != 1 || !strings.HasPrefix(said[0], want) || !strings.HasSuffix(said[0], "; it stays in the report") || stop != nil {
		t.Errorf("said %q, stopped by %q, want %q", said, stop, want)
	}
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("the upgrade waited %s", took)
	}
	c.pod(t, "shop", "web", "w8", false)
	if said, stop = c.compare(t, "w1"); said != nil || !slices.Equal(stop, []string{"Pod shop/web"}) {
		t.Errorf("an evicted pod: said %q, stopped by %q", said, stop)
	}
	c.pod(t, "shop", "web", "w8", true)
	if said, stop = c.compare(t, "w7"); said != nil || stop != nil {
		t.Errorf("a pod that failed before its host was changed: said %q, stopped by %q", said, stop)
	}
	c.pod(t, "shop", "web", "w8", false)
	if said, stop = c.compare(t, "w2"); said != nil || !slices.Equal(stop, []string{"Pod shop/web"}) {
		t.Errorf("a host with unknown pods: said %q, stopped by %q", said, stop)
	}
	c.pod(t, "shop", "web", "w8", true)
	c.atTheEnd(t, true, core+"\n", " (found after w1)\n", "1 finding did not count")
	c.pod(t, "bank", "core", "w7", true)
	c.atTheEnd(t, false, " (found after w1; gone at the end)\n")
}

// atTheEnd compares at the end. The findings do not stop the upgrade, and the result has them.
func (c *compared) atTheEnd(t *testing.T, stands bool, want ...string) {
	t.Helper()
	if said, stop := c.compare(t); said != nil || stop != nil {
		t.Errorf("at the end: said %q, stopped by %q", said, stop)
	}
	all, err := c.data.Elsewhere()
	if err != nil || len(all) != 1 || all[0].Stands != stands {
		t.Fatalf("recorded %+v, %v", all, err)
	}
	var text bytes.Buffer
	if err := (Result{Changed: 1, Elsewhere: all}).Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range want {
		if part = strings.TrimSuffix(part, "\n"); !strings.Contains(text.String(), part) {
			t.Errorf("%q is not in\n%s", part, &text)
		}
	}
}

// TestNoteRan: an interrupted drain has evicted pods, which the next run does not see. Their workloads stay recorded.
func TestNoteRan(t *testing.T) {
	yes := true
	pod := func(name, kind, owner, node string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: "1", Controller: &yes}}
		if kind == "ReplicaSet" {
			p.Labels = map[string]string{"pod-template-hash": "7c9"}
		}
		return p
	}
	r := &rollout{findings: upgraderecord.Attributed{Dir: t.TempDir()}}
	r.client = fake.NewClientset(pod("web-7c9-a", "ReplicaSet", "web-7c9", "w1"), pod("db-0", "StatefulSet", "db", "w1"))
	for range 2 {
		if err := r.noteRan(t.Context(), "w1"); err != nil {
			t.Fatal(err)
		}
		r.client = fake.NewClientset(pod("db-0", "StatefulSet", "db", "w1"))
	}
	change, err := r.findings.Change([]string{"w1", "w2"}, result.Snapshot{})
	if got := change.Ran["w1"]; err != nil || !slices.Equal(got, []string{"Deployment shop/web", "StatefulSet shop/db"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, known := change.Ran["w2"]; known {
		t.Error("the pods of w2 are known")
	}
}

// TestInTurn: a host that continues an upgrade finds a node that the lost run drained. Its turn comes later, so it does not
// stop the comparison after another host. A node that was cordoned before the upgrade is in the baseline.
func TestInTurn(t *testing.T) {
	node := func(name string, cordoned bool) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
	}
	r := &rollout{client: fake.NewClientset(node("cp2", false), node("cp3", true), node("w1", true), node("w2", true))}
	r.record.Cordoned = []string{"w1"}
	for _, tc := range []struct{ hosts, want []string }{
		{[]string{"cp2"}, []string{"cp3", "w2"}},
		{[]string{"w2"}, []string{"cp3"}},
		{nil, nil},
	} {
		if got, err := inTurn(t.Context(), r, tc.hosts); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("after %q: got %q, %v, want %q", tc.hosts, got, err, tc.want)
		}
	}
}
