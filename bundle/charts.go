package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/reference"
)

const (
	// maxChartIndex bounds the index of a chart repository, in bytes.
	maxChartIndex = 64 << 20
	// chartLayer is the media type of a chart's archive in a registry.
	chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// fetchedChart is an archive and what vouches for it.
type fetchedChart struct {
	archive []byte
	digest  string // that upstream gives: of the manifest in a registry, of the archive elsewhere
	moved   *Moved
	indexed bool // the repository's index has the archive's digest
}

func (up upstream) fetchChart(ctx context.Context, need AddonNeed, r Request) (fetchedChart, error) {
	want := *need.Chart
	locked := r.Locked.chart(need)
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
	if err != nil {
		return f, fmt.Errorf("%s: %w", want, err)
	}
	if want.Path == "" && !strings.HasPrefix(want.Repository, "oci://") && !f.indexed && locked == nil && r.Locked.indexed(need) {
		return f, fmt.Errorf("%s: the repository's index has no digest of it, and had one when airgap.lock was written: ask those who run it why, then --update %s takes it without", want, need.Name)
	}
	if f.digest == "" {
		f.digest = "sha256:" + sha256Hex(f.archive)
	}
	if locked != nil && locked.SHA256 != sha256Hex(f.archive) {
		return f, fmt.Errorf("%s is another one than was locked (its SHA-256 was %s, is %s): --update %s takes what it is now", want, locked.SHA256, sha256Hex(f.archive), need.Name)
	}
	return f, nil
}

// readChart reads an archive, or makes one of a directory.
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

// chartIndex is the part of a repository's index.yaml that counts here.
type chartIndex struct {
	Entries map[string][]chartEntry `json:"entries"`
}

type chartEntry struct {
	Version string   `json:"version"`
	Digest  string   `json:"digest"` // SHA-256 of the archive in hex, with or without sha256:
	URLs    []string `json:"urls"`
}

func (up upstream) chartOfRepository(ctx context.Context, need AddonNeed, locked *Chart) (fetchedChart, error) {
	want := *need.Chart
	base := strings.TrimSuffix(want.Repository, "/") + "/"
	index, err := up.chartIndex(ctx, base+"index.yaml")
	if err != nil {
		return fetchedChart{}, err
	}
	entry, err := index.find(want)
	if err != nil {
		return fetchedChart{}, err
	}
	at, err := entry.url(base)
	if err != nil {
		return fetchedChart{}, err
	}
	if ref, is := strings.CutPrefix(at, "oci://"); is {
		return up.chartOfIndex(ctx, need, locked, entry, ref)
	}
	archive, mediaType, err := up.ReadTyped(ctx, at, chart.MaxArchive)
	if err != nil {
		return fetchedChart{}, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(archive), []byte("{")) {
		return fetchedChart{}, fetch.UnexpectedPage(at, mediaType)
	}
	if sum := entry.sum(); sum != "" && sum != sha256Hex(archive) {
		return fetchedChart{}, fmt.Errorf("%s: SHA-256 is %s, the repository's index says %s", fetch.Presentable(at), sha256Hex(archive), sum)
	}
	return fetchedChart{archive: archive, indexed: entry.Digest != ""}, nil
}

func (up upstream) chartIndex(ctx context.Context, at string) (chartIndex, error) {
	var index chartIndex
	text, mediaType, err := up.ReadTyped(ctx, at, maxChartIndex)
	if err != nil {
		return index, err
	}
	if isJSONWithout(text, "entries") {
		return index, fetch.UnexpectedPage(at, mediaType)
	}
	if err := yaml.Unmarshal(text, &index); err != nil {
		return index, fmt.Errorf("read %s (%s): it is no index of a chart repository: %w", fetch.Presentable(at), mediaType, err)
	}
	if index.Entries == nil {
		return index, fmt.Errorf("read %s (%s): it is no index of a chart repository: it has no entries", fetch.Presentable(at), mediaType)
	}
	return index, nil
}

// chartOfIndex reads a chart of which a repository's index says that it is in a registry, as
// Bitnami's does. The index has the SHA-256 of the archive, or the digest of its manifest.
func (up upstream) chartOfIndex(ctx context.Context, need AddonNeed, locked *Chart, entry chartEntry, ref string) (fetchedChart, error) {
	tagged, err := taggedChart(ref, entry.Version)
	if err != nil {
		return fetchedChart{}, fmt.Errorf("the repository's index leads to a registry: %w", err)
	}
	digest := ""
	if locked != nil && locked.Digest != "sha256:"+locked.SHA256 { // else the index had an archive when it was locked
		digest = locked.Digest
	}
	f, err := up.chartOfRegistry(ctx, need, tagged, digest)
	if err != nil {
		return f, fmt.Errorf("oci://%s, which the repository's index names: %w", ref, err)
	}
	if sum := entry.sum(); sum != "" && sum != sha256Hex(f.archive) && "sha256:"+sum != f.digest {
		return f, fmt.Errorf("oci://%s: SHA-256 is %s, the repository's index says %s", ref, sha256Hex(f.archive), sum)
	}
	f.indexed = entry.Digest != ""
	return f, nil
}

// taggedChart is a reference to a chart in a registry. One without a tag gets the version. A
// tag cannot have a plus; Helm writes an underscore.
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

func (x chartIndex) find(want ChartNeed) (chartEntry, error) {
	entries, known := x.Entries[want.Name]
	if !known {
		return chartEntry{}, errors.New("the repository has no chart of that name")
	}
	var versions []string
	for _, e := range entries {
		if sameVersion(e.Version, want.Version) {
			return e, nil
		}
		versions = append(versions, e.Version)
	}
	if len(versions) > 5 {
		versions = append(versions[:5], "…")
	}
	return chartEntry{}, fmt.Errorf("the repository does not have this version; it has %s", strings.Join(versions, ", "))
}

// sameVersion takes v1.2.3 and 1.2.3 for one: charts are called both.
func sameVersion(a, b string) bool { return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v") }

// url is where the archive is: as the index writes it, mostly beside itself.
func (e chartEntry) url(base string) (string, error) {
	if len(e.URLs) == 0 {
		return "", errors.New("the repository's index names no URL for it")
	}
	above, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	at, err := above.Parse(e.URLs[0])
	if err != nil || at.Scheme != "https" && at.Scheme != "oci" {
		return "", fmt.Errorf("the repository's index has it at %s: only https and oci are read", fetch.Presentable(e.URLs[0]))
	}
	if at.Scheme == "oci" && (at.User != nil || at.RawQuery != "") {
		return "", fmt.Errorf("the repository's index has it at %s: oci:// takes HOST/PATH, and a tag or digest", fetch.Presentable(e.URLs[0]))
	}
	return at.String(), nil
}

// sum is the digest of the index in hex, "" for none.
func (e chartEntry) sum() string { return strings.TrimPrefix(e.Digest, "sha256:") }

// chartByName reads a chart of an oci:// repository.
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

// chartOfRegistry reads a chart by its tag, or by the digest that it is locked to.
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
	body, err := up.OpenBlob(ctx, repo, layer.Digest.String())
	if err != nil {
		return fetchedChart{}, err
	}
	defer body.Close()
	archive, err := fetch.ReadBody(body, "the chart", chart.MaxArchive)
	if err != nil {
		return fetchedChart{}, err
	}
	if sum := sha256Hex(archive); layer.Digest.Algorithm != "sha256" || layer.Digest.Hex != sum {
		return fetchedChart{}, fmt.Errorf("the archive has SHA-256 %s, its manifest says %s", sum, layer.Digest)
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
		return v1.Descriptor{}, errors.New("it is there, but is no Helm chart")
	}
	return parsed.Layers[i], nil
}
