package load

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node returns a GPU server. The first nodes are the control plane.
func (c Cluster) node(i int) *corev1.Node {
	name := nodeName(i)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: uid("node " + name), CreationTimestamp: born(),
			Labels: map[string]string{
				corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelHostname: name,
				corev1.LabelTopologyZone: fmt.Sprintf("hall-%d", i%4), "bank.example/rack": fmt.Sprintf("r%03d", i/20),
				"nvidia.com/gpu.present": "true",
			},
			Annotations: map[string]string{
				"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
				"flannel.alpha.coreos.com/backend-data": `{"VNI":1,"VtepMAC":"5e:11:0c:a7:3f:90"}`,
				"flannel.alpha.coreos.com/backend-type": "vxlan", "flannel.alpha.coreos.com/public-ip": hostIP(i),
			},
		},
		Spec:   corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 128+i/256, i%256)},
		Status: c.nodeStatus(i),
	}
	n.Spec.PodCIDRs = []string{n.Spec.PodCIDR}
	if i < controlPlaneNodes {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
		n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	n.ManagedFields = managed("v1", "kubelet", "kubelet", n)
	return n
}

func (c Cluster) nodeStatus(i int) corev1.NodeStatus {
	has := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("527905384Ki"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1855354368Ki"), corev1.ResourcePods: resource.MustParse("110"),
		"hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"), "nvidia.com/gpu": resource.MustParse("8"),
	}
	s := corev1.NodeStatus{
		Capacity: has, Allocatable: has,
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostIP(i)}, {Type: corev1.NodeHostName, Address: nodeName(i)}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: sum(nodeName(i))[:32], SystemUUID: string(uid("system " + nodeName(i))), BootID: string(uid("boot " + nodeName(i))),
			KernelVersion: "5.14.0-570.12.1.el9_6.x86_64", OSImage: "Rocky Linux 9.6 (Blue Onyx)", ContainerRuntimeVersion: "containerd://2.3.7",
			KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) {
		s.Conditions = append(s.Conditions, corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: born(), LastTransitionTime: born()})
	}
	condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available")
	condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure")
	condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available")
	condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse, "FlannelIsUp", "Flannel is running on this node")
	condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	for _, image := range c.Images {
		s.Images = append(s.Images, corev1.ContainerImage{Names: []string{image, tagged(image)}, SizeBytes: 94 << 20})
	}
	return s
}

// lease is valid for a day, since no process renews it.
func lease(namespace, name, holder string) *coordinationv1.Lease {
	seconds, renewed := int32(24*3600), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: uid("lease " + name), CreationTimestamp: born()},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
}

// nodeLease returns the lease of a kubelet.
func nodeLease(node string) *coordinationv1.Lease {
	l := lease(corev1.NamespaceNodeLease, node, node)
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: uid("node " + node)}}
	return l
}

func hostIP(i int) string { return fmt.Sprintf("172.%d.%d.%d", 16+i/(250*250), i/250%250, i%250+1) }
