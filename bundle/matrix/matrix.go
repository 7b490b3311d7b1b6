// Package matrix lists the supported combinations of hosts, versions and drivers.
package matrix

import (
	"errors"
	"io/fs"
	"strings"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/preflight"
)

// Table has one row per version, with its source. Each package defines its own rows;
// this package only joins them.
type Table struct {
	Systems    []systemRow            `json:"systems"`
	Kernels    []preflight.KernelNeed `json:"kernels"`
	Kubernetes []kubernetesRow        `json:"kubernetes"`
	Containerd []containerdRow        `json:"containerd"`
	Cards      []gpu.IDRange          `json:"cards"`
	GPUs       []gpu.Generation       `json:"gpus"`
	Drivers    []driverRow            `json:"drivers"`
}

// Used marks the rows that airgap.yaml uses.
type (
	systemRow struct {
		enterprise.Release
		Used bool `json:"used"`
	}
	kubernetesRow struct {
		release.Release
		Used bool `json:"used"`
	}
	containerdRow struct {
		release.RuntimeLine
		Used bool `json:"used"`
	}
	driverRow struct {
		gpu.Branch
		Used bool `json:"used"`
	}
)

// Read marks the rows that the airgap.yaml at path file uses. A missing file is an
// error only if the user named it; otherwise no row is marked. An invalid file is a
// usage error (advice.IsUsage).
func Read(file string, named bool) (*Table, error) {
	c, _, err := config.Load(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		c = &config.Cluster{}
	case err != nil:
		return nil, config.Advise(err)
	}
	return of(c), nil
}

func of(c *config.Cluster) *Table {
	m := &Table{Kernels: preflight.KernelNeeds(), Cards: gpu.IDRanges(), GPUs: gpu.Generations()}
	for _, s := range enterprise.Releases() {
		m.Systems = append(m.Systems, systemRow{s, s.OS == c.Packages.OS})
	}
	for _, r := range release.All() {
		m.Kubernetes = append(m.Kubernetes, kubernetesRow{r, strings.HasPrefix(c.Kubernetes.Version, r.Minor+".")})
	}
	for _, l := range release.RuntimeLines() {
		m.Containerd = append(m.Containerd, containerdRow{l, strings.HasPrefix(c.Runtime.Version, l.Line+".")})
	}
	for _, b := range gpu.Branches() {
		m.Drivers = append(m.Drivers, driverRow{b, b.Number == c.GPU.Branch})
	}
	return m
}
