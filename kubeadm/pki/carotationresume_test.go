package pki

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/phases"
)

// TestReplacementResumes interrupts a rotation at each restart, and runs it again. At no time does
// a program receive a certificate that it does not trust.
func TestReplacementResumes(t *testing.T) {
	for name, restarts := range map[string]int{
		"registry":    2 + 1 + 2,                 // trust on each host, signing, trust
		"etcd":        2 + 3 + 2,                 // trust both, renewal, trust the new one; the controller manager and the scheduler keep running
		"front-proxy": 1 + 3 + 1,                 //
		"cluster":     (3 + 2) + 3 + 2 + (3 + 2), // and both kubelets
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; at <= restarts+1; at++ {
				d := newDomain(t)
				a := d.authority(name)
				ctx, kill := context.WithCancel(t.Context())
				d.cut, d.kill = at, kill
				old := d.c.f.Get(a.file)
				done, err := d.run(ctx, a)
				kill()
				if cut := at <= restarts; cut != (err != nil) {
					t.Fatalf("interrupted at restart %d of %d: %v", at, d.restarts, err)
				}
				if err != nil {
					if err := RefuseDuringCARotation(d.c.m, "join"); err == nil || !strings.Contains(err.Error(), "a rotation of the CA of "+name+" is in progress") {
						t.Errorf("during the rotation: %v", err)
					}
					if done, err = d.run(t.Context(), a); err != nil || !done.Resumed {
						t.Fatalf("interrupted at restart %d, second run: %+v, %v", at, done, err)
					}
				}
				d.ended(a, old, done)
			}
		})
	}
}

// ended checks that only the new CA remains, on all hosts and in the cluster.
func (d *domain) ended(a CA, old string, done CARotated) {
	d.t.Helper()
	d.allTrust()
	fresh := d.c.f.Get(a.file)
	if fresh == old || strings.Count(fresh, "BEGIN") != 1 {
		d.t.Errorf("got CA\n%s\nwant one new certificate", fresh)
	}
	d.c.readCA(a)
	want := slices.Clone(a.leaves)
	if a.nodes {
		want = append(want, node.KubeletClientCert)
		if d.w.Get(kube.ClusterCA) != fresh || d.rootCA != fresh {
			d.t.Error("the worker or the pods trust another CA")
		}
		if left, err := unsigned(d.worker, []string{node.KubeletClientCert}, []byte(fresh)); err != nil || len(left) > 0 {
			d.t.Errorf("the worker's kubelet: %v, %v", left, err)
		}
		info, err := d.client.CoreV1().ConfigMaps("kube-public").Get(d.t.Context(), clusterInfo, metav1.GetOptions{})
		if err != nil {
			d.t.Fatal(err)
		}
		if config, err := clientcmd.Load([]byte(info.Data["kubeconfig"])); err != nil || string(config.Clusters["c"].CertificateAuthorityData) != fresh {
			d.t.Errorf("%s has another CA: %v", clusterInfo, err)
		}
	}
	if !slices.Equal(done.Files, want) {
		d.t.Errorf("signed %v, want %v", done.Files, want)
	}
	if d.holds(d.published["client-ca-file"]+d.published["requestheader-client-ca-file"], old) {
		d.t.Error("the old CA is still published for extension API servers")
	}
	for f, m := range map[*hosttest.Fake]host.Machine{d.c.f: d.c.m, d.w: d.worker} {
		if f.Has(nextDir) || f.Has(RenewalFile) || f.Has(RotationFile) || RefuseDuringCARotation(m, "join") != nil {
			d.t.Error("files of the rotation remain on a host")
		}
	}
	if got := d.c.f.Get(node.ManifestOf(node.ControllerManager)); got != managerManifest {
		d.t.Errorf("the manifest is\n%s", got)
	}
	secrets, err := d.client.CoreV1().Secrets("kube-system").List(d.t.Context(), metav1.ListOptions{})
	if err != nil || len(secrets.Items) != 1 || secrets.Items[0].Name != "bootstrap-token-others" {
		d.t.Errorf("tokens or the rotation state remain: %v, %v", secrets.Items, err)
	}
	nodes, err := d.client.CoreV1().Nodes().List(d.t.Context(), metav1.ListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if n.Annotations[phaseNote] != "" {
			d.t.Errorf("%s has %v", n.Name, n.Annotations)
		}
	}
}

