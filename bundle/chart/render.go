package chart

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"airgap.dev/airgap/bundle/workload"
)

// Release has the parameters of a rendering.
type Release struct {
	Name, Namespace string
	KubeVersion     string // "1.36.3"
	// APIs lists the APIs of the cluster in addition to those of Kubernetes and of the
	// chart: "example.com/v1", "example.com/v1/Shop".
	APIs   []string
	Values map[string]any

	// For trials.
	only  map[string]bool // templates to render; nil for all
	quick bool            // replace slow functions
}

// Rendered is the result of a rendering.
type Rendered struct {
	Objects []workload.Object // in the order of the chart; workload.Installed sorts them
	Images  []workload.Ref    // from annotations
	// Unjudged has sentences about charts with values that were not validated.
	Unjudged []string
	// Notices has sentences about mistakes that Helm ignores.
	Notices []string
}

// maxRendered limits the output of the templates, in bytes.
const maxRendered = 64 << 20

// Render renders the chart at least twice, with times one year apart, and fails if the
// results differ.
func (c *Chart) Render(r Release) (*Rendered, error) {
	rendered, err := c.rendered(r)
	if err != nil {
		return nil, fmt.Errorf("render chart %s %s: %w", c.Name, c.Version, err)
	}
	return rendered, nil
}

func (c *Chart) rendered(r Release) (*Rendered, error) {
	first, differ, err := c.renderTwice(r)
	if err != nil {
		return nil, err
	}
	if len(differ) > 0 {
		return nil, c.unstable(r, first, differ)
	}
	file, err := first.objects()
	if err != nil {
		return nil, err
	}
	images, err := annotated(first.chart)
	notices := append(first.notices, file.Notices...)
	return &Rendered{Objects: file.Objects, Images: images, Unjudged: first.unjudged, Notices: append(c.notices, notices...)}, err
}

// renderTwice renders with two times and returns the differences. It renders a chart that
// draws from a small range more often, until there is a difference.
func (c *Chart) renderTwice(r Release) (*rendering, []difference, error) {
	drawn := &draws{now: epoch()}
	first, err := c.render(r, drawn)
	if err != nil {
		return nil, nil, err
	}
	var differ []difference
	for n := 1; n < 2 || drawn.few && n < maxRenderings && len(differ) == 0; n++ {
		other, err := c.render(r, &draws{rendering: n, now: epoch().AddDate(n, 1, 1).Add(3*time.Hour + 7*time.Second)})
		if err != nil {
			return nil, nil, err
		}
		differ = first.differences(other, r.Namespace)
	}
	return first, differ, nil
}

// epoch is the time of the first rendering.
func epoch() time.Time { return time.Unix(1_700_000_000, 0) }

// rendering is the result of one rendering.
type rendering struct {
	chart     *helm.Chart // without disabled dependencies
	values    map[string]any
	documents map[string][]workload.Document // installed documents, by template

	notices, unjudged []string
}

func (c *Chart) render(r Release, drawn *draws) (*rendering, error) {
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
	if r.only != nil {
		trim(loaded, r.only)
	}
	apis, err := served(loaded, version, r.APIs)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	caps := &common.Capabilities{KubeVersion: version, APIVersions: apis, HelmVersion: common.DefaultCapabilities.HelmVersion}
	// Skip Helm's validation, because it fetches the references of a schema.
	top, err := util.ToRenderValuesWithSchemaValidation(loaded, values, release, caps, true)
	if err != nil {
		return nil, err
	}
	merged, err := top.Table("Values")
	if err != nil {
		return nil, err
	}
	unjudged, err := validateAll(loaded, merged)
	if err != nil {
		return nil, err
	}
	// This engine has no cluster for lookup and no DNS for getHostByName.
	e := engine.Engine{CustomTemplateFuncs: drawn.functions()}
	if r.quick {
		maps.Copy(e.CustomTemplateFuncs, quick())
	}
	files, err := e.Render(loaded, top)
	if err != nil {
		return nil, templateError(err)
	}
	done := &rendering{chart: loaded, values: merged, documents: map[string][]workload.Document{}, unjudged: unjudged}
	return done, done.take(files)
}

// take adds the installed documents of the rendered files.
func (r *rendering) take(files map[string]string) error {
	size := 0
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if size += len(files[name]); size > maxRendered {
			return fmt.Errorf("%s: the output of the templates is larger than %d bytes", name, maxRendered)
		}
		if !isManifest(name) {
			continue
		}
		documents, notices, err := installed(name, files[name])
		r.documents[name] = documents
		r.notices, errs = append(r.notices, notices...), append(errs, err)
	}
	return errors.Join(errs...)
}

// chartError matches the place in a template and the message of fail or required.
var chartError = regexp.MustCompile(`(?s)^execution error at \((.+?)\): (.*)$`)

// templateError returns an error of Helm's engine in one line.
func templateError(err error) error {
	if m := chartError.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s: the chart refuses these values: %s", m[1], oneLine(m[2]))
	}
	return errors.New(oneLine(err.Error()))
}

// clone copies values, so that a rendering cannot change the values of the next.
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

// objects parses the rendered documents. Definitions come first.
func (r *rendering) objects() (workload.File, error) {
	defined, errDefined := definitions(r.chart)
	var all []workload.Document
	for _, name := range slices.Sorted(maps.Keys(r.documents)) {
		all = append(all, r.documents[name]...)
	}
	rendered, err := workload.ReadAll(all)
	return workload.File{Objects: append(defined.Objects, rendered.Objects...), Notices: append(defined.Notices, rendered.Notices...)}, errors.Join(errDefined, err)
}

// Definitions returns the objects below crds/ of the chart and of the dependencies that the
// values enable.
func (c *Chart) Definitions(r Release) ([]workload.Object, error) {
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, clone(r.Values)); err != nil {
		return nil, err
	}
	f, err := definitions(loaded)
	return f.Objects, err
}

// definitions returns the objects below crds/, which are not templates. Helm parses them as
// kubectl does.
func definitions(c *helm.Chart) (workload.File, error) {
	var all workload.File
	var errs []error
	for _, crd := range c.CRDObjects() {
		f, err := workload.Read(crd.Filename, crd.File.Data)
		all.Objects, all.Notices, errs = append(all.Objects, f.Objects...), append(all.Notices, f.Notices...), append(errs, err)
	}
	return all, errors.Join(errs...)
}
