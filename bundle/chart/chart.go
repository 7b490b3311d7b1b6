// Package chart renders Helm charts.
//
// From the archive of a chart and its values it returns the objects that an
// installation applies, and the images in the annotations of the chart. It uses
// Helm's library. It does not ask a cluster and fetches nothing, so the archive
// must contain all dependencies.
//
// The same input gives the same objects. The package refuses a chart that generates
// passwords, keys or times, and names the values that prevent this.
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

// MaxArchive limits a chart's archive, in bytes: Helm's limit for an unpacked chart, plus
// space for the headers of an uncompressed archive.
const MaxArchive = maxTotal + 4<<20

// Chart is the archive of a chart.
type Chart struct {
	Name, Version string
	License       string // text of the annotation artifacthub.io/license

	archive []byte
	notices []string // about missing dependencies
	asks    bool     // a template reads the APIs of the cluster
}

// Open reads the archive (tar, gzip) of a chart.
func Open(archive []byte) (*Chart, error) {
	if len(archive) > MaxArchive {
		return nil, fmt.Errorf("read chart: the archive has %d bytes, the limit is %d", len(archive), MaxArchive)
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
		return nil, fmt.Errorf("chart %s is a library chart, which cannot be installed", loaded.Name())
	}
	c.Name, c.Version, c.License = loaded.Name(), loaded.Metadata.Version, loaded.Metadata.Annotations["artifacthub.io/license"]
	texts := map[string]string{}
	collectTexts(loaded, texts)
	c.asks = asksForKinds(texts)
	c.notices, err = missing(loaded)
	return c, err
}

// load returns a new copy, because Helm changes a chart while it prepares it.
func (c *Chart) load() (*helm.Chart, error) {
	loaded, err := loader.LoadArchive(bytes.NewReader(c.archive))
	if err != nil {
		return nil, fmt.Errorf("read chart: %w", err)
	}
	return loaded, nil
}

// missing reports dependencies that are not in the archive. As in Helm, missing dependencies
// of subcharts are not an error. They are in notices.
func missing(c *helm.Chart) (notices []string, err error) {
	var errs []error
	for _, name := range absent(c) {
		errs = append(errs, fmt.Errorf("chart %s: the dependency %s is not in charts/: run helm dependency build on the chart", c.Name(), name))
	}
	for _, d := range c.Dependencies() {
		for _, name := range absent(d) {
			notices = append(notices, fmt.Sprintf("chart %s: the dependency %s of the subchart %s is not in the archive; airgap ignores it, as Helm does", c.Name(), name, d.Name()))
		}
		more, _ := missing(d)
		notices = append(notices, more...)
	}
	return notices, errors.Join(errs...)
}

func absent(c *helm.Chart) []string {
	var names []string
	for _, want := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *helm.Chart) bool { return d.Name() == want.Name }) {
			names = append(names, want.Name)
		}
	}
	return names
}

// annotated returns the images in the annotations of the chart and its
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
