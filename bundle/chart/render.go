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

// Release is what a chart is rendered for.
type Release struct {
	Name, Namespace string
	KubeVersion     string // "1.36.3"
	// APIs are served by the cluster beside Kubernetes' own and those that the
	// chart defines itself: "example.com/v1", "example.com/v1/Shop".
	APIs   []string
	Values map[string]any

	// For trials.
	only  map[string]bool // templates that are rendered; nil for all
	quick bool            // nothing is made that takes long
}

// Rendered is a chart with values.
type Rendered struct {
	Objects []workload.Object // as the chart has them; workload.Installed puts them in order
	Images  []workload.Ref    // of annotations
	// Unjudged are sentences that say which charts' values were not held to a schema.
	Unjudged []string
	// Notices are sentences about mistakes that Helm tolerates.
	Notices []string
}

// maxRendered bounds what templates may write, in bytes.
const maxRendered = 64 << 20

// Render renders the chart twice, a year apart, and refuses it unless both
// come out the same.
func (c *Chart) Render(r Release) (*Rendered, error) {
	rendered, err := c.rendered(r)
	if err != nil {
		return nil, fmt.Errorf("render chart %s %s: %w", c.Name, c.Version, err)
	}
	return rendered, nil
}

func (c *Chart) rendered(r Release) (*Rendered, error) {
	first, differ, err := c.twice(r)
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

// twice renders at two times, and returns the differences. A chart that draws from
// few values is rendered more often, until there is a difference.
func (c *Chart) twice(r Release) (*rendering, []difference, error) {
	drawn := &chance{now: epoch()}
	first, err := c.render(r, drawn)
	if err != nil {
		return nil, nil, err
	}
	var differ []difference
	for n := 1; n < 2 || drawn.few && n < maxRenderings && len(differ) == 0; n++ {
		other, err := c.render(r, &chance{rendering: n, now: epoch().AddDate(n, 1, 1).Add(3*time.Hour + 7*time.Second)})
		if err != nil {
			return nil, nil, err
		}
		differ = first.differences(other, r.Namespace)
	}
	return first, differ, nil
}

// epoch is the time of the first rendering.
func epoch() time.Time { return time.Unix(1_700_000_000, 0) }

// rendering is what came out once.
type rendering struct {
	chart     *helm.Chart // without disabled dependencies
	values    map[string]any
	documents map[string][]workload.Document // that are installed, by template

	notices, unjudged []string
}

func (c *Chart) render(r Release, drawn *chance) (*rendering, error) {
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
	e := engine.Engine{CustomTemplateFuncs: drawn.functions()}
	if r.quick {
		maps.Copy(e.CustomTemplateFuncs, quick())
	}
	files, err := e.Render(loaded, top)
	if err != nil {
		return nil, stopped(err)
	}
	done := &rendering{chart: loaded, values: judged, documents: map[string][]workload.Document{}, unjudged: unjudged}
	return done, done.take(files)
}

// take keeps the documents that are installed.
func (r *rendering) take(files map[string]string) error {
	size := 0
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if size += len(files[name]); size > maxRendered {
			return fmt.Errorf("%s: the templates write more than %d bytes", name, maxRendered)
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

// ownWords matches the place in a template and the message of fail or required.
var ownWords = regexp.MustCompile(`(?s)^execution error at \((.+?)\): (.*)$`)

// stopped is an error of Helm's engine, in one line.
func stopped(err error) error {
	if m := ownWords.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s: the chart refuses these values: %s", m[1], oneLine(m[2]))
	}
	return errors.New(oneLine(err.Error()))
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
func (r *rendering) objects() (workload.File, error) {
	defined, errDefined := definitions(r.chart)
	var all []workload.Document
	for _, name := range slices.Sorted(maps.Keys(r.documents)) {
		all = append(all, r.documents[name]...)
	}
	rendered, err := workload.ReadAll(all)
	return workload.File{Objects: append(defined.Objects, rendered.Objects...), Notices: append(defined.Notices, rendered.Notices...)}, errors.Join(errDefined, err)
}

// Definitions are the files below crds/ of the chart and of those dependencies that the
// values switch on.
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

// definitions are the files below crds/, which are no templates. Helm has them read as
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