// TestReplacementAbandoned checks that another rotation can start after the leader and its new key
// were lost before the new CA signed.
func TestReplacementAbandoned(t *testing.T) {
	d, a := newDomain(t), authorityOf("cluster")
	old := d.c.f.Get(a.file)
	ctx, kill := context.WithCancel(t.Context())
	d.cut, d.kill = 5, kill // all of cp1 trust both
	if _, err := d.run(ctx, a); err == nil {
		t.Fatal("the interrupted rotation returned no error")
	}
	lost := d.c.f.Get(a.nextFile())
	if err := errors.Join(removeNext(d.c.m, a), phases.Coordinator{Client: d.client, Node: "cp1", Name: replacementName}.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	done, err := d.run(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if d.ended(a, old, done); d.holds(d.c.f.Get(a.file), lost) {
		t.Error("hosts trust the lost CA")
	}
}

// TestReplacementKeepsItsKey checks that the Secret does not have the new CA's key.
func TestReplacementKeepsItsKey(t *testing.T) {
	d, a := newDomain(t), authorityOf("etcd")
	ctx, kill := context.WithCancel(t.Context())
	d.cut, d.kill = 3, kill
	if _, err := d.run(ctx, a); err == nil {
		t.Fatal("the interrupted rotation returned no error")
	}
	s, err := d.client.CoreV1().Secrets("kube-system").Get(t.Context(), replacementName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for field, value := range s.Data {
		if strings.Contains(string(value), "PRIVATE") {
			t.Errorf("%s has a key", field)
		}
	}
	if text := d.c.f.Get(a.nextKey()); !strings.Contains(text, "PRIVATE") {
		t.Error("the key file has no key")
	}
}

// TestReplacementRefused checks that a refused rotation changes nothing.
func TestReplacementRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *domain, r *CARotation)
		want   string
	}{
		"a node that is not ready": {func(d *domain, _ *CARotation) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w2"}}
			if err := d.client.Tracker().Add(node); err != nil {
				t.Fatal(err)
			}
		}, "not ready: w2"},
		"no key":    {func(d *domain, r *CARotation) { r.Machine = d.worker }, "no host leads a rotation"},
		"no leader": {func(_ *domain, r *CARotation) { r.Follow = true }, "no host leads a rotation"},
		"another rotation is in progress": {func(d *domain, _ *CARotation) {
			x := phases.Coordinator{Client: d.client, Node: "cp2", Name: replacementName}
			if _, err := x.Open(t.Context(), "x", map[string][]byte{authorityField: []byte("etcd")}); err != nil {
				t.Fatal(err)
			}
		}, "cp2 leads the rotation of another CA, of etcd"},
		"another rotation has started here": {func(d *domain, _ *CARotation) {
			d.c.f.Put(t, RotationFile, `{"authority": "etcd"}`)
		}, "a rotation of the CA of etcd is in progress"},
		"a CA without its key": {func(d *domain, _ *CARotation) {
			if err := host.Remove(d.c.m.Path(node.PKIDir + "/ca.key")); err != nil {
				t.Fatal(err)
			}
		}, "ca.key"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDomain(t)
			r := d.replacement(d.c.m, authorityOf("cluster"))
			c.change(d, &r)
			old := d.c.f.Get(kube.ClusterCA)
			_, err := r.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if d.c.f.Get(kube.ClusterCA) != old || d.c.f.Has(nextDir) || d.restarts > 0 {
				t.Error("the host has changed")
			}
			if _, err := d.client.CoreV1().Secrets("kube-system").Get(t.Context(), "bootstrap-token-abcdef", metav1.GetOptions{}); err != nil {
				t.Errorf("the join token is revoked: %v", err)
			}
		})
	}
}

