package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/reference"
)

const (
	// maxChartIndex limits the index of a chart repository, in bytes.
	maxChartIndex = 64 << 20
	// chartLayer is the media type of a chart's archive in a registry.
	chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// fetchedChart is an archive and its digests.
type fetchedChart struct {
	archive []byte
	digest  string // from upstream: of the manifest in a registry, else of the archive
	moved   *Moved
	indexed bool   // the repository's index has the archive's digest
	notice  string // it is from an earlier bundle; "": it is from upstream
}

func (up upstream) fetchChart(ctx context.Context, need AddonNeed, r Request) (fetchedChart, error) {
	want := *need.Chart
	locked := r.Locked.chart(need)
	ctx = httpclient.For(ctx, "chart "+want.Name+" of "+need.Name)
	if locked != nil {
		ctx = httpclient.Checked(ctx)
	}
	var f fetchedChart
	var err error
	switch {
	case want.Path != "":
		f.archive, err = readChart(r.Dir, want.Path)
	case strings.HasPrefix(want.Repository, "oci://"):
		f, err = up.chartByName(ctx, need, locked)
	default:
		f, err = up.chartOfRepository(ctx, need, locked)
	}
	if err != nil && ctx.Err() == nil {
		if reused, has := up.earlier.chart(locked, err); has {
			return reused, nil
		}
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", want, err)
	}
	if want.Path == "" && !strings.HasPrefix(want.Repository, "oci://") && !f.indexed && locked == nil && r.Locked.indexed(need) {
		return f, fmt.Errorf("%s: the index of the repository has no digest for this chart, but had one when airgap.lock was written: ask the owner of the repository for the reason; then use the chart without a digest with --update %s", want, need.Name)
	}
	if f.digest == "" {
		f.digest = "sha256:" + sha256Hex(f.archive)
	}
	if locked != nil && locked.SHA256 != sha256Hex(f.archive) {
		return f, fmt.Errorf("%s has changed since it was locked (SHA-256 was %s, is %s): to use the new one, pass --update %s", want, locked.SHA256, sha256Hex(f.archive), need.Name)
	}
	return f, nil
}

// readChart reads an archive, or makes one from a directory.
func readChart(dir, path string) ([]byte, error) {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(dir, path)
	}
	info, err := os.Stat(full)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return chart.Pack(full)
	}
	return readFile(dir, path, chart.MaxArchive)
}

func (up upstream) chartOfRepository(ctx context.Context, need AddonNeed, locked *Chart) (fetchedChart, error) {
	want := *need.Chart
	base := strings.TrimSuffix(want.Repository, "/") + "/"
	index, err := up.chartIndex(ctx, base+"index.yaml")
	if err != nil {
		return fetchedChart{}, err
	}
	entry, err := index.Find(want.Name, want.Version)
	if err != nil {
		return fetchedChart{}, err
	}
	at, err := entry.URL(base)
	if err != nil {
		return fetchedChart{}, err
	}
	if ref, is := strings.CutPrefix(at, "oci://"); is {
		return up.chartOfIndex(ctx, need, locked, entry, ref)
	}
	if entry.Sum() != "" {
		ctx = httpclient.Checked(ctx)
	}
	var archive []byte
	err = httpclient.Again(fetch.WithLoginOf(ctx, base), fetch.IsWrong, func(ctx context.Context) error {
		var mediaType string
		if archive, mediaType, err = up.ReadTyped(ctx, at, chart.MaxArchive); err != nil {
			return err
		}
		if bytes.HasPrefix(bytes.TrimSpace(archive), []byte("{")) {
			return fetch.UnexpectedPage(at, mediaType)
		}
		if sum := entry.Sum(); sum != "" && sum != sha256Hex(archive) {
			return &contentError{fmt.Sprintf("%s: SHA-256 is %s, but %s in the index of the repository", fetch.Presentable(at), sha256Hex(archive), sum)}
		}
		return nil
	})
	return fetchedChart{archive: archive, indexed: entry.Digest != ""}, err
}

func (up upstream) chartIndex(ctx context.Context, at string) (chart.Index, error) {
	text, mediaType, err := up.ReadTyped(ctx, at, maxChartIndex)
	if err != nil {
		return chart.Index{}, err
	}
	if isJSONWithout(text, "entries") {
		return chart.Index{}, fetch.UnexpectedPage(at, mediaType)
	}
	index, err := chart.ReadIndex(text)
	if err != nil {
		err = fmt.Errorf("read %s (%s): %w", fetch.Presentable(at), mediaType, err)
	}
	return index, err
}

