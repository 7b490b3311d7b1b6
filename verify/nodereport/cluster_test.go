package nodereport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/apitest"
)

// cluster is a real API server with the objects. Like with kubeadm, the node authorizer is active.
type cluster struct {
	*apitest.Server
	admin dynamic.Interface
}

func startCluster(t *testing.T, nodes ...string) cluster {
	t.Helper()
	c := cluster{Server: apitest.Start(t, "--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction")}
	c.admin = c.client(t, c.Config)
	s := Step(nodes, func() (*rest.Config, error) { return c.Config, nil })
	before, errBefore := s.Done(t.Context())
	errRun := s.Run(t.Context())
	after, errAfter := s.Done(t.Context())
	if err := errors.Join(errBefore, errRun, errAfter); err != nil || before || !after {
		t.Fatalf("done before %v, after %v: %v", before, after, err)
	}
	for _, name := range nodes {
		c.makeNode(t, name)
	}
	return c
}

func (c cluster) client(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (c cluster) makeNode(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := c.Client(t).CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// kubelet returns a client with the identity of the kubelet of node w1.
func (c cluster) kubelet(t *testing.T) dynamic.Interface {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:w1", Groups: []string{"system:nodes", "system:authenticated"}}
	return c.client(t, config)
}

func (c cluster) delete(t *testing.T) {
	t.Helper()
	if err := c.admin.Resource(Resource).Delete(t.Context(), "w1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) read(t *testing.T) *NodeReport {
	t.Helper()
	r, err := Read(t.Context(), c.admin, "w1")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// full returns a report with a value in each field.
func full() Report {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return Report{
		Program: "v1", BootID: "b", Kernel: "k", Programs: &Programs{"v2", "v1", "v1"},
		Units:     []Unit{{"kubelet.service", "active", "PrivateTmp=yes: own mounts"}},
		Cgroup:    &Cgroup{2, "cgroupfs", "systemd", "cgroupfs", "systemd", []string{"/etc/containerd/conf.d/99-nvidia.toml"}},
		ProxyMode: "nftables",
		Network: &HostNetwork{
			Address: "10.0.0.21", Link: "ens192", DHCP: "10.0.0.21 on ens192 expires", Firewall: &Firewall{Running: true, Opened: true, Later: true, Missing: []string{"runtime, zone public: x"}},
			NameServers: []string{"10.0.0.1"}, DNSPods: []DNSPod{{Name: "coredns-1", NameServers: []string{"10.0.0.2"}}},
		},
		HostLinks:    fullLinks(),
		NextBoot:     &NextBoot{[]BootProblem{{"swap", "off now; the next boot turns on /dev/sdb (/etc/fstab line 4)", "no active swap", "remove the line"}}},
		Images:       &Images{[]string{"a"}, []string{"b"}},
		Packages:     &Packages{[]string{"S.5....T.  /usr/bin/kubelet"}, []string{"kubelet-0:1-1.x86_64"}, PluginMissing},
		Links:        []Link{{"flannel.1", "vxlan", 1450, true}},
		Sysctls:      []Setting{{"net.ipv4.ip_forward", "0", "1"}},
		Registries:   []Registry{{"10.0.0.1:5000", "node1", "no answer"}},
		Clock:        &Clock{true, 17, "chronyd.service"},
		Certificates: []Certificate{{"/etc/kubernetes/pki/ca.crt", "CN=kubernetes", at, &at}},
		Disks:        []Disk{{"/var/lib/kubelet", []string{"kubelet", "etcd"}, 1 << 40, 1 << 38, 1 << 20, 1 << 19}},
		APIServer:    &APIServer{"it is not ready: etcd", 40},
		Etcd:         &Etcd{"m1", true, true, "e", []string{"NOSPACE"}, []string{"m1"}, nil, 1 << 33, 2 << 33, &at, &EtcdTimes{150, 1500}, &EtcdTimes{100, 1000}},
		GPU: &GPU{
			8, "580", true, &NVML{"e", "580", "13.0", 8, []GPUDevice{{3, "GPU-1", "0000:17:00.0", 31, 87, 92, 88, 700}}, []Product{{"NVIDIA H100 80GB HBM3", 8, 81559, true}}, []string{"Xid 79"}},
			&ExpectedGPUs{"580", 8}, []Offer{{"nvidia.com/gpu", 8}},
		},
		Unknown: []Unknown{{"packages", "r"}},
	}
}

func fullLinks() *HostLinks {
	grown := LinkCounters{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	return &HostLinks{
		Interfaces: []Interface{{"eth0", 25000, "full", "up", []LinkCounters{grown, grown}}},
		Bonds:      []Bond{{"bond0", "802.3ad", "eth0", []BondMember{{"eth0", true, true}}, []string{"eth1"}}},
		Conntrack:  &Conntrack{1000, 262144, []ConntrackCounters{{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}}},
	}
}

func TestCluster(t *testing.T) {
	c := startCluster(t, "w1", "w2")
	t.Run("all fields are stored", func(t *testing.T) { storesAllFields(t, c) })
	t.Run("rights", func(t *testing.T) { rights(t, c) })
	t.Run("run", func(t *testing.T) { runs(t, c) })
}

func storesAllFields(t *testing.T, c cluster) {
	want := full()
	w := &Writer{Node: "w1", Client: c.kubelet(t), Collect: func(context.Context) Report { return want }, Logf: t.Logf}
	w.turn(t.Context())
	want.Heartbeat = w.written.Heartbeat
	got := c.read(t).Report
	got.Heartbeat = want.Heartbeat // the cluster has it in microseconds
	if !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got %s\nwant %s", text(t, got), text(t, want))
	}
	if strings.Contains(text(t, want), ":null") || strings.Count(text(t, full()), `"`) < 150 {
		t.Errorf("the test's report has empty fields: %s", text(t, want))
	}
}

func text(t *testing.T, r Report) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// rights: a node can write its own report, and has no other right to reports.
func rights(t *testing.T, c cluster) {
	ctx, report := t.Context(), Report{Heartbeat: metav1.NowMicro(), Program: "v1"}
	var own, foreign object
	w1 := c.kubelet(t)
	for range 2 {
		if err := own.write(ctx, w1, "w1", report); err != nil {
			t.Fatal(err)
		}
	}
	if err := foreign.write(ctx, c.admin, "w2", report); err != nil {
		t.Fatalf("an administrator: %v", err)
	}
	reports := w1.Resource(Resource)
	refused := map[string]error{
		"get another report":    last(reports.Get(ctx, "w2", metav1.GetOptions{})),
		"test another report":   last(reports.Patch(ctx, "w2", types.JSONPatchType, []byte(`[{"op":"test","path":"/report/program","value":"x"}]`), metav1.PatchOptions{})),
		"list":                  last(reports.List(ctx, metav1.ListOptions{})),
		"watch":                 last(reports.Watch(ctx, metav1.ListOptions{})),
		"delete":                reports.Delete(ctx, "w1", metav1.DeleteOptions{}),
		"update":                last(reports.Update(ctx, foreign.live, metav1.UpdateOptions{})),
		"create":                last(reports.Create(ctx, named("w3"), metav1.CreateOptions{})),
		"create without a name": last(reports.Create(ctx, generated("w1"), metav1.CreateOptions{})),
		"apply":                 last(reports.Apply(ctx, "w2", named("w2"), metav1.ApplyOptions{FieldManager: "w1", Force: true})),
		"user without a node": func() error {
			config := rest.CopyConfig(c.Config)
			config.Impersonate = rest.ImpersonationConfig{UserName: "w1", Groups: []string{"system:authenticated"}}
			return last(c.client(t, config).Resource(Resource).Get(ctx, "w1", metav1.GetOptions{}))
		}(),
	}
	for what, err := range refused {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want Forbidden", what, err)
		}
	}
	if err := refused["create"]; !strings.Contains(fmt.Sprint(err), "a node may write only its own report: system:node:w1 is not node w3") {
		t.Errorf("report of another node: %v", err)
	}
}

// TestAllow: a host that joins later can report from the start.
func TestAllow(t *testing.T) {
	c := startCluster(t)
	c.makeNode(t, "w1")
	var own object
	if err := own.write(t.Context(), c.kubelet(t), "w1", Report{Program: "v1"}); !apierrors.IsForbidden(err) {
		t.Errorf("before Allow: got %v, want Forbidden", err)
	}
	for range 2 {
		if err := Allow(t.Context(), c.Client(t), "w1"); err != nil {
			t.Fatal(err)
		}
	}
	var again object
	if err := again.write(t.Context(), c.kubelet(t), "w1", Report{Heartbeat: metav1.NowMicro(), Program: "v1"}); err != nil {
		t.Errorf("after Allow: %v", err)
	}
	for range 2 {
		if err := Disallow(t.Context(), c.Client(t), "w1"); err != nil {
			t.Fatal(err)
		}
	}
	roles, err := c.Client(t).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil || slices.ContainsFunc(roles.Items, func(r rbacv1.ClusterRole) bool { return r.Name == "airgap:node-report:w1" }) {
		t.Errorf("after Disallow: its ClusterRole still exists, or: %v", err)
	}
	if err := last(c.kubelet(t).Resource(Resource).Get(t.Context(), "w1", metav1.GetOptions{})); !apierrors.IsForbidden(err) {
		t.Errorf("after Disallow: got %v, want Forbidden", err)
	}
}

// TestRightsToConfigz: a node may read the configuration of its kubelet, but of no other kubelet.
func TestRightsToConfigz(t *testing.T) {
	c := startCluster(t, "w1", "w2")
	for of, want := range map[string]bool{"w1": true, "w2": false, "": false} {
		review, err := c.Client(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:node:w1", Groups: []string{"system:nodes", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "nodes", Subresource: "configz", Name: of},
		}}, metav1.CreateOptions{})
		if err != nil || review.Status.Allowed != want {
			t.Errorf("w1 reads the configuration of %q: got %v, %v, want %v", of, review.Status, err, want)
		}
	}
}

func last[T any](_ T, err error) error { return err }

func named(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"report": map[string]any{"heartbeat": "2026-03-01T12:00:00Z", "program": "v1"}}}
	u.SetGroupVersionKind(Kind)
	u.SetName(name)
	return u
}

