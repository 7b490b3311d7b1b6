package bundle

import (
	"context"
	"errors"
	"io/fs"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/workload"
)

// ManifestAt reads a file of objects (https URL, or path relative to dir) before
// planning; nil if the file does not exist.
func ManifestAt(ctx context.Context, c *fetch.Client, dir, from string) ([]workload.Object, error) {
	m, err := upstream{Strict: fetch.Strict{Client: c}}.readManifest(ctx, Request{Dir: dir}, from, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return m.Objects, err
}

// ChartAt reads the chart at a path relative to dir before planning.
func ChartAt(dir, path string) (*chart.Chart, error) {
	archive, err := readChart(dir, path)
	if err != nil {
		return nil, err
	}
	return chart.Open(archive)
}
