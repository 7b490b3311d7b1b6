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

// Where NVIDIA's device plugin runs, and what nodes and pods are told by.
const (
	PluginNamespace = "kube-system"
	PluginName      = "nvidia-device-plugin" // of DaemonSet and ConfigMap
	// LabelGPU is on nodes whose cards the plugin gives out: "true".
	LabelGPU = "airgap.dev/gpu"
	// RuntimeClass is for pods that want nvidia-container-runtime itself. The
	// runtimes have a handler of this name.
	RuntimeClass = "nvidia"
)

// Plugin is NVIDIA's device plugin, which tells the kubelets of cards and gives
// them out by CDI.
type Plugin struct {
	Image       string // NAME:TAG@DIGEST
	MIGStrategy string // none, single or mixed; "" is none
	TimeSlices  int    // how many pods get each card in turn; 0 and 1: one alone
}

// Objects are the plugin's: RuntimeClass, ConfigMap, DaemonSet. The pods carry the
// configuration's hash, so that a new one restarts them.
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

// config is the plugin's file, version v1 (k8s-device-plugin 0.19, api/config/v1).
// It knows shares of a whole card and, where cards are divided alike, of an
// instance, which then has the same name; mixed instances are not shared.
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

// PluginStep brings the plugin to the cluster that connect leads to. plugin is asked
// for when the step's turn has come. A reset of the hosts takes it back.
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
	return applied.Step("gpu-plugin", "Have the kubelets give out GPUs")
}