// chartOfIndex reads a chart that the index of a repository stores in a registry, as
// Bitnami's index does. The index has the SHA-256 of the archive, or the digest of its
// manifest.
func (up upstream) chartOfIndex(ctx context.Context, need AddonNeed, locked *Chart, entry chart.Entry, ref string) (fetchedChart, error) {
	tagged, err := taggedChart(ref, entry.Version)
	if err != nil {
		return fetchedChart{}, fmt.Errorf("read the registry reference in the index of the repository: %w", err)
	}
	digest := ""
	if locked != nil && locked.Digest != "sha256:"+locked.SHA256 { // otherwise, the index had an archive when it was locked
		digest = locked.Digest
	}
	f, err := up.chartOfRegistry(ctx, need, tagged, digest)
	if err != nil {
		return f, fmt.Errorf("oci://%s from the index of the repository: %w", ref, err)
	}
	if sum := entry.Sum(); sum != "" && sum != sha256Hex(f.archive) && "sha256:"+sum != f.digest {
		return f, fmt.Errorf("oci://%s: SHA-256 is %s, but %s in the index of the repository", ref, sha256Hex(f.archive), sum)
	}
	f.indexed = entry.Digest != ""
	return f, nil
}

// taggedChart is a reference to a chart in a registry. Without a tag it gets the
// version as tag. A tag cannot contain a plus sign; Helm writes an underscore.
func taggedChart(ref, version string) (reference.Reference, error) {
	named, err := reference.Parse(ref)
	if err != nil {
		return named, err
	}
	if named.Bare() {
		ref += ":" + strings.ReplaceAll(version, "+", "_")
	}
	return parseName(ref)
}

// chartByName reads a chart from an oci:// repository.
func (up upstream) chartByName(ctx context.Context, need AddonNeed, locked *Chart) (fetchedChart, error) {
	want := *need.Chart
	named, err := taggedChart(strings.TrimSuffix(strings.TrimPrefix(want.Repository, "oci://"), "/")+"/"+want.Name, want.Version)
	if err != nil {
		return fetchedChart{}, err
	}
	digest := ""
	if locked != nil {
		digest = locked.Digest
	}
	return up.chartOfRegistry(ctx, need, named, digest)
}

// chartOfRegistry reads a chart by its tag, or by the locked digest.
func (up upstream) chartOfRegistry(ctx context.Context, need AddonNeed, named reference.Reference, digest string) (fetchedChart, error) {
	repo, err := up.Repository(named.Repository())
	if err != nil {
		return fetchedChart{}, err
	}
	ref := refIn(repo, named)
	if digest != "" {
		ref = repo.Digest(digest)
	}
	top, err := up.manifest(ctx, ref)
	if err != nil {
		return fetchedChart{}, err
	}
	moved, err := up.moved(ctx, need.Name, repo, named, digest)
	if err != nil {
		return fetchedChart{}, err
	}
	layer, err := layerOf(top.Raw)
	if err != nil {
		return fetchedChart{}, err
	}
	var archive []byte
	err = httpclient.Again(ctx, fetch.IsWrong, func(ctx context.Context) error {
		body, err := up.OpenBlob(ctx, repo, layer.Digest.String(), fetch.Extent{Size: layer.Size})
		if err != nil {
			return up.Explain(ctx, ref, err)
		}
		defer body.Close()
		if archive, err = fetch.ReadBody(body, "the chart", chart.MaxArchive); err != nil {
			return err
		}
		if sum := sha256Hex(archive); layer.Digest.Algorithm != "sha256" || layer.Digest.Hex != sum {
			return &contentError{fmt.Sprintf("the archive has SHA-256 %s, but %s in its manifest", sum, layer.Digest)}
		}
		return nil
	})
	if err != nil {
		return fetchedChart{}, err
	}
	return fetchedChart{archive: archive, digest: top.Digest.String(), moved: moved}, nil
}

func layerOf(manifest []byte) (v1.Descriptor, error) {
	parsed, err := v1.ParseManifest(strings.NewReader(string(manifest)))
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("read manifest: %w", err)
	}
	i := slices.IndexFunc(parsed.Layers, func(d v1.Descriptor) bool { return d.MediaType == chartLayer })
	if i < 0 {
		return v1.Descriptor{}, errors.New("the artifact exists, but is not a Helm chart")
	}
	return parsed.Layers[i], nil
}