// TestPodRestarts checks that the rotation waits for pods that read the CA once, and that it
// restarts the pods of kubeadm and airgap itself.
func TestPodRestarts(t *testing.T) {
	since := time.Now().Truncate(time.Second)
	before, after := metav1.NewTime(since.Add(-time.Hour)), metav1.NewTime(since.Add(time.Second))
	pod := func(namespace, name, kind, owner string, created metav1.Time, volume bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: created}}
		if owner != "" {
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &yes}}
		}
		if volume {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
				ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: rootCA}},
			}}}}}}
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: created}}}}
		return p
	}
	started := pod("shop", "early-1", "StatefulSet", "new", before, true) // created by a slow clock, or in the second of the restart
	started.Annotations = map[string]string{kube.RestartedAt: since.UTC().Format(time.RFC3339)}
	longAgo := pod("shop", "web-2", "StatefulSet", "web", before, true)
	longAgo.Annotations = map[string]string{kube.RestartedAt: before.UTC().Format(time.RFC3339)}
	client := fake.NewClientset(
		started, longAgo,
		pod("kube-system", "proxy-1", "DaemonSet", "kube-proxy", before, true),
		pod("shop", "web-1", "StatefulSet", "web", before, true),
		pod("shop", "new-1", "StatefulSet", "new", after, true),
		pod("shop", "blind", "", "", before, false),
		pod("shop", "bare", "", "", before, true),
	)
	sets := client.AppsV1()
	for _, err := range []error{
		client.Tracker().Add(daemonSet("kube-system", "kube-proxy")), client.Tracker().Add(statefulSet("shop", "web")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	old, err := oldTrusters(t.Context(), client, since)
	if err != nil || fmt.Sprint(old) != "[daemonset/kube-proxy -n kube-system pod/bare -n shop statefulset/web -n shop]" {
		t.Fatalf("%v, %v", old, err)
	}
	for _, wanted := range []bool{false, true} {
		for _, w := range old {
			own, err := w.RestartIf(t.Context(), client, since, wanted)
			if err != nil || own != (w.Namespace == "kube-system") {
				t.Errorf("%s: own %v, %v", w, own, err)
			}
		}
		proxy, err := sets.DaemonSets("kube-system").Get(t.Context(), "kube-proxy", metav1.GetOptions{})
		if err != nil || proxy.Spec.Template.Annotations[kube.RestartedAt] == "" {
			t.Errorf("kube-proxy: %v, %v", proxy.Spec.Template.Annotations, err)
		}
		web, err := sets.StatefulSets("shop").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || (web.Spec.Template.Annotations[kube.RestartedAt] != "") != wanted {
			t.Errorf("web, restarts wanted %v: %v, %v", wanted, web.Spec.Template.Annotations, err)
		}
	}
	client.ClearActions()
	if _, err := old[0].RestartIf(t.Context(), client, since, true); err != nil || slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() == "patch" }) {
		t.Errorf("a second restart: %v, %v", client.Actions(), err)
	}
}

// TestEmbed checks that embed does not change clusters that an administrator has added.
func TestEmbed(t *testing.T) {
	f, m := hosttest.New(t)
	ours, theirs, fresh := newCA(t), newCA(t), newCA(t)
	f.Put(t, kube.AdminConf, kubeconfig("https://a", ours.pem(), "", ""))
	f.Put(t, "/etc/kubernetes/other.conf", kubeconfig("https://b", theirs.pem(), "", ""))
	other := f.Get("/etc/kubernetes/other.conf")
	for range 2 {
		if err := embed(m, []byte(ours.pem()+fresh.pem()), []byte(ours.pem()), []byte(fresh.pem())); err != nil {
			t.Fatal(err)
		}
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(f.Get(kube.AdminConf)))
	if err != nil || string(config.CAData) != ours.pem()+fresh.pem() || config.Host != "https://a" {
		t.Errorf("%s\n%v", f.Get(kube.AdminConf), err)
	}
	if f.Get("/etc/kubernetes/other.conf") != other {
		t.Error("another cluster's kubeconfig has changed")
	}
}

func daemonSet(namespace, name string) apiruntime.Object {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func statefulSet(namespace, name string) apiruntime.Object {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
