package gpu

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// RequestsGPU reports whether a pod requests GPUs or MIG instances.
func RequestsGPU(pod corev1.PodSpec) bool {
	for _, c := range append(append([]corev1.Container{}, pod.InitContainers...), pod.Containers...) {
		for name := range c.Resources.Limits {
			if strings.HasPrefix(string(name), "nvidia.com/") {
				return true
			}
		}
	}
	return false
}
