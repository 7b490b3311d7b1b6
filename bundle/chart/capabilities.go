package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// kubeVersion returns the version of the cluster for templates. It fails if the chart
// does not support this version.
func kubeVersion(c *helm.Chart, version string) (common.KubeVersion, error) {
	parsed, err := common.ParseKubeVersion(version)
	if err != nil {
		return common.KubeVersion{}, fmt.Errorf("parse the Kubernetes version %q: %w", version, err)
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, parsed.String()) {
		return common.KubeVersion{}, fmt.Errorf("the chart requires Kubernetes %s, but airgap.yaml has %s", want, version)
	}
	return *parsed, nil
}

// served returns the APIs of a cluster of this version with the chart's definitions, and
// others: "apps/v1" and "apps/v1/Deployment", as Helm lists them from the discovery of an
// API server.
func served(c *helm.Chart, version common.KubeVersion, others []string) (common.VersionSet, error) {
	minor, err := strconv.Atoi(version.Minor)
	if err != nil {
		return nil, fmt.Errorf("parse the Kubernetes minor version %q: %w", version.Minor, err)
	}
	set := common.VersionSet{
		"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1/CustomResourceDefinition",
		"apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1/APIService",
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if isServed(gvk, minor) {
			set = append(set, gvk.GroupVersion().String(), gvk.GroupVersion().String()+"/"+gvk.Kind)
		}
	}
	own, err := definitions(c)
	if err != nil {
		return nil, err
	}
	for _, o := range own.Objects {
		set = append(set, o.Defines()...)
	}
	set = append(set, others...)
	slices.Sort(set)
	return slices.Compact(set), nil
}

// offByDefault is the first minor version in which new beta APIs are disabled by default
// (KEP-3136). Older beta APIs are served until they are removed.
const offByDefault = 24

// isServed reports whether an API server of 1.minor serves a kind by default. The types have
// methods with the versions of their introduction and removal.
func isServed(gvk schema.GroupVersionKind, minor int) bool {
	object, err := scheme.Scheme.New(gvk)
	if err != nil || strings.HasSuffix(gvk.Kind, "List") {
		return false
	}
	since, is := object.(interface{ APILifecycleIntroduced() (int, int) })
	if !is {
		return false // ListOptions, WatchEvent and so on
	}
	_, introduced := since.APILifecycleIntroduced()
	if introduced > minor || strings.Contains(gvk.Version, "alpha") {
		return false
	}
	if until, has := object.(interface{ APILifecycleRemoved() (int, int) }); has {
		if _, removed := until.APILifecycleRemoved(); removed <= minor {
			return false
		}
	}
	// Priority and fairness was enabled as a beta before 1.24, and so are its later betas.
	return !strings.Contains(gvk.Version, "beta") || introduced < offByDefault || gvk.Group == "flowcontrol.apiserver.k8s.io"
}
