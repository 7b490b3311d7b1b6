// Package cni chooses the pod network and brings it to the cluster.
//
// What flows in is the section network of airgap.yaml and what the cluster is
// like; what flows out is what the bundle has to fetch and to carry, the
// objects to apply, and the step that applies them. One file a plugin, behind
// one seam (plugin.go). flannel's YAML is ours and lies in manifests; the other
// plugins' comes from their projects when the bundle is made, and is patched
// here, as objects.
//
// There is no IP-in-IP, under no setting: banks' networks drop protocol 4.
// Only IPv4 for now.
package cni

import (
	"context"
	"fmt"
	"slices"

	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Images are the references that the pod network needs beside those that the
// fetched objects show, by tag as their projects publish them.
func Images(config Config) []string {
	nodes, others := config.plugin().images(config)
	return slices.Concat(nodes, others)
}

// NodeImages are those among the images of the plugin without which a node has no pod network.
func NodeImages(config Config, images []string) []string {
	nodes, _ := config.plugin().images(config)
	return reference.Among(images, nodes...)
}

// From is what the bundle has to fetch of the plugin's project.
func From(config Config, cluster Cluster) Upstream {
	return config.plugin().upstream(config.settled(), cluster)
}

// Objects are what the cluster needs for the pod network, in the order to
// apply. fetched is what was made of Upstream; it is not changed. What does not
// have the shape that is patched here is an error, and so is any IP-in-IP.
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

// Leaves are the traces of every plugin there is: a host is also cleaned when
// nobody can tell any more which one it had.
func Leaves() Traces {
	var all Traces
	for _, p := range plugins() {
		all = all.and(p.traces())
	}
	return all
}

// Links are the network interfaces of the configured plugin, by name; those of
// pods end in *, as there is one a pod.
func Links(config Config) []string { return config.plugin().traces().Links }

// Ports are those that the plugin's programs listen on, on every node.
func Ports(config Config) []Port { return config.plugin().ports(config.settled()) }

// System names what has to run for the pod network to be there: namespaces,
// and workloads in them as "DaemonSet NAMESPACE/NAME".
func System(config Config) (namespaces, workloads []string) { return config.plugin().system(config) }

// Known are configurations of all plugins, by default else, one for each set of
// workloads that there can be.
func Known() []Config {
	var all []Config
	for _, p := range plugins() {
		all = append(all, p.forms()...)
	}
	return all
}

// Fetched reads what was fetched for the plugin out of the bundle; nil where
// nothing was.
type Fetched func(context.Context) ([]*unstructured.Unstructured, error)

// Network is a pod network that is to be brought to a cluster.
type Network struct {
	Config  Config
	Cluster Cluster
	Fetched Fetched
	// Connect is called when the step's turn has come, since there is no API
	// server before.
	Connect func() (*rest.Config, error)
}

// Step applies the objects, unless the cluster has another pod network.
func Step(n Network) step.Step {
	applied := manifests.Applied{
		Connect: n.Connect, Objects: n.objects,
		Refuse: func(ctx context.Context, api *rest.Config) error { return refuseOther(ctx, api, n.Config) },
	}
	return applied.Step("network", "Bring up the pod network ("+n.Config.title()+")")
}

func (n Network) objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var fetched []*unstructured.Unstructured
	if n.Fetched != nil {
		var err error
		if fetched, err = n.Fetched(ctx); err != nil {
			return nil, fmt.Errorf("read what was fetched for %s: %w", n.Config.Plugin, err)
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
