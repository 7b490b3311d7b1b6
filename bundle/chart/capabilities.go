package chart

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/client-go/kubernetes/scheme"
)

// kubeVersion is the version of the cluster as templates see it; a chart that
// is not for it is refused.
func kubeVersion(c *helm.Chart, version string) (common.KubeVersion, error) {
	parsed, err := common.ParseKubeVersion(version)
	if err != nil {
		return common.KubeVersion{}, fmt.Errorf("read version %q of Kubernetes: %w", version, err)
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, parsed.String()) {
		return common.KubeVersion{}, fmt.Errorf("the chart is for Kubernetes %s, airgap.yaml has %s", want, version)
	}
	return *parsed, nil
}

// served lists the APIs of a cluster after the chart's definitions were
// applied. Kubernetes' own are the stable ones: others are off by default, and
// the client library still knows many that are gone.
func served(c *helm.Chart, others []string) (common.VersionSet, error) {
	set := common.VersionSet{
		"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1/CustomResourceDefinition",
		"apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1/APIService",
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		version := gvk.GroupVersion().String()
		if gvk.Version == "__internal" || strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") {
			continue
		}
		set = append(set, version, version+"/"+gvk.Kind)
	}
	own, err := definitions(c)
	if err != nil {
		return nil, err
	}
	for _, o := range own {
		set = append(set, o.Defines()...)
	}
	set = append(set, others...)
	slices.Sort(set)
	return slices.Compact(set), nil
}