func generated(prefix string) *unstructured.Unstructured {
	u := named("")
	u.SetGenerateName(prefix)
	return u
}

// TestWriter runs a Writer turn by turn.
func TestWriter(t *testing.T) {
	c := startCluster(t, "w1")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	report := full()
	var said []string
	w := &Writer{
		Node: "w1", Client: c.kubelet(t), now: func() time.Time { return now },
		Collect: func(context.Context) Report { return report },
		Logf:    func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
	}
	// turn advances the time, runs one turn and reports whether the object was written.
	version := ""
	turn := func(after time.Duration) bool {
		t.Helper()
		now = now.Add(after)
		w.turn(t.Context())
		before := version
		version = c.read(t).ResourceVersion
		return version != before
	}
	expect := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got written %v, want %v; logged %q", what, got, want, said)
		}
	}
	expect("at first", turn(0), true)
	expect("nothing has changed", turn(interval), false)
	moved := *report.Clock
	moved.ErrorMillis++
	report.Clock = &moved
	expect("a value that always changes", turn(interval), false)
	report.HostLinks = fullLinks()
	report.HostLinks.Interfaces[0].Grown[0].Received, report.HostLinks.Conntrack.Count = 99, 99
	expect("the counters of links", turn(interval), false)
	report.HostLinks.Bonds[0].Members[0].Up = false
	expect("a member of a bond is down", turn(interval), true)
	gpu, library := *report.GPU, *report.GPU.NVML
	library.GPUs = []GPUDevice{{3, "GPU-1", "0000:17:00.0", 61, 86, 91, 612, 700}}
	gpu.NVML, report.GPU = &library, &gpu
	expect("the temperature of a GPU", turn(interval), false)
	library.GPUs = []GPUDevice{{3, "GPU-2", "0000:17:00.0", 61, 86, 91, 612, 700}}
	expect("another GPU", turn(interval), true)
	report.ProxyMode = "iptables"
	expect("the proxy mode", turn(interval), true)
	expect("time for a heartbeat", turn(beat), true)
	expect("the clock was set back", turn(-time.Hour), true)
	if got := c.read(t); !got.Report.Heartbeat.Time.Equal(now) || got.Report.ProxyMode != "iptables" {
		t.Errorf("the cluster has %+v", got.Report)
	}
	c.delete(t)
	expect("the object was deleted", turn(beat), true)
	addLabel(t, c)
	expect("the object was changed", turn(beat), true)
	if len(said) > 0 {
		t.Errorf("logged %q, want no line", said)
	}
	t.Run("its Node was re-created", func(t *testing.T) { ownedByNewNode(t, c, func() { turn(beat) }) })
	t.Run("the API server was stopped", func(t *testing.T) {
		c.Stop()
		var pauses []time.Duration
		for range 5 {
			now = now.Add(beat)
			pauses = append(pauses, w.turn(t.Context()))
		}
		if want := []time.Duration{interval, 2 * interval, 4 * interval, maxPause, maxPause}; !slices.Equal(pauses, want) {
			t.Errorf("pauses: got %v, want %v", pauses, want)
		}
		c.Restart(t)
		expect("the API server runs again", turn(maxPause), true)
		if len(said) != 2 || !strings.Contains(said[0], "write NodeReport w1: ") || said[1] != "the cluster accepts the report again" {
			t.Errorf("logged %q", said)
		}
	})
}

