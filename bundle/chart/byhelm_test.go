package chart_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	helmchart "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/workload"
)

func byAirgap(archive []byte, text string) (objects, notices []string, err error) {
	c, err := chart.Open(archive)
	if err != nil {
		return nil, nil, err
	}
	r := forTest()
	if r.Values, _, err = chart.Values("v.yaml", []byte(text)); err != nil {
		return nil, nil, err
	}
	rendered, err := c.Render(r)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range workload.Installed(rendered.Objects) {
		objects = append(objects, shown(o.Object))
	}
	return objects, rendered.Notices, nil
}

// byHelm renders with Helm, as helm template does, with the hooks of an installation.
func byHelm(t *testing.T, archive []byte, text string) ([]string, error) {
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	must(t, err)
	if err := action.CheckDependencies(loaded, asDependencies(loaded)); err != nil {
		return nil, err
	}
	values, err := loader.LoadValues(strings.NewReader(text))
	must(t, err)
	config := action.NewConfiguration(action.ConfigurationSetLogger(slog.NewTextHandler(io.Discard, nil)))
	install := action.NewInstall(config)
	install.DryRunStrategy, install.Replace, install.IncludeCRDs = action.DryRunClient, true, true
	install.ReleaseName, install.Namespace = forTest().Name, forTest().Namespace
	install.KubeVersion, err = common.ParseKubeVersion(forTest().KubeVersion)
	must(t, err)
	install.APIVersions = common.VersionSet{"apps/v1/Deployment", "example.com/v1", "example.com/v1/Shop"}
	done, err := install.Run(loaded, values)
	if err != nil {
		return nil, err
	}
	result := done.(*release.Release)
	all, err := applied(result.Manifest)
	for _, h := range result.Hooks {
		if slices.Contains(h.Events, release.HookPreInstall) || slices.Contains(h.Events, release.HookPostInstall) {
			more, errHook := applied(h.Manifest)
			if all = append(all, more...); err == nil {
				err = errHook
			}
		}
	}
	return all, err
}

func asDependencies(c *helm.Chart) []helmchart.Dependency {
	var all []helmchart.Dependency
	for _, d := range c.Metadata.Dependencies {
		all = append(all, d)
	}
	return all
}

// applied returns the objects of a manifest as Helm's client for Kubernetes reads them.
func applied(manifest string) ([]string, error) {
	var all []string
	for d := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096); ; {
		var raw runtime.RawExtension
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue
		}
		decoded, _, err := unstructured.UnstructuredJSONScheme.Decode(raw.Raw, nil, nil)
		if err != nil {
			return nil, err
		}
		switch o := decoded.(type) {
		case *unstructured.UnstructuredList:
			for _, item := range o.Items {
				all = append(all, shown(item.Object))
			}
		case *unstructured.Unstructured:
			all = append(all, shown(o.Object))
		}
	}
}

// shown returns an object as text, without empty annotations, which airgap omits.
func shown(object map[string]any) string {
	o := (&unstructured.Unstructured{Object: object}).DeepCopy()
	if all, is := o.Object["metadata"].(map[string]any)["annotations"].(map[string]any); is {
		maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	}
	delete(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "spec", "ttlSecondsAfterFinished")
	return fmt.Sprint(o.Object)
}

func compare(t *testing.T, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if !reflect.DeepEqual(want, got) {
		t.Errorf("Helm has\n%s\nairgap has\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}
