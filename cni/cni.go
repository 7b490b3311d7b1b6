// Package cni configures the pod network and applies it to the cluster.
//
// The input is the section network of airgap.yaml and the properties of the cluster. The output is the
// downloads and images of the bundle, the objects to apply, and the step that applies them. Each plugin
// is a file that implements one interface (plugin.go). airgap has its own YAML for flannel in package
// manifests. The YAML of the other plugins comes from their projects when the bundle is built, and this
// package patches the objects.
//
// The package never uses IP-in-IP, because networks of banks drop protocol 4. It supports only IPv4.
package cni

import (
	"context"
	"fmt"
	"path"
	"slices"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Images returns the image references that the pod network needs in addition to those in the fetched
// objects, with the tags of their projects.
func Images(config Config) []string {
	nodes, others := config.plugin().images(config)
	return slices.Concat(nodes, others)
}

// NodeImages returns the images that every node needs for the pod network.
func NodeImages(config Config, images []string) []string {
	nodes, _ := config.plugin().images(config)
	return reference.Among(images, nodes...)
}

// From returns the downloads from the plugin's project for the bundle.
func From(config Config, cluster Cluster) Upstream {
	return config.plugin().upstream(config.settled(), cluster)
}

// Objects returns the objects of the pod network, in the order to apply. fetched are the objects from
// Upstream; Objects does not change them. It returns an error if the objects do not have the structure
// that it patches, or if they use IP-in-IP.
func Objects(config Config, cluster Cluster, fetched []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if _, err := parseSubnet(cluster.PodSubnet); err != nil {
		return nil, err
	}
	objects, err := config.plugin().objects(config.settled(), cluster, copies(fetched))
	if err != nil {
		return nil, err
	}
	return objects, refuseIPIP(objects)
}

// AllTraces returns the host artifacts of all plugins, because a reset cannot always know the plugin of the host.
func AllTraces() Traces {
	var all Traces
	for _, p := range plugins() {
		all = all.and(p.traces())
	}
	return all
}

// ConfFiles returns the names of the files that the plugins write to the runtime's network directory.
// The pods of an earlier airgap wrote them to host.SharedCNIDir.
func ConfFiles() []string {
	var names []string
	for _, p := range AllTraces().Paths {
		if path.Dir(p) == host.SharedCNIDir {
			names = append(names, path.Base(p))
		}
	}
	return names
}

// Links returns the names of the configured plugin's network interfaces. A name ending in * stands for
// one interface per pod.
func Links(config Config) []string { return config.plugin().traces().Links }

// Tunnel returns the name of the configured plugin's VXLAN interface.
func Tunnel(config Config) string { return config.plugin().traces().Links[0] }

// Ports returns the ports on which the plugin's programs listen on every node.
func Ports(config Config) []Port { return config.plugin().ports(config.settled()) }

// System returns the namespaces and workloads that must run for the pod network. A workload is
// "DaemonSet NAMESPACE/NAME".
func System(config Config) (namespaces, workloads []string) { return config.plugin().system(config) }

// AllConfigs returns configurations of all plugins, one for each possible set of workloads, otherwise with
// defaults.
func AllConfigs() []Config {
	var all []Config
	for _, p := range plugins() {
		all = append(all, p.forms()...)
	}
	return all
}

// Fetched reads the plugin's fetched objects from the bundle; nil if the plugin has none.
type Fetched func(context.Context) ([]*unstructured.Unstructured, error)

// Network has the inputs of Step.
type Network struct {
	Config  Config
	Cluster Cluster
	Fetched Fetched
	// Connect is called when the step runs, because the API server does not exist before.
	Connect func() (*rest.Config, error)
}

// Step applies the objects, unless the cluster has another pod network.
func Step(n Network) step.Step {
	applied := manifests.Applied{
		Connect: n.Connect, Objects: n.objects,
		Refuse: func(ctx context.Context, api *rest.Config) error { return refuseOther(ctx, api, n.Config) },
	}
	return applied.Step("network", "Apply the pod network ("+n.Config.title()+")")
}

func (n Network) objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var fetched []*unstructured.Unstructured
	if n.Fetched != nil {
		var err error
		if fetched, err = n.Fetched(ctx); err != nil {
			return nil, fmt.Errorf("read the fetched objects of %s: %w", n.Config.Plugin, err)
		}
	}
	return Objects(n.Config, n.Cluster, fetched)
}

func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		all[i] = o.DeepCopy()
	}
	return all
}
