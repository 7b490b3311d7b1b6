package chart_test

import (
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
)

// FuzzOpen: a chart's name and version are safe as parts of a path on the USB drive.
func FuzzOpen(f *testing.F) {
	f.Add(charttest.Archive(f, "till", charttest.Checkout()))
	f.Add(charttest.Archive(f, "x", map[string]string{"Chart.yaml": "apiVersion: v2\nname: ../x\nversion: 1.0.0\n"}))
	f.Add(charttest.Archive(f, "../x", map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0/..\n"}))
	f.Fuzz(func(t *testing.T, archive []byte) {
		c, err := chart.Open(archive)
		if err == nil && (c.Name == "" || c.Version == "" || strings.ContainsAny(c.Name+c.Version, "/\\\x00")) {
			t.Errorf("got a chart %q %q", c.Name, c.Version)
		}
	})
}
