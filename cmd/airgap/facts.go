package main

import (
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
)

// packageRequest is which RPMs the servers need: those of Kubernetes and those
// that the file names, less what the surveyed servers all have.
func packageRequest(c *config.Cluster, factsDir string) (*rpm.Request, error) {
	upstream, err := kubeadm.PackageRepository(c.Kubernetes.Version)
	if err != nil {
		return nil, err
	}
	r := &rpm.Request{
		OS: c.Packages.OS, Arch: "x86_64",
		Repositories: append([]rpm.Repository{{Name: upstream.Name, BaseURL: upstream.BaseURL, GPGKeys: []string{upstream.GPGKey}}}, c.Packages.Repositories...),
		Install:      append(kubeadm.Packages(c.Kubernetes.Version, c.Packages.OS), c.Packages.Install...),
	}
	if factsDir != "" {
		r.Installed, err = surveyed(factsDir, c.Packages.OS)
	}
	return r, err
}

// surveyed is what every surveyed server has installed: a package that one of
// them lacks has to be carried.
func surveyed(dir, target string) (*rpm.Installed, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.facts.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, hint(fmt.Errorf("read facts: no *.facts.yaml in %s", dir), "airgap survey --file NAME.facts.yaml writes them on the servers")
	}
	var all []*preflight.Facts
	for _, f := range files {
		facts, err := loadFacts(f)
		if err != nil {
			return nil, err
		}
		if el := facts.OS.Enterprise(); el != target {
			return nil, fmt.Errorf("read facts: %s is of %s %s, and packages.os is %s", f, facts.OS.ID, facts.OS.Version, target)
		}
		all = append(all, facts)
	}
	return common(all)
}

func loadFacts(path string) (*preflight.Facts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	defer f.Close()
	facts, err := preflight.ReadFacts(f)
	if err != nil {
		return nil, fmt.Errorf("read facts of %s: %w", path, err)
	}
	return facts, nil
}
