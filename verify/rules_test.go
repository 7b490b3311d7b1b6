package verify

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodesReady(t *testing.T) {
	fresh := node("w1", corev1.ConditionTrue, func(n *corev1.Node) { n.Status.Conditions = nil })
	for _, test := range []struct {
		name     string
		objects  []metav1.Object
		expected []string
		want     []Finding
	}{
		{"all ready", []metav1.Object{node("cp1", corev1.ConditionTrue), node("w1", corev1.ConditionTrue)}, []string{"cp1", "w1"}, nil},
		{"more than expected", []metav1.Object{node("cp1", corev1.ConditionTrue), node("w1", corev1.ConditionTrue)}, []string{"cp1"}, nil},
		{"no network", []metav1.Object{node("w1", corev1.ConditionFalse)}, nil,
			[]Finding{{Object: "Node w1", Saw: "not Ready: KubeletNotReady: cni plugin not initialized"}}},
		{"powered off", []metav1.Object{node("w1", corev1.ConditionUnknown)}, nil,
			[]Finding{{Object: "Node w1", Saw: "not reporting: NodeStatusUnknown: Kubelet stopped posting node status."}}},
		{"just registered", []metav1.Object{fresh}, nil,
			[]Finding{{Object: "Node w1", Saw: "its kubelet has never reported"}}},
		{"not joined", []metav1.Object{node("cp1", corev1.ConditionTrue)}, []string{"cp1", "w1"},
			[]Finding{{Object: "Node w1", Saw: "it has not joined"}}},
		{"an empty cluster is not healthy", nil, nil,
			[]Finding{{Object: "Cluster", Saw: "it has no nodes"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantSaw(t, judgeNodes(seen(t, test.objects...), test.expected), test.want...)
		})
	}
}

func TestControlPlane(t *testing.T) {
	cp := node("cp1", corev1.ConditionTrue, controlPlaneNode)
	static := func(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
		return pod("kube-system", name, "cp1", changes...)
	}
	most := []metav1.Object{cp, node("w1", corev1.ConditionTrue), static("kube-apiserver-cp1"), static("kube-controller-manager-cp1")}
	for _, test := range []struct {
		name    string
		objects []metav1.Object
		want    []Finding
	}{
		{"complete", append(most, static("kube-scheduler-cp1"), static("etcd-cp1")), nil},
		{"etcd outside", append(most, static("kube-scheduler-cp1")), nil},
		{"one missing", append(most, static("etcd-cp1")),
			[]Finding{{Object: "Pod kube-system/kube-scheduler-cp1", Saw: "it does not exist"}}},
		{"one crashes", append(most, static("etcd-cp1"), static("kube-scheduler-cp1", waiting("CrashLoopBackOff", "back-off 10s"))),
			[]Finding{{Object: "Pod kube-system/kube-scheduler-cp1", Saw: "container main: CrashLoopBackOff: back-off 10s"}}},
		{"second host has no etcd", append(most, static("kube-scheduler-cp1"), static("etcd-cp1"), node("cp2", corev1.ConditionTrue, controlPlaneNode),
			static("kube-apiserver-cp2"), static("kube-controller-manager-cp2"), static("kube-scheduler-cp2")),
			[]Finding{{Object: "Pod kube-system/etcd-cp2", Saw: "it does not exist"}}},
		{"no control-plane node", []metav1.Object{node("w1", corev1.ConditionTrue)},
			[]Finding{{Object: "Cluster", Saw: "no node has the label node-role.kubernetes.io/control-plane"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantSaw(t, judgeControlPlane(seen(t, test.objects...)), test.want...)
		})
	}
}

func TestWorkloads(t *testing.T) {
	w1, w2 := node("w1", corev1.ConditionTrue), node("w2", corev1.ConditionTrue)
	proxyOn := func(on string) *corev1.Pod { return pod("kube-system", "kube-proxy-"+on, on, ownedBy("kube-proxy")) }
	onLinux := func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
	}
	behind := func(d *appsv1.Deployment) { d.Generation = 2 }
	rolling := func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 3, 1 }
	for _, test := range []struct {
		name     string
		objects  []metav1.Object
		required []string
		want     []Finding
	}{
		{"complete", []metav1.Object{w1, daemonSet("kube-proxy", 1), proxyOn("w1"), deployment("coredns")},
			[]string{"DaemonSet kube-system/kube-proxy", "Deployment kube-system/coredns"}, nil},
		{"never created", []metav1.Object{w1}, []string{"Deployment kube-system/coredns"},
			[]Finding{{Object: "Deployment kube-system/coredns", Saw: "it does not exist"}}},
		{"other namespaces are not checked", []metav1.Object{w1, deployment("shop", func(d *appsv1.Deployment) { d.Namespace = "shop"; d.Status.AvailableReplicas = 0 })}, nil, nil},
		{"deployment not available", []metav1.Object{w1, deployment("coredns", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 })}, nil,
			[]Finding{{Object: "Deployment kube-system/coredns", Saw: "1 of 2 pods available"}}},
		{"deployment rolling", []metav1.Object{w1, deployment("coredns", rolling)}, nil,
			[]Finding{{Object: "Deployment kube-system/coredns", Saw: "1 of 2 pods updated, 2 pods of the old version still exist"}}},
		{"stale status", []metav1.Object{w1, deployment("coredns", behind)}, nil,
			[]Finding{{Object: "Deployment kube-system/coredns", Saw: "its controller has not observed its newest specification (generation 2, observed 1)"}}},
		{"a node that the controller has not seen", []metav1.Object{w1, w2, daemonSet("kube-proxy", 1), proxyOn("w1")}, nil,
			[]Finding{{Object: "DaemonSet kube-system/kube-proxy", Saw: "no pod on w2"}}},
		{"daemon pod not ready", []metav1.Object{w1, daemonSet("kube-proxy", 1, func(d *appsv1.DaemonSet) { d.Status.NumberAvailable = 0 }), proxyOn("w1")}, nil,
			[]Finding{{Object: "DaemonSet kube-system/kube-proxy", Saw: "0 of 1 pods available"}}},
		{"daemon pods that are updated by hand", []metav1.Object{w1, daemonSet("kube-proxy", 1, func(d *appsv1.DaemonSet) {
			d.Spec.UpdateStrategy.Type, d.Status.UpdatedNumberScheduled = appsv1.OnDeleteDaemonSetStrategyType, 0
		}), proxyOn("w1")}, nil, nil},
		{"daemon pods excluded by selector", []metav1.Object{w1, daemonSet("kube-proxy-windows", 0, onLinux)}, nil, nil},
		{"daemon pods excluded by taint", []metav1.Object{w1, node("w2", corev1.ConditionTrue, tainted("bank/secret")), daemonSet("kube-proxy", 1), proxyOn("w1")}, nil, nil},
		{"a cordoned node needs its daemon pods", []metav1.Object{w1, node("w2", corev1.ConditionTrue, tainted(corev1.TaintNodeUnschedulable)), daemonSet("kube-proxy", 1), proxyOn("w1")}, nil,
			[]Finding{{Object: "DaemonSet kube-system/kube-proxy", Saw: "no pod on w2"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantSaw(t, judgeWorkloads(seen(t, test.objects...), namespaces{"kube-system"}.has, test.required), test.want...)
		})
	}
}

