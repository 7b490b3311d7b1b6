package chart

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/bundle/fetch"
)

// Index has the fields of a repository's index.yaml that airgap reads.
type Index struct {
	Entries map[string][]Entry `json:"entries"`
}

// Entry is a version of a chart in an index.
type Entry struct {
	Version string   `json:"version"`
	Digest  string   `json:"digest"` // SHA-256 of the archive in hex, with or without sha256:
	URLs    []string `json:"urls"`
}

// ReadIndex parses an index.
func ReadIndex(text []byte) (Index, error) {
	var index Index
	if err := yaml.Unmarshal(text, &index); err != nil {
		return index, fmt.Errorf("not an index of a chart repository: %w", err)
	}
	if index.Entries == nil {
		return index, errors.New("not an index of a chart repository: it has no entries")
	}
	return index, nil
}

// SameVersion treats v1.2.3 and 1.2.3 as equal, because charts use both forms.
func SameVersion(a, b string) bool { return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v") }

// Find returns the entry of a version.
func (x Index) Find(name, version string) (Entry, error) {
	entries, known := x.Entries[name]
	if !known {
		return Entry{}, errors.New("the repository has no chart with this name")
	}
	var versions []string
	for _, e := range entries {
		if SameVersion(e.Version, version) {
			return e, nil
		}
		versions = append(versions, e.Version)
	}
	if len(versions) > 5 {
		versions = append(versions[:5], "…")
	}
	return Entry{}, fmt.Errorf("the repository does not have this version; it has %s", strings.Join(versions, ", "))
}

// URL is the URL of the archive from the index, usually relative to the index, which is below base. Over plain
// HTTP it must have a digest.
func (e Entry) URL(base string) (string, error) {
	if len(e.URLs) == 0 {
		return "", errors.New("the index of the repository has no URL for the chart")
	}
	above, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	at, err := above.Parse(e.URLs[0])
	if err != nil {
		return "", errors.New("the index of the repository has a URL that cannot be parsed")
	}
	switch {
	case at.Scheme != "https" && at.Scheme != "oci" && (at.Scheme != "http" || e.Sum() == ""):
		return "", fmt.Errorf("the index of the repository has URL %s: only https and oci are supported, and http if the index has a digest of the chart", fetch.Presentable(e.URLs[0]))
	case at.Scheme == "oci" && (at.User != nil || at.RawQuery != ""):
		return "", fmt.Errorf("the index of the repository has URL %s: oci:// allows only HOST/PATH and a tag or a digest", fetch.Presentable(e.URLs[0]))
	}
	return at.String(), nil
}

// Sum is the digest from the index in hex; "" without one.
func (e Entry) Sum() string { return strings.TrimPrefix(e.Digest, "sha256:") }
