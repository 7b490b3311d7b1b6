package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/httpclient"
)

// ingredients are the inputs of an add-on after they were read and checked.
type ingredients struct {
	chart   *chart.Chart
	archive []byte
	locked  *Chart
	moved   *Moved
	values  map[string]any
	objects []workload.Object // of manifests
	sources []Source
	notices []string // contents without a digest or signature from upstream

	warnings []string // contents of the files that their authors may not have intended
}

// gather reads all inputs of an add-on and reports every problem.
func (up upstream) gather(ctx context.Context, need AddonNeed, r Request) (*ingredients, error) {
	i := &ingredients{}
	var errs []error
	if need.Chart != nil {
		errs = append(errs, up.gatherChart(ctx, i, need, r))
	}
	var err error
	i.values, i.warnings, err = readValues(need.Values, r.Dir)
	errs = append(errs, err)
	for _, from := range need.Manifests {
		m, err := up.readManifest(ctx, r, from, need.Name)
		i.objects, i.warnings, errs = append(i.objects, m.Objects...), append(i.warnings, m.Notices...), append(errs, err)
		if m.source != nil {
			i.sources = append(i.sources, *m.source)
		}
	}
	return i, errors.Join(errs...)
}

func (up upstream) gatherChart(ctx context.Context, i *ingredients, need AddonNeed, r Request) error {
	f, err := up.fetchChart(ctx, need, r)
	if err != nil {
		return err
	}
	opened, err := chart.Open(f.archive)
	if err != nil {
		return fmt.Errorf("%s: %w", need.Chart, err)
	}
	if want := *need.Chart; want.Path == "" && (opened.Name != want.Name || !chart.SameVersion(opened.Version, want.Version)) {
		return fmt.Errorf("%s: the archive contains chart %s %s", need.Chart, opened.Name, opened.Version)
	}
	if !isPlainName(opened.Name) || !isChartVersion(opened.Version) {
		return fmt.Errorf("%s: its name and version %q %q cannot be a file name", need.Chart, opened.Name, opened.Version)
	}
	i.chart, i.archive, i.moved = opened, f.archive, f.moved
	if f.notice != "" {
		i.notices = append(i.notices, f.notice)
	}
	if want := *need.Chart; want.Path == "" && !strings.HasPrefix(want.Repository, "oci://") && !f.indexed {
		i.notices = append(i.notices, fmt.Sprintf("%s: the index of the repository has no digest for this chart", want))
	}
	i.locked = &Chart{
		Name: opened.Name, Version: opened.Version, Repository: need.Chart.Repository, Digest: f.digest, IndexDigest: f.indexed,
		Path: chartsDir + "/" + opened.Name + "-" + opened.Version + ".tgz", Size: int64(len(f.archive)), SHA256: sha256Hex(f.archive), License: shortLicence(opened.License),
	}
	return nil
}

// String is the display name of the chart for errors.
func (c ChartNeed) String() string {
	if c.Path != "" {
		return "chart " + c.Path
	}
	return fmt.Sprintf("chart %s %s of %s", c.Name, c.Version, fetch.Presentable(c.Repository))
}

func readValues(v Values, dir string) (map[string]any, []string, error) {
	if v.File == "" {
		return chart.Values("values in airgap.yaml", v.Text)
	}
	text, err := readFile(dir, v.File, workload.MaxFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read values: %w", err)
	}
	return chart.Values(v.File, text)
}

// manifest is a file of objects; source is nil for a local file.
type manifest struct {
	workload.File
	source *Source
}

// readManifest reads a file of objects. A file from a URL must match the lock. Local
// files are not compared.
func (up upstream) readManifest(ctx context.Context, r Request, from, addon string) (m manifest, err error) {
	var text []byte
	var mediaType string
	if isURL(from) {
		text, mediaType, err = up.ReadTyped(purposeOfManifest(ctx, r, from, addon), from, workload.MaxFile)
	} else {
		text, err = readFile(r.Dir, from, workload.MaxFile)
	}
	if err != nil {
		return m, fmt.Errorf("read manifests: %w", err)
	}
	if isURL(from) {
		if isJSONWithout(text, "kind") {
			return m, fetch.UnexpectedPage(from, mediaType)
		}
		m.source = &Source{URL: fetch.Presentable(from), SHA256: sha256Hex(text)}
		if was := r.Locked.source(m.source.URL, addon); was != "" && was != m.source.SHA256 {
			return m, fmt.Errorf("%s has changed since it was locked (SHA-256 was %s, is %s): to use the new one, pass --update %s", m.source.URL, was, m.source.SHA256, orName(addon, m.source.URL))
		}
	}
	if m.File, err = workload.Read(fetch.Presentable(from), text); err == nil && len(m.Objects) == 0 {
		err = fmt.Errorf("%s contains no Kubernetes objects", fetch.Presentable(from))
	}
	return m, err
}

// purposeOfManifest marks the request for a file of objects, which has a digest in the lock after the first
// plan.
func purposeOfManifest(ctx context.Context, r Request, from, addon string) context.Context {
	if r.Locked.source(fetch.Presentable(from), addon) != "" {
		ctx = httpclient.Checked(ctx)
	}
	if addon == "" {
		return httpclient.For(ctx, "images.manifests")
	}
	return httpclient.For(ctx, "manifests of "+addon)
}

func orName(name, url string) string {
	if name != "" {
		return name
	}
	return url
}

func isURL(from string) bool { return strings.Contains(from, "://") }

// readFile reads a file with a path relative to dir.
func readFile(dir, path string, limit int64) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return fetch.ReadBody(file, path, limit)
}

// isJSONWithout reports whether a text is a JSON object without the key that every file
// of its kind has. Gateways send such an object to request a login, in place of the
// requested YAML.
func isJSONWithout(text []byte, key string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object[key] == nil
}
