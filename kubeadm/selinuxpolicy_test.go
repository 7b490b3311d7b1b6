package kubeadm

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/host/selinuxtest"
	"airgap.dev/airgap/kubeadm/node"
)

// hostMount is a directory or file of the host in a container of airgap's.
type hostMount struct {
	pod, domain, path string
	file, readOnly    bool
}

// TestSELinuxPolicy asks a policy whether the containers that airgap or kubeadm starts may use the host's
// files that are mounted into them: those of flannel's DaemonSet, airgap's volumes of the API server, and
// etcd's data. A container without seLinuxOptions runs as container_t.
func TestSELinuxPolicy(t *testing.T) {
	p := selinuxtest.Named(t)
	for _, m := range slices.Concat(flannelMounts(t), controlPlaneMounts(t)) {
		kind := "dir"
		if m.file {
			kind = "file"
		}
		of := p.TypeOf(t, strings.Replace(m.path, "/run/", "/var/run/", 1), kind)
		if denied := p.Denied(t, "container_runtime_t", m.domain, "process", "transition"); len(denied) > 0 {
			t.Errorf("%s: the runtime may not start containers as %s", m.pod, m.domain)
		}
		for class, permissions := range wantedOn(m) {
			if denied := p.Denied(t, m.domain, of, class, permissions...); len(denied) > 0 {
				t.Errorf("%s: %s has no access to %s (%s:%s): %v", m.pod, m.domain, m.path, of, class, denied)
			}
		}
		t.Logf("%s, as %s: %s has type %s", m.pod, m.domain, m.path, of)
	}
}

// wantedOn returns the permissions by class that a mount needs.
func wantedOn(m hostMount) map[string][]string {
	switch {
	case m.readOnly && m.file:
		return map[string][]string{"file": {"read", "open"}}
	case m.readOnly:
		return map[string][]string{"dir": {"read", "search"}, "file": {"read", "open"}}
	case m.file:
		return map[string][]string{"file": {"read", "open", "write", "lock"}}
	}
	return map[string][]string{"dir": {"read", "search", "write", "add_name", "remove_name"}, "file": {"read", "open", "write", "create", "unlink"}}
}

func flannelMounts(t *testing.T) []hostMount {
	t.Helper()
	config := cni.Config{}
	config.Default()
	objects, err := cni.Objects(config, cni.Cluster{PodSubnet: "10.244.0.0/16", Nodes: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []hostMount
	for _, o := range objects {
		if o.GetKind() != "DaemonSet" {
			continue
		}
		pod := podOf(t, o)
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			all = append(all, mountsOf(o.GetName()+"/"+c.Name, pod, c)...)
		}
	}
	if len(all) == 0 {
		t.Fatal("flannel mounts nothing")
	}
	return all
}

func podOf(t *testing.T, o *unstructured.Unstructured) corev1.PodSpec {
	t.Helper()
	spec, _, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	var pod corev1.PodSpec
	if err == nil {
		err = k8sruntime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func mountsOf(name string, pod corev1.PodSpec, c corev1.Container) []hostMount {
	domain := "container_t"
	if s := pod.SecurityContext; s != nil && s.SELinuxOptions != nil {
		domain = s.SELinuxOptions.Type
	}
	var all []hostMount
	for _, at := range c.VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name == at.Name && v.HostPath != nil {
				file := v.HostPath.Type != nil && strings.HasPrefix(string(*v.HostPath.Type), "File")
				all = append(all, hostMount{name, domain, v.HostPath.Path, file, at.ReadOnly})
			}
		}
	}
	return all
}

// controlPlaneMounts returns airgap's volumes of the API server, and etcd's data, which kubeadm mounts.
func controlPlaneMounts(t *testing.T) []hostMount {
	t.Helper()
	var pod corev1.Pod
	if err := yaml.Unmarshal([]byte(podPatch), &pod); err != nil {
		t.Fatal(err)
	}
	domain := pod.Spec.SecurityContext.SELinuxOptions.Type
	all := []hostMount{{"etcd", domain, node.EtcdDir, false, false}, {"kube-apiserver", domain, "/etc/kubernetes/pki", false, true}}
	for _, item := range apiServerVolumes(section(t, `version: 1.36.3`)) {
		v := item.(object)
		readOnly, _ := v["readOnly"].(bool)
		path, _ := v["hostPath"].(string)
		all = append(all, hostMount{"kube-apiserver", domain, path, v["pathType"] == "File", readOnly})
	}
	return all
}
