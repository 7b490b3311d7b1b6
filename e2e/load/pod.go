package load

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// pods returns a function that creates the i-th pod of the workload, running on a node.
// All pods have the same managedFields, which are computed once.
func (w workload) pods(images []string) func(node string, i int) *corev1.Pod {
	var fields []metav1.ManagedFieldsEntry
	return func(node string, i int) *corev1.Pod {
		p := w.pod(node, i, images)
		if fields == nil {
			fields = managed("v1", "kube-controller-manager", "kubelet", p)
		}
		p.ManagedFields = fields
		return p
	}
}

func (w workload) pod(node string, i int, images []string) *corev1.Pod {
	name := w.podName(node, i)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.namespace, UID: uid("pod " + w.namespace + "/" + name), CreationTimestamp: born(), Generation: 1,
			Labels: w.labels(), OwnerReferences: []metav1.OwnerReference{w.owner(node)},
		},
		Spec: w.spec(node, images),
	}
	switch w.kind {
	case "Node":
		p.Annotations = map[string]string{"kubernetes.io/config.hash": sum(name)[:32], "kubernetes.io/config.mirror": sum(name)[:32], "kubernetes.io/config.source": "file"}
	case "DaemonSet":
		p.GenerateName, p.Labels["controller-revision-hash"] = w.name+"-", w.hash()
	default:
		p.GenerateName, p.Labels["pod-template-hash"] = w.replicaSetName()+"-", w.hash()
		p.Annotations = map[string]string{"checksum/config": sum(w.name), "prometheus.io/scrape": "true", "prometheus.io/port": "8080"}
	}
	p.Status = w.status(p, i)
	return p
}

func (w workload) spec(node string, images []string) corev1.PodSpec {
	links, priority, preempt := true, int32(0), corev1.PreemptLowerPriority
	grace, seconds := int64(30), int64(300)
	return corev1.PodSpec{
		NodeName: node, HostNetwork: w.system, Containers: w.containers(images), Volumes: w.volumes(),
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: w.name, SecurityContext: &corev1.PodSecurityContext{},
		SchedulerName: corev1.DefaultSchedulerName, Priority: &priority, PreemptionPolicy: &preempt, EnableServiceLinks: &links,
		Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		},
	}
}

func (w workload) volumes() []corev1.Volume {
	mode, expires := int32(0o644), int64(3607)
	all := []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: w.name}, DefaultMode: &mode}}},
		{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expires, Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		}}}},
	}
	if w.system {
		return all
	}
	return append(all, corev1.Volume{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

// status returns the status of a pod in which all containers run.
func (w workload) status(p *corev1.Pod, i int) corev1.PodStatus {
	at := born()
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: hostIP(i), PodIP: fmt.Sprintf("10.%d.%d.%d", 128+i/62500, i/250%250, i%250+1), StartTime: &at,
		QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 1,
	}
	s.HostIPs, s.PodIPs = []corev1.HostIP{{IP: s.HostIP}}, []corev1.PodIP{{IP: s.PodIP}}
	conditions := []corev1.PodConditionType{"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled}
	if w.name == "data-plane" {
		conditions = append(conditions, "airgap.dev/DataPlane")
	}
	for _, c := range conditions {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: at})
	}
	for _, c := range p.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, running(p, c))
	}
	return s
}

func running(p *corev1.Pod, c corev1.Container) corev1.ContainerStatus {
	started := true
	s := corev1.ContainerStatus{
		Name: c.Name, Image: tagged(c.Image), ImageID: c.Image, ContainerID: "containerd://" + sum(p.Namespace+p.Name+c.Name),
		Ready: true, Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: born()}},
		AllocatedResources: c.Resources.Requests, Resources: &c.Resources,
	}
	for _, m := range c.VolumeMounts {
		s.VolumeMounts = append(s.VolumeMounts, corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly})
	}
	return s
}

func probe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
	}
}
