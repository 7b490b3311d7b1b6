package upgrade

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

const target = "bundle-2"

// withoutW1 is the worker of sitetest, which has none of these names.
const withoutW1 = "  - {name: w1, address: 192.0.2.21, roles: [worker]}\n"

// fleet300 are 300 workers in three racks, 20 of them with GPUs.
const fleet300 = `  - {name: "a[001-100]", address: "10.1.1.[1-100]", rack: r1, roles: [worker]}
  - {name: "gpu[01-20]", address: "10.1.9.[1-20]", rack: r9, roles: [worker, gpu]}
  - {name: "b[001-100]", address: "10.1.2.[1-100]", rack: r2, roles: [worker]}
  - {name: "c[001-080]", address: "10.1.3.[1-80]", rack: r3, roles: [worker]}
packages:`

const few = `  - {name: "w[1-7]", address: "10.1.1.[1-7]", roles: [worker]}
packages:`

// world is a cluster whose workers take five minutes for their upgrade. The API is a fake: the time is virtual, and a
// real API server has a real clock.
type world struct {
	t      *testing.T
	client *fake.Clientset
	config *config.Cluster
	dir    string // of the journal and the records
	said   *uitest.Recorder

	mu       sync.Mutex
	bad      map[string]error // workers that fail
	dead     map[string]bool  // their kubelet stops with the failure
	cordoned map[string]bool
	most     int // cordoned at the same time
	order    []string
	compared int
	takes    time.Duration
	during   func(name string) // called when a worker is in work
}

// newWorld returns a cluster with these nodes in airgap.yaml, which replace "packages:".
func newWorld(t *testing.T, nodes string) *world {
	t.Helper()
	w := &world{
		t: t, config: sitetest.ClusterFrom(t, withoutW1, "", "packages:", nodes),
		dir: t.TempDir(), said: &uitest.Recorder{Progress: ui.Discard()}, bad: map[string]error{}, dead: map[string]bool{}, cordoned: map[string]bool{},
		takes: 5 * time.Minute,
	}
	var objects []runtime.Object
	for _, n := range w.config.Nodes {
		version, note := "v1.35.0", "bundle-1"
		if n.Has(config.ControlPlane) {
			version, note = w.config.Kubernetes.Tag(), target
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Annotations: map[string]string{site.BundleNote: note}}}
		node.Status.NodeInfo.KubeletVersion = version
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		objects = append(objects, node, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: n.Name}})
	}
	w.client = fake.NewClientset(objects...)
	w.client.PrependReactor("patch", "nodes", w.seePatch)
	w.client.PrependReactor("get", "leases", w.renew)
	return w
}

// seePatch counts the cordoned nodes at each change.
func (w *world) seePatch(a clienttesting.Action) (bool, runtime.Object, error) {
	patch, is := a.(clienttesting.PatchAction)
	if !is || !strings.Contains(string(patch.GetPatch()), "unschedulable") {
		return false, nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(string(patch.GetPatch()), "true") {
		w.cordoned[patch.GetName()] = true
	} else {
		delete(w.cordoned, patch.GetName())
	}
	w.most = max(w.most, len(w.cordoned))
	return false, nil, nil
}

// renew is the kubelet of a node that renews its lease.
func (w *world) renew(a clienttesting.Action) (bool, runtime.Object, error) {
	name := a.(clienttesting.GetAction).GetName()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: name}}
	renewed := metav1.NewMicroTime(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead[name] {
		renewed = metav1.NewMicroTime(time.Unix(0, 0))
	}
	lease.Spec.RenewTime = &renewed
	return true, lease, nil
}

// change is the upgrade of a worker.
func (w *world) change(ctx context.Context, n config.Node) error {
	w.mu.Lock()
	w.order = append(w.order, n.Name)
	failure, during := w.bad[n.Name], w.during
	if !w.cordoned[n.Name] {
		w.t.Errorf("%s is upgraded without a drain", n.Name)
	}
	w.mu.Unlock()
	if during != nil {
		during(n.Name)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(w.takes):
	}
	if failure != nil {
		return failure
	}
	node, err := w.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node.Status.NodeInfo.KubeletVersion = w.config.Kubernetes.Tag()
	node.Annotations[site.BundleNote] = target
	node.Status.Conditions[0].Status = corev1.ConditionTrue
	_, err = w.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

func (w *world) compare(context.Context, ...string) error {
	w.compared++
	return nil
}

func (w *world) console() ui.Console { return &ui.Terminal{In: strings.NewReader("")} }

// begin returns a run of the upgrade that has only the workers left, and its steps for them.
func (w *world) begin(o Pace) (*upgrade, []step.Step) {
	w.t.Helper()
	u := &upgrade{rollout: rollout{
		site: &site.Site{Config: w.config, Node: w.config.Nodes[0]}, target: target, client: w.client, p: w.said, limits: limits{drainTimeout: time.Minute, timeout: 10 * time.Minute},
		record:  upgraderecord.Record{From: upgraderecord.BundleRef{ID: "bundle-1"}, To: upgraderecord.BundleRef{ID: target}, Changed: true},
		journal: step.OpenJournal(filepath.Join(w.dir, "journal")), doneWorkers: upgraderecord.Workers{Dir: w.dir},
		findings: upgraderecord.Attributed{Dir: w.dir}, debts: owed.File(filepath.Join(w.dir, "owed.json")),
		changing: w.change, comparing: w.compare, line: commandLine,
	}}
	require.NoError(w.t, u.pace.set("upgrade", o, w.console()))
	require.NoError(w.t, u.pace.choose(w.config.Nodes))
	nodes, err := w.client.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	u.recordNodes(nodes.Items)
	u.record.Cordoned = nil
	steps, whole, err := u.workerSteps(u.others())
	require.NoError(w.t, err)
	if whole {
		steps = append(steps, afterWorkers(&u.rollout, []step.Step{{Name: "end", Once: u.record.UpgradeName(), Run: func(context.Context) error { return nil }}})...)
	}
	return u, steps
}

// run runs the upgrade of the workers, as Run does.
func (w *world) run(ctx context.Context, o Pace) (*Left, error) {
	u, steps := w.begin(o)
	_, err := step.Run(ctx, u.journal, steps, func(step.Event) {})
	u.pace.end()
	return u.ended(err)
}

// upgraded returns the workers with the new bundle.
func (w *world) upgraded() (names []string) {
	nodes, err := w.client.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, n := range nodes.Items {
		if known, err := w.config.Node(n.Name); err == nil && !known.Has(config.ControlPlane) && n.Annotations[site.BundleNote] == target {
			names = append(names, n.Name)
		}
	}
	return names
}

func (w *world) isCordoned() []string { return slices.Sorted(maps.Keys(w.cordoned)) }

// owes returns the owed workers with the reasons.
func (w *world) owes() map[string]string {
	debts, err := owed.File(filepath.Join(w.dir, "owed.json")).Read()
	require.NoError(w.t, err)
	all := map[string]string{}
	for _, d := range debts {
		all[d.Node] = d.Why
	}
	return all
}

func commandLine(command string) (string, error) { return "airgap " + command, nil }
