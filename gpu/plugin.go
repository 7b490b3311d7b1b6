package gpu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
)

// Names of NVIDIA's device plugin, and of the label and the RuntimeClass for nodes and pods.
const (
	PluginNamespace = "kube-system"
	PluginName      = "nvidia-device-plugin" // of DaemonSet and ConfigMap
	// LabelGPU is the label of nodes on which the plugin runs; its value is "true".
	LabelGPU = "airgap.dev/gpu"
	// RuntimeClass is for pods that require nvidia-container-runtime. The runtimes have a handler of
	// this name.
	RuntimeClass = "nvidia"
)

// Plugin is NVIDIA's device plugin. It registers GPUs with the kubelets and allocates them through CDI.
type Plugin struct {
	Image       string // NAME:TAG@DIGEST
	MIGStrategy string // none, single or mixed; "" is none
	TimeSlices  int    // number of pods that share a GPU; 0 and 1: one pod
}

// Objects returns the plugin's RuntimeClass, ConfigMap and DaemonSet. The pods have the hash of the
// configuration, so that a new configuration restarts them.
func (p Plugin) Objects() ([]*unstructured.Unstructured, error) {
	config, err := p.config()
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(config)
	return manifests.Render("nvidia-device-plugin.yaml", map[string]any{
		"Namespace": PluginNamespace, "Name": PluginName, "Image": p.Image, "Label": LabelGPU, "RuntimeClass": RuntimeClass,
		"Config": string(config), "Hash": hex.EncodeToString(hash[:8]),
	})
}

// config returns the plugin's configuration, version v1 (k8s-device-plugin 0.19, api/config/v1). It
// shares whole GPUs, and instances with strategy single, which have the same resource name. It does
// not share mixed instances.
func (p Plugin) config() ([]byte, error) {
	strategy := p.MIGStrategy
	if strategy == "" {
		strategy = "none"
	}
	config := map[string]any{"version": "v1", "flags": map[string]any{"migStrategy": strategy}}
	if p.TimeSlices > 1 {
		config["sharing"] = map[string]any{"timeSlicing": map[string]any{
			"resources": []any{map[string]any{"name": "nvidia.com/gpu", "replicas": p.TimeSlices}},
		}}
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the device plugin's configuration: %w", err)
	}
	return append(text, '\n'), nil
}

// PluginStep applies the plugin to the cluster of connect. It calls plugin when the step runs. A reset
// of the hosts removes the plugin.
func PluginStep(plugin func() (Plugin, error), connect func() (*rest.Config, error)) step.Step {
	applied := manifests.Applied{
		Connect: connect,
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) {
			p, err := plugin()
			if err != nil {
				return nil, err
			}
			return p.Objects()
		},
	}
	return applied.Step("gpu-plugin", "Deploy NVIDIA's device plugin")
}
