package chart

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"airgap.dev/airgap/bundle/workload"
)

// Release is what a chart is rendered for.
type Release struct {
	Name, Namespace string
	KubeVersion     string // "1.36.3"
	// APIs are served by the cluster beside Kubernetes' own and those that the
	// chart defines itself: "example.com/v1", "example.com/v1/Shop".
	APIs   []string
	Values map[string]any
}

// Rendered is a chart with values.
type Rendered struct {
	Objects []workload.Object // as the chart has them; workload.Installed puts them in order
	Images  []workload.Ref    // of annotations
	// Unjudged are sentences that say which charts' values were not held to a schema.
	Unjudged []string
}

// maxRendered bounds what templates may write, in bytes.
const maxRendered = 64 << 20

// Render renders the chart twice, a year apart, and refuses it unless both
// come out the same.
func (c *Chart) Render(r Release) (*Rendered, error) {
	first, err := c.render(r, time.Unix(1_700_000_000, 0))
	if err != nil {
		return nil, fmt.Errorf("render chart %s %s: %w", c.Name, c.Version, err)
	}
	second, err := c.render(r, time.Unix(1_700_000_000, 0).AddDate(1, 1, 1).Add(3*time.Hour+7*time.Second))
	if err != nil {
		return nil, fmt.Errorf("render chart %s %s: %w", c.Name, c.Version, err)
	}
	if err := first.compare(second, r); err != nil {
		return nil, fmt.Errorf("render chart %s %s: %w", c.Name, c.Version, err)
	}
	objects, err := first.objects()
	if err != nil {
		return nil, fmt.Errorf("render chart %s %s: %w", c.Name, c.Version, err)
	}
	images, err := annotated(first.chart)
	return &Rendered{Objects: objects, Images: images, Unjudged: first.unjudged}, err
}

// rendering is what came out once.
type rendering struct {
	chart *helm.Chart       // without disabled dependencies
	files map[string]string // text by template

	unjudged []string
}

func (c *Chart) render(r Release, now time.Time) (*rendering, error) {
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	version, err := kubeVersion(loaded, r.KubeVersion)
	if err != nil {
		return nil, err
	}
	values := clone(r.Values)
	if err := chartutil.ProcessDependencies(loaded, values); err != nil {
		return nil, err
	}
	apis, err := served(loaded, r.APIs)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	caps := &common.Capabilities{KubeVersion: version, APIVersions: apis, HelmVersion: common.DefaultCapabilities.HelmVersion}
	// Helm's own validation fetches what a schema refers to.
	top, err := util.ToRenderValuesWithSchemaValidation(loaded, values, release, caps, true)
	if err != nil {
		return nil, err
	}
	judged, err := top.Table("Values")
	if err != nil {
		return nil, err
	}
	unjudged, err := judge(loaded, judged)
	if err != nil {
		return nil, err
	}
	// No cluster for lookup, no DNS for getHostByName.
	e := engine.Engine{CustomTemplateFuncs: template.FuncMap{"now": func() time.Time { return now }}}
	files, err := e.Render(loaded, top)
	if err != nil {
		return nil, err
	}
	size := 0
	for name, text := range files {
		if size += len(text); size > maxRendered {
			return nil, fmt.Errorf("%s: the templates write more than %d bytes", name, maxRendered)
		}
	}
	return &rendering{chart: loaded, files: files, unjudged: unjudged}, nil
}

// clone keeps one rendering from changing the values of the next.
func clone(values map[string]any) map[string]any {
	copied := make(map[string]any, len(values))
	for key, value := range values {
		if below, is := value.(map[string]any); is {
			value = clone(below)
		}
		copied[key] = value
	}
	return copied
}

// objects parses what was rendered, definitions first.
func (r *rendering) objects() ([]workload.Object, error) {
	all, err := definitions(r.chart)
	errs := []error{err}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if isNotes(name) {
			continue
		}
		objects, err := workload.Parse(name, []byte(r.files[name]))
		all, errs = append(all, objects...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// definitions are the files below crds/, which are no templates.
func definitions(c *helm.Chart) ([]workload.Object, error) {
	var all []workload.Object
	var errs []error
	for _, crd := range c.CRDObjects() {
		objects, err := workload.Parse(crd.Filename, crd.File.Data)
		all, errs = append(all, objects...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func isNotes(name string) bool {
	return path.Base(name) == "NOTES.txt" || strings.HasPrefix(path.Base(name), "_")
}
