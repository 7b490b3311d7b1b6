package kubeadm

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// SameVersion refuses a configuration of another Kubernetes than this control-plane
// host runs. Hosts of a cluster change their version in an order, with its pods
// moved out of the way: that is airgap upgrade's. A host that is no node yet runs none.
func SameVersion(m Machine, c Config) error {
	joined, err := m.Joined()
	if err != nil || !joined {
		return err
	}
	tag, err := m.runs()
	if err != nil || tag == c.Tag() {
		return err
	}
	return &Failure{
		What: "install Kubernetes " + c.Tag(), Err: fmt.Errorf("this cluster runs %s", tag),
		Next: "airgap upgrade DIR takes a cluster to another version; nothing was changed",
	}
}

// SameEndpoint refuses a configuration that has the API servers elsewhere: the
// endpoint is in every certificate and in every kubelet's configuration.
func SameEndpoint(m Machine, c Config) error {
	joined, err := m.Joined()
	if err != nil || !joined {
		return err
	}
	config, err := m.RESTConfig(AdminConf)
	if err != nil {
		return err
	}
	at, err := url.Parse(config.Host)
	if err != nil || at.Host == c.ControlPlaneEndpoint {
		return err
	}
	return &Failure{
		What: "reach the API servers at " + c.ControlPlaneEndpoint, Err: fmt.Errorf("this cluster has them at %s, on every node", at.Host),
		Next: "have kubernetes.controlPlaneEndpoint: " + at.Host + " in airgap.yaml; a balancer can take that address over",
	}
}

// runs is the tag of the API server's image here, such as v1.36.3.
func (m Machine) runs() (string, error) {
	text, err := os.ReadFile(m.path(manifestOf(APIServer)))
	if err != nil {
		return "", fmt.Errorf("find the cluster's version: %w", err)
	}
	var pod corev1.Pod
	if err := yaml.Unmarshal(text, &pod); err != nil || len(pod.Spec.Containers) == 0 {
		return "", fmt.Errorf("find the cluster's version: %s is no pod: %w", manifestOf(APIServer), err)
	}
	image, _, _ := strings.Cut(pod.Spec.Containers[0].Image, "@")
	return image[strings.LastIndex(image, ":")+1:], nil
}
