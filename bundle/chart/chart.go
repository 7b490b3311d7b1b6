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
	"strings"

	helm "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"airgap.dev/airgap/bundle/workload"
)

// MaxArchive bounds a chart's archive, in bytes.
const MaxArchive = 20 << 20

// Chart is a chart as it was fetched.
type Chart struct {
	Name, Version string

	archive []byte
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
	return c, missing(loaded)
}

// load gives a copy of its own: Helm changes a chart while it prepares it.
func (c *Chart) load() (*helm.Chart, error) {
	loaded, err := loader.LoadArchive(bytes.NewReader(c.archive))
	if err != nil {
		return nil, fmt.Errorf("read chart: %w", err)
	}
	return loaded, nil
}

// missing reports dependencies that the archive should have brought.
func missing(c *helm.Chart) error {
	there := map[string]bool{}
	var errs []error
	for _, d := range c.Dependencies() {
		there[d.Name()] = true
		errs = append(errs, missing(d))
	}
	for _, d := range c.Metadata.Dependencies {
		if !there[d.Name] {
			errs = append(errs, fmt.Errorf("chart %s: its dependency %s is not in charts/: run helm dependency build on it", c.Name(), d.Name))
		}
	}
	return errors.Join(errs...)
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
