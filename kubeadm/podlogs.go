package kubeadm

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"airgap.dev/airgap/kubeadm/runtime"
)

// PodLogBytes is the largest size of the log files of containers on a node, with one container in each
// pod: the kubelet keeps containerLogMaxFiles files of containerLogMaxSize for each container.
func PodLogBytes(c Config, f runtime.Facts) int64 {
	settings := kubelet(c, f)
	size := resource.MustParse("10Mi")
	if text, is := settings["containerLogMaxSize"].(string); is {
		if parsed, err := resource.ParseQuantity(text); err == nil && parsed.Value() > 0 {
			size = parsed
		}
	}
	return size.Value() * numberOr(settings["containerLogMaxFiles"], 5) * numberOr(settings["maxPods"], 110)
}

// numberOr is a positive number from YAML or JSON, or the kubelet's default.
func numberOr(value any, byDefault int64) int64 {
	var n int64
	if _, err := fmt.Sscan(fmt.Sprint(value), &n); err != nil || n <= 0 || n > 1<<20 {
		return byDefault
	}
	return n
}
