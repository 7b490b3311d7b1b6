package registry

import "testing"

func TestParseV2Path(t *testing.T) {
	for path, want := range map[string]v2Path{
		"/v2/a/b/manifests/1":     {"a/b", "manifests", "1"},
		"/v2/a/blobs/c/blobs/sha": {"a/blobs/c", "blobs", "sha"},
		"/v2/a/tags/list":         {"a", "tags", "list"},
	} {
		got, ok := parseV2Path(path)
		if !ok || got != want || got.String() != path {
			t.Errorf("parseV2Path(%q) = %+v, %v", path, got, ok)
		}
	}
	for _, path := range []string{"/v2/", "/v2/_catalog", "/v2/manifests/1", "/rpm/x/blobs/y", "/v2/a/other/1"} {
		if got, ok := parseV2Path(path); ok {
			t.Errorf("parseV2Path(%q) = %+v, want none", path, got)
		}
	}
}
