package upstream

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// chartRepo is the lab's repository of Helm charts.
const chartRepo = "charts.example/stable"

//go:embed charts
var chartFiles embed.FS

// charts packs the lab's chart and writes the repository's index.
func (b *builder) charts() error {
	files, err := chartArchive("shop")
	if err != nil {
		return err
	}
	key, err := stage.Key(format, files)
	if err != nil {
		return err
	}
	_, err = b.log.Do("chart shop", key, func() error {
		var packed bytes.Buffer
		if err := archive.TarGz(&packed, files); err != nil {
			return err
		}
		dir := filepath.Join(b.cache.files(), filepath.FromSlash(chartRepo))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "shop-1.0.0.tgz"), packed.Bytes(), 0o644); err != nil {
			return err
		}
		index := fmt.Sprintf("apiVersion: v1\nentries:\n  shop:\n    - {apiVersion: v2, name: shop, version: 1.0.0, urls: [shop-1.0.0.tgz], digest: %x}\n", sha256.Sum256(packed.Bytes()))
		return os.WriteFile(filepath.Join(dir, "index.yaml"), []byte(index), 0o644)
	})
	return err
}

// chartArchive returns the files of a chart, with paths below its name as in its archive.
func chartArchive(name string) ([]archive.File, error) {
	var files []archive.File
	err := fs.WalkDir(chartFiles, path.Join("charts", name), func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := chartFiles.ReadFile(at)
		files = append(files, archive.File{Path: at[len("charts/"):], Data: text, Mode: 0o644})
		return err
	})
	return files, err
}