func TestPods(t *testing.T) {
	failed := func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "disk pressure"
	}
	unscheduled := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/2 nodes are available"}}
		p.Status.ContainerStatuses = nil
	}
	crashed := func(p *corev1.Pod) {
		waiting("CrashLoopBackOff", "back-off 20s")(p)
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "read the zones\nno such zone\n"}
	}
	init := func(p *corev1.Pod) {
		waiting("PodInitializing", "")(p)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "plugin", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}}}
	}
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		saw    string
	}{
		{"healthy", func(*corev1.Pod) {}, ""},
		{"crash loop", crashed, "container main: CrashLoopBackOff: back-off 20s; before that it ended with exit code 1 (Error: no such zone)"},
		{"image", waiting("ImagePullBackOff", "manifest unknown"), "container main: ImagePullBackOff: manifest unknown"},
		{"image of an init container", init, "container plugin: ImagePullBackOff: not found"},
		{"being created", waiting("ContainerCreating", ""), "container main: ContainerCreating"},
		{"not enough resources", unscheduled, "not scheduled: Unschedulable: 0/2 nodes are available"},
		{"ephemeral debug containers", func(p *corev1.Pod) {
			p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{
				{Name: "debugger-a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 130}}},
				{Name: "debugger-b", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
			}
		}, ""},
		{"probe fails", unready("ContainersNotReady", "main"), "Running, not ready: ContainersNotReady: main"},
		{"evicted, without an owner", failed, "failed: Evicted: disk pressure"},
		{"evicted, replaced", func(p *corev1.Pod) { failed(p); ownedBy("rs")(p) }, ""},
		{"done", func(p *corev1.Pod) { onFailure(p); succeeded(p) }, ""},
		{"being deleted", func(p *corev1.Pod) { unready("x", "")(p); p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, ""},
		{"other namespace", func(p *corev1.Pod) { crashed(p); p.Namespace = "shop" }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []Finding
			if test.saw != "" {
				want = []Finding{{Object: "Pod kube-system/p", Saw: test.saw}}
			}
			wantSaw(t, judgePods(seen(t, pod("kube-system", "p", "w1", test.change)), namespaces{"kube-system", "kube-flannel"}.has), want...)
		})
	}
}
