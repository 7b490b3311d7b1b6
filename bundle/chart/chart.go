// Package chart makes objects of Helm charts.
//
// In flow a chart's archive and the values for it; out flow the objects that
// an installation applies, and the images that the chart names in its
// annotations. Helm's own library loads and renders; no cluster is asked and
// nothing is fetched: a chart has to bring its dependencies.
//
// The same input gives the same objects. A chart that makes passwords, keys or
// times while it is rendered is refused, with the values that set them.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	helm "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"airgap.dev/airgap/bundle/workload"
)

// MaxArchive bounds a chart's archive, in bytes: the limit of Helm for an unpacked chart, with
// room for the headers of an archive that is not compressed.
const MaxArchive = maxTotal + 4<<20

// Chart is a chart as it was fetched.
type Chart struct {
	Name, Version string

	archive []byte
	notices []string // about dependencies that are missing
	asks    bool     // a template looks at what the cluster serves
}

// Open reads the archive (tar, gzip) of a chart.
func Open(archive []byte) (*Chart, error) {
	if len(archive) > MaxArchive {
		return nil, fmt.Errorf("read chart: %d bytes, at most %d are read", len(archive), MaxArchive)
	}
	if err := checkArchive(archive); err != nil {
		return nil, fmt.Errorf("read chart: %w", err)
	}
	c := &Chart{archive: archive}
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	if err := loaded.Validate(); err != nil {
		return nil, fmt.Errorf("read chart: %w", err)
	}
	if strings.EqualFold(loaded.Metadata.Type, "library") {
		return nil, fmt.Errorf("chart %s is a library for other charts: it installs nothing", loaded.Name())
	}
	c.Name, c.Version = loaded.Name(), loaded.Metadata.Version
	texts := map[string]string{}
	collectTexts(loaded, texts)
	c.asks = asksForKinds(texts)
	c.notices, err = missing(loaded)
	return c, err
}

// load gives a copy of its own: Helm changes a chart while it prepares it.
func (c *Chart) load() (*helm.Chart, error) {
	loaded, err := loader.LoadArchive(bytes.NewReader(c.archive))
	if err != nil {
		return nil, fmt.Errorf("read chart: %w", err)
	}
	return loaded, nil
}

// missing reports dependencies that the archive should have brought. As Helm does, it does
// without those of subcharts, and says so.
func missing(c *helm.Chart) (notices []string, err error) {
	var errs []error
	for _, name := range lacking(c) {
		errs = append(errs, fmt.Errorf("chart %s: its dependency %s is not in charts/: run helm dependency build on it", c.Name(), name))
	}
	for _, d := range c.Dependencies() {
		for _, name := range lacking(d) {
			notices = append(notices, fmt.Sprintf("chart %s: the dependency %s of its subchart %s is not in the archive and is left out, as by Helm", c.Name(), name, d.Name()))
		}
		more, _ := missing(d)
		notices = append(notices, more...)
	}
	return notices, errors.Join(errs...)
}

func lacking(c *helm.Chart) []string {
	var names []string
	for _, want := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *helm.Chart) bool { return d.Name() == want.Name }) {
			names = append(names, want.Name)
		}
	}
	return names
}

// annotated are the images in the annotations of the chart and its
// dependencies.
func annotated(c *helm.Chart) ([]workload.Ref, error) {
	all, err := workload.Annotated(c.Metadata.Annotations, "chart "+c.Name())
	errs := []error{err}
	for _, d := range c.Dependencies() {
		more, err := annotated(d)
		all, errs = append(all, more...), append(errs, err)
	}
	return all, errors.Join(errs...)
}
