package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
)

// networkNeed returns the source of the pod network; nil if it needs none.
func networkNeed(c *config.Cluster) (*bundle.AddonNeed, error) {
	from := cni.From(c.Network, c.PodCluster(""))
	if from.Empty() {
		return nil, nil
	}
	need := &bundle.AddonNeed{Name: c.Network.Plugin, Namespace: from.Namespace, Manifests: from.Manifests}
	if from.Chart != nil {
		values, err := json.Marshal(from.Chart.Values)
		if err != nil {
			return nil, fmt.Errorf("write the values of chart %s: %w", from.Chart.Name, err)
		}
		need.Chart = &bundle.ChartNeed{Repository: from.Chart.Repository, Name: from.Chart.Name, Version: from.Chart.Version, Path: from.Chart.Path}
		need.Values.Text = values
	}
	return need, nil
}

// checkNetworkSource checks the version at the source of the pod network before airgap
// resolves images of a wrong version, or an older chart fails on values of other types.
func checkNetworkSource(ctx context.Context, client *fetch.Client, c *config.Cluster, dir string) error {
	stated := cni.SourceOf(c.Network)
	var objects []*unstructured.Unstructured
	version := ""
	switch {
	case stated.Manifest != "":
		found, err := bundle.ManifestAt(ctx, client, dir, stated.Manifest)
		if err != nil {
			return fmt.Errorf("network %s: %w", c.Network.Plugin, err)
		}
		for _, o := range found {
			objects = append(objects, o.Unstructured)
		}
	case stated.Chart != "":
		chart, err := bundle.ChartAt(dir, stated.Chart)
		if err != nil {
			return nil //nolint:nilerr // the plan reports it, with all other problems
		}
		version = chart.Version
	}
	if err := cni.CheckSource(c.Network, objects, version); err != nil {
		return fmt.Errorf("network %s: %w", c.Network.Plugin, err)
	}
	return nil
}

// checkNetwork renders the pod network's objects from the fetched files, as install does. A
// patch that no longer applies fails here, where another version can still be fetched.
func checkNetwork(c *config.Cluster, surveyed []*facts.Facts, plan *bundle.Plan) error {
	fetched, err := manifests.Parse(plan.NetworkObjects())
	if err != nil {
		return fmt.Errorf("read the fetched manifests of %s: %w", c.Network.Plugin, err)
	}
	objects, err := cni.Objects(c.Network, c.PodCluster(plannedProxyMode(c, surveyed)), fetched)
	if err != nil {
		return advice.Add(fmt.Errorf("render the pod network %s: %w", c.Network.Plugin, err), "run airgap schema to see the fields of network.%s", c.Network.Plugin)
	}
	return checkImages(objects, plan.Lock)
}

// checkImages checks that the lock has every image of the objects: a patch must not add an
// image that is not in the bundle.
func checkImages(objects []*unstructured.Unstructured, l bundle.Lock) error {
	all := make([]workload.Object, len(objects))
	for i, o := range objects {
		all[i] = workload.Object{Unstructured: o, At: "network"}
	}
	refs, err := workload.Images(all, "")
	if err != nil {
		return err
	}
	for _, ref := range refs {
		name, err := bundle.FullName(ref.Image)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(l.Images, func(i bundle.Image) bool { return i.Name == name }) {
			return fmt.Errorf("%s needs image %s, which is not in the lock", ref.Where, name)
		}
	}
	return nil
}

// plannedProxyMode returns kube-proxy's mode on the first control-plane host, which decides
// for the cluster: from its survey, or else from the defaults of its system.
func plannedProxyMode(c *config.Cluster, surveyed []*facts.Facts) string {
	assumed, _ := preflight.Assumed(c.Packages.OS)
	for _, f := range append(slices.Clone(surveyed), assumed) {
		if f != nil && (f == assumed || belongs(f, c.Master())) {
			return c.Kubernetes.ProxyMode(runtime.Facts{OS: f.OS.Enterprise(), Kernel: f.Kernel.Release})
		}
	}
	return c.Kubernetes.ProxyMode(runtime.Facts{})
}
