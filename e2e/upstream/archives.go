package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// release is one file of a project's release page, with the checksum file that the
// project publishes next to it.
type release struct {
	path     string // in the directory of served files
	checksum string // name of the checksum file, in the same directory
	recipe   string
	files    func(dir string) ([]archive.File, error) // of the archive; nil: the release is the program itself
	also     []string                                 // other recipes with programs for files
}

func (p places) releases() []release {
	return []release{
		containerd("containerd", recipe.Containerd),
		containerd("containerd1", recipe.Containerd1),
		{
			path:     "storage.googleapis.com/cri-o/artifacts/cri-o.amd64.v" + recipe.CRIO + ".tar.gz",
			checksum: "cri-o.amd64.v" + recipe.CRIO + ".tar.gz.sha256sum",
			recipe:   "crio", files: p.crio, also: []string{"runc", "crictl", "cni-plugins"},
		},
		{
			path:     "github.com/opencontainers/runc/releases/download/v" + recipe.Runc + "/runc.amd64",
			checksum: "runc.sha256sum",
			recipe:   "runc",
		},
		{
			path:     "github.com/containernetworking/plugins/releases/download/v" + recipe.CNIPlugins + "/cni-plugins-linux-amd64-v" + recipe.CNIPlugins + ".tgz",
			checksum: "cni-plugins-linux-amd64-v" + recipe.CNIPlugins + ".tgz.sha256",
			recipe:   "cni-plugins", files: cniPlugins,
		},
	}
}

func containerd(name, version string) release {
	file := "containerd-" + version + "-linux-amd64.tar.gz"
	return release{
		path:     "github.com/containerd/containerd/releases/download/v" + version + "/" + file,
		checksum: file + ".sha256sum",
		recipe:   name, files: func(dir string) ([]archive.File, error) { return below("bin/", dir) },
	}
}

func (b *builder) releases() error {
	for _, r := range b.cache.releases() {
		if b.keys[r.recipe] == "" { // not in this build
			continue
		}
		keys := []string{b.keys[r.recipe]}
		for _, other := range r.also {
			keys = append(keys, b.keys[other])
		}
		key, err := stage.Key(format, keys, r.path, r.checksum)
		if err != nil {
			return err
		}
		if _, err := b.log.Do("file "+filepath.Base(r.path), key, func() error { return b.release(r) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) release(r release) error {
	path := filepath.Join(b.cache.files(), filepath.FromSlash(r.path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	sum := sha256.New()
	if err := b.writeRelease(io.MultiWriter(out, sum), r); err != nil {
		return err
	}
	line := fmt.Sprintf("%s  %s\n", hex.EncodeToString(sum.Sum(nil)), filepath.Base(path))
	return os.WriteFile(filepath.Join(filepath.Dir(path), r.checksum), []byte(line), 0o644)
}

func (b *builder) writeRelease(w io.Writer, r release) error {
	dir := b.cache.programs(r.recipe)
	if r.files == nil {
		in, err := os.Open(filepath.Join(dir, r.recipe))
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(w, in)
		return err
	}
	files, err := r.files(dir)
	if err != nil {
		return err
	}
	return archive.TarGz(w, files)
}

// below lists the programs of a recipe, with paths that begin with prefix.
func below(prefix, dir string) ([]archive.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []archive.File
	for _, e := range entries {
		files = append(files, archive.File{Path: prefix + e.Name(), Source: filepath.Join(dir, e.Name()), Mode: 0o755})
	}
	return files, nil
}

// crio lists the files of CRI-O's archive. In addition to its own programs it has the CNI
// plug-ins, crictl, runc, and conmon, which is Debian's here. Its settings are left out, since
// only its own installation script uses them.
func (p places) crio(dir string) ([]archive.File, error) {
	files, err := below("cri-o/bin/", dir)
	if err != nil {
		return nil, err
	}
	plugins, err := cniPlugins(p.programs("cni-plugins"))
	for _, f := range plugins {
		f.Path = "cri-o/cni-plugins/" + f.Path
		files = append(files, f)
	}
	return append(files,
		archive.File{Path: "cri-o/bin/crictl", Source: filepath.Join(p.programs("crictl"), "crictl"), Mode: 0o755},
		archive.File{Path: "cri-o/bin/conmon", Source: "/usr/bin/conmon", Mode: 0o755},
		archive.File{Path: "cri-o/bin/runc", Source: filepath.Join(p.programs("runc"), "runc"), Mode: 0o755},
	), err
}

// cniPlugins lists the reference plug-ins, without flannel's, which has its own image.
func cniPlugins(dir string) ([]archive.File, error) {
	files, err := below("", dir)
	var kept []archive.File
	for _, f := range files {
		if f.Path != "flannel" {
			kept = append(kept, f)
		}
	}
	return kept, err
}