// addLabel changes the object, like a user.
func addLabel(t *testing.T, c cluster) {
	t.Helper()
	live, err := c.admin.Resource(Resource).Get(t.Context(), "w1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live.SetLabels(map[string]string{"rack": "7"})
	if _, err := c.admin.Resource(Resource).Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ownedByNewNode: the garbage collector deletes a report with its Node. The new Node owns the next
// report. Without a Node no report is created.
func ownedByNewNode(t *testing.T, c cluster, turn func()) {
	nodes := c.Client(t).CoreV1().Nodes()
	old := c.read(t).OwnerReferences
	if err := nodes.Delete(t.Context(), "w1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.delete(t) // as the garbage collector does
	var gone object
	if err := gone.write(t.Context(), c.kubelet(t), "w1", full()); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "get its Node") {
		t.Errorf("without its Node: %v", err)
	}
	node := c.makeNode(t, "w1")
	turn()
	got := c.read(t).OwnerReferences
	if len(old) != 1 || len(got) != 1 || got[0].UID != node.UID || got[0].UID == old[0].UID || got[0].Kind != "Node" {
		t.Errorf("owners %+v, before %+v, want %s", got, old, node.UID)
	}
}

// runs: Run writes reports until its context ends.
func runs(t *testing.T, c cluster) {
	ctx, cancel := context.WithCancel(t.Context())
	watched, err := c.admin.Resource(Resource).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w := &Writer{Node: "w1", Client: c.kubelet(t), Collect: func(context.Context) Report { return full() }, Logf: t.Logf}
		w.Run(ctx)
	}()
	<-watched.ResultChan()
	cancel()
	<-done
}
