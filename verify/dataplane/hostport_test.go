package dataplane_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/dataplane/deploy"
)

// hostPort is a port that the pods can have.
const hostPort = 10479

// otherRights: with a host port the namespace has no profile, and the policy refuses the same pods.
func otherRights(t *testing.T, admin kubernetes.Interface) {
	set, err := admin.AppsV1().DaemonSets(dataplane.Namespace).Get(t.Context(), dataplane.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	try := func(change func(*corev1.PodSpec, *corev1.Container)) error {
		pod := podOf(set, "other", "w1")
		pod.Spec = *pod.Spec.DeepCopy()
		change(&pod.Spec, &pod.Spec.Containers[0])
		_, err := admin.CoreV1().Pods(dataplane.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	denied := func(err error) bool {
		return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "airgap-airgap-system-pods") && strings.Contains(err.Error(), "of this namespace")
	}
	onHost := func(s *corev1.PodSpec, _ *corev1.Container) { s.HostPID = true }
	// A policy becomes effective a moment after it was created.
	for began := time.Now(); !denied(try(onHost)); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("a minute after the policy was created: %v", try(onHost))
		}
	}
	no, zero := false, int64(0)
	for name, change := range map[string]func(*corev1.PodSpec, *corev1.Container){
		"the host's network": func(s *corev1.PodSpec, c *corev1.Container) {
			s.HostNetwork, c.Ports[0].HostPort = true, c.Ports[0].ContainerPort
		},
		"the host's memory": func(s *corev1.PodSpec, _ *corev1.Container) { s.HostIPC = true },
		"the host's files": func(s *corev1.PodSpec, _ *corev1.Container) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
		},
		"another host port":   func(_ *corev1.PodSpec, c *corev1.Container) { c.Ports[0].HostPort = 443 },
		"root":                func(s *corev1.PodSpec, _ *corev1.Container) { s.SecurityContext.RunAsUser = &zero },
		"root in a container": func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.RunAsUser = &zero },
		"perhaps root":        func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.RunAsNonRoot = &no },
		"no seccomp":          func(s *corev1.PodSpec, _ *corev1.Container) { s.SecurityContext.SeccompProfile = nil },
		"unconfined": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		},
		"another SELinux type": func(s *corev1.PodSpec, _ *corev1.Container) {
			s.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"}
		},
		"more privileges": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.AllowPrivilegeEscalation = nil
		},
		"more capabilities": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
		},
		"no security context": func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext = nil },
		"a privileged init step": func(s *corev1.PodSpec, c *corev1.Container) {
			s.InitContainers = []corev1.Container{{Name: "init", Image: c.Image}}
		},
	} {
		if err := try(change); !denied(err) {
			t.Errorf("%s: got %v, want the policy's error", name, err)
		}
	}
	if err := try(func(*corev1.PodSpec, *corev1.Container) {}); err != nil {
		t.Errorf("a pod like airgap's: %v", err)
	}
	policy, err := admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), "airgap-airgap-system-pods", metav1.GetOptions{})
	if err != nil || policy.Status.TypeChecking != nil && len(policy.Status.TypeChecking.ExpressionWarnings) > 0 {
		t.Errorf("the policy: %v, %+v", err, policy.Status)
	}
}

// TestNoHostPort: without the test of hostPort the namespace keeps the restricted profile, and the pods
// have no host port.
func TestNoHostPort(t *testing.T) {
	for _, port := range []int{0, hostPort} {
		objects, err := deploy.Objects(image, port, etcdOf)
		if err != nil {
			t.Fatal(err)
		}
		policies, restricted := 0, false
		for _, o := range objects {
			switch o.GetKind() {
			case "ValidatingAdmissionPolicy":
				policies++
			case "Namespace":
				restricted = o.GetLabels()["pod-security.kubernetes.io/enforce"] == "restricted"
			case "DaemonSet":
				text, err := o.MarshalJSON()
				if !strings.Contains(string(text), `{"name":"ETCD_MEMBERS","value":"w1 w2"},{"name":"ETCD_ELECTION_TIMEOUT","value":"1s"}`) {
					t.Errorf("the members of etcd are missing: %s", text)
				}
				if err != nil || strings.Contains(string(text), `"hostPort"`) != (port > 0) || strings.Contains(string(text), `"HOST_PORT"`) != (port > 0) {
					t.Errorf("with port %d: got %s, %v", port, text, err)
				}
			}
		}
		if restricted != (port == 0) || policies != map[bool]int{true: 1, false: 2}[port == 0] {
			t.Errorf("with port %d: the profile is restricted %v, %d policies", port, restricted, policies)
		}
	}
}
