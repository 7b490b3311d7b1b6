package build

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/release"
)

// connectedHost has an airgap.yaml, and serves the images, release files and signed packages of its bundle. The clock of
// one repository is a year ahead. The options are without Out and Keys.
func connectedHost(t *testing.T) Options {
	t.Helper()
	bundletest.Need(t, "createrepo_c")
	server, dir := cnitest.Serve(t), t.TempDir()
	text := fmt.Sprintf(`apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: 1.36.3}
network: {plugin: calico}
nodes: [{name: cp1, address: 192.0.2.11, roles: [control-plane]}]
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example.com/os/", gpgKeys: ["https://dl.example.com/os/repodata/repomd.xml.key"]}]}
sources: {ca: %s, rewrite: [{from: "*", to: %q}]}
`, server.Sources().CA, server.Sources().Rewrite[0].To)
	file := filepath.Join(dir, "airgap.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c, _, err := config.Load(file)
	require.NoError(t, err)

	images, err := release.Images(c.Kubernetes.Version)
	require.NoError(t, err)
	for _, image := range images {
		server.Push(t, image)
	}
	for _, f := range c.Runtime.Files("amd64") {
		content := []byte("content of " + f.Name)
		server.Files[strings.TrimPrefix(f.URL, "https://")] = content
		server.Files[strings.TrimPrefix(f.ChecksumURL, "https://")] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(content), f.URL[strings.LastIndex(f.URL, "/")+1:])
	}
	kubernetes, err := release.PackageRepository(c.Kubernetes.Version)
	require.NoError(t, err)
	ours, theirs := []string{"python3-dnf-plugin-versionlock"}, []string(nil)
	for _, name := range release.Packages(c.Kubernetes.Version, "el9") {
		if strings.HasPrefix(name, "kube") {
			theirs = append(theirs, name)
		} else {
			ours = append(ours, name)
		}
	}
	servePackages(t, server, kubernetes.BaseURL, theirs, time.Now().AddDate(1, 0, 0))
	servePackages(t, server, "https://dl.example.com/os/", ours, time.Unix(1_700_000_000, 0))

	these := programs(t)
	return Options{
		File: file, Commands: these.Commands, AnyFilesystem: true, PartSize: "64MiB", Progress: ui.Discard(), own: []bundle.OwnImage{probe(t)},
		here: func() (program.Source, error) { return these, nil },
	}
}

// servePackages makes a repository of signed packages with metadata of createrepo_c, and with this time of the files.
func servePackages(t *testing.T, server *cnitest.Server, base string, names []string, at time.Time) {
	t.Helper()
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, named := range names {
		name, version := named, "1.0"
		if strings.HasPrefix(named, "kube") {
			name, version, _ = strings.Cut(named, "-")
		}
		var content bytes.Buffer
		spec := rpm.Spec{Name: name, Version: version, Release: "1", Arch: "x86_64", Summary: name, License: "x", Time: time.Unix(1_700_000_000, 0)}
		require.NoError(t, rpm.BuildPackage(&content, spec, key))
		path := filepath.Join(dir, name+"-"+version+"-1.x86_64.rpm")
		require.NoError(t, os.WriteFile(path, content.Bytes(), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
	}
	out, err := exec.Command("createrepo_c", "--quiet", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	host := strings.TrimPrefix(base, "https://")
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			server.Files[host+path], err = os.ReadFile(filepath.Join(dir, path))
		}
		return err
	}))
	server.Files[host+"repodata/repomd.xml.key"], err = key.Public()
	require.NoError(t, err)
}

// programs are files in place of the programs of airgap.rpm.
func programs(t *testing.T) program.Source {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755))
	return program.Source{Airgap: file, NVML: file, Probe: file, Commands: func() *cobra.Command { return &cobra.Command{Use: "airgap"} }}
}

// probe is an image in place of the one of airgap-probe.
func probe(t *testing.T) bundle.OwnImage {
	t.Helper()
	image := bundletest.RandomImage(t, 100, 1, "amd64")
	return bundle.OwnImage{
		Need: bundle.Need{Reference: program.ProbeRepository + ":test", NeededBy: "verify"},
		Make: func() (v1.Image, error) { return image, nil },
	}
}
