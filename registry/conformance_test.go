package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// These tests check the endpoints of the OCI distribution specification 1.1. Their names are the
// headings of the specification.

func TestSpecificationPull(t *testing.T) {
	e := conform(t, "team/app")
	layer := "a layer"
	content := e.manifest(layer, nil)
	_, d := e.pushManifest("v1", content)
	for _, reference := range []string{"v1", d.String()} {
		for _, accept := range []string{v1.MediaTypeImageManifest, "", "*/*"} {
			for _, method := range []string{"GET", "HEAD"} {
				resp, body := e.want(200, method, e.at("manifests/"+reference), nil, "Accept", accept)
				if got := resp.Header.Get("Docker-Content-Digest"); got != d.String() {
					t.Errorf("%s %s: Docker-Content-Digest %q", method, reference, got)
				}
				if got := resp.Header.Get("Content-Type"); got != v1.MediaTypeImageManifest {
					t.Errorf("%s %s: Content-Type %q", method, reference, got)
				}
				if resp.ContentLength != int64(len(content)) || method == "GET" && string(body) != string(content) {
					t.Errorf("%s %s: %d bytes: %s", method, reference, resp.ContentLength, body)
				}
			}
		}
	}
	blob := digest.FromString(layer)
	for _, method := range []string{"GET", "HEAD"} {
		resp, body := e.want(200, method, e.at("blobs/"+blob.String()), nil)
		if resp.ContentLength != int64(len(layer)) || method == "GET" && string(body) != layer {
			t.Errorf("%s: %d bytes: %q", method, resp.ContentLength, body)
		}
		if got := resp.Header.Get("Docker-Content-Digest"); got != blob.String() {
			t.Errorf("%s: Docker-Content-Digest %q", method, got)
		}
	}
	resp, body := e.want(206, "GET", e.at("blobs/"+blob.String()), nil, "Range", "bytes=2-4")
	if string(body) != "lay" || resp.Header.Get("Content-Range") != fmt.Sprintf("bytes 2-4/%d", len(layer)) {
		t.Errorf("range: %q, %s", body, resp.Header.Get("Content-Range"))
	}
	e.want(416, "GET", e.at("blobs/"+blob.String()), nil, "Range", "bytes=100-")

	none := digest.FromString("missing").String()
	e.fails(404, "MANIFEST_UNKNOWN", "GET", e.at("manifests/"+none), nil)
	e.fails(404, "MANIFEST_UNKNOWN", "GET", e.at("manifests/none"), nil)
	e.fails(404, "BLOB_UNKNOWN", "GET", e.at("blobs/"+none), nil)
	e.want(404, "HEAD", e.at("manifests/none"), nil)
	e.want(404, "HEAD", e.at("blobs/"+none), nil)
	e.fails(400, "DIGEST_INVALID", "GET", e.at("blobs/sha256:short"), nil)
	e.fails(400, "DIGEST_INVALID", "GET", e.at("manifests/sha256:short"), nil)
}

func TestSpecificationPushBlobs(t *testing.T) {
	e := conform(t, "team/app")
	content := []byte("a blob in three parts")
	d := digest.FromBytes(content)
	pulls := func(e endpoint) {
		t.Helper()
		if _, body := e.want(200, "GET", e.at("blobs/"+d.String()), nil); string(body) != string(content) {
			t.Errorf("got %q", body)
		}
	}

	t.Run("POST then PUT", func(t *testing.T) {
		e := endpoint{e.running, t, "team/monolithic"}
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		resp, _ = e.want(201, "PUT", e.location(resp, "digest", d.String()), content, "Content-Type", "application/octet-stream")
		if got := e.location(resp); got != e.url(e.at("blobs/"+d.String())) {
			t.Errorf("Location %s", got)
		}
		pulls(e)
	})
	t.Run("Single POST", func(t *testing.T) { // a registry may answer with 202, and the client continues
		e := endpoint{e.running, t, "team/single"}
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/?digest="+url.QueryEscape(d.String())), content)
		e.want(201, "PUT", e.location(resp, "digest", d.String()), content)
		pulls(e)
	})
	t.Run("Pushing a blob in chunks", func(t *testing.T) {
		e := endpoint{e.running, t, "team/chunks"}
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		at := 0
		for _, end := range []int{7, 12} {
			part := content[at:end]
			size, span := strconv.Itoa(len(part)), fmt.Sprintf("%d-%d", at, end-1)
			if at > 0 { // out of order, first
				e.want(416, "PATCH", e.location(resp), part, "Content-Type", "application/octet-stream", "Content-Range", fmt.Sprintf("0-%d", len(part)-1), "Content-Length", size)
			}
			resp, _ = e.want(202, "PATCH", e.location(resp), part, "Content-Type", "application/octet-stream", "Content-Range", span, "Content-Length", size)
			if got := resp.Header.Get("Range"); got != fmt.Sprintf("0-%d", end-1) {
				t.Errorf("Range %q", got)
			}
			at = end
		}
		status, _ := e.want(204, "GET", e.location(resp), nil)
		if got := status.Header.Get("Range"); got != fmt.Sprintf("0-%d", at-1) {
			t.Errorf("Range %q of the upload", got)
		}
		e.want(201, "PUT", e.location(status, "digest", d.String()), content[at:], "Content-Range", fmt.Sprintf("%d-%d", at, len(content)-1))
		pulls(e)
	})
	t.Run("Cancelling", func(t *testing.T) {
		e := endpoint{e.running, t, "team/cancelled"}
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		e.want(204, "DELETE", e.location(resp), nil)
		e.fails(404, "BLOB_UPLOAD_UNKNOWN", "GET", e.location(resp), nil)
	})
	t.Run("Wrong digest", func(t *testing.T) {
		e := endpoint{e.running, t, "team/wrong"}
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		e.fails(400, "DIGEST_INVALID", "PUT", e.location(resp, "digest", digest.FromString("other").String()), content)
		e.want(404, "HEAD", e.at("blobs/"+digest.FromString("other").String()), nil)
	})
	t.Run("SHA-512 is declared unsupported", func(t *testing.T) {
		e := endpoint{e.running, t, "team/sha512"}
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		e.fails(400, "DIGEST_INVALID", "PUT", e.location(resp, "digest", digest.SHA512.FromBytes(content).String()), content)
	})
	t.Run("Mounting a blob from another repository", func(t *testing.T) {
		e := endpoint{e.running, t, "team/mounted"}
		e.want(201, "POST", e.at("blobs/uploads/?mount="+d.String()+"&from=team/monolithic"), nil)
		pulls(e)
		none := digest.FromString("missing").String()
		e.want(202, "POST", e.at("blobs/uploads/?mount="+none+"&from=team/monolithic"), nil)
		e.want(202, "POST", e.at("blobs/uploads/?mount="+d.String()), nil)
	})
	t.Run("Mounting a bundle's blob", func(t *testing.T) {
		e := endpoint{e.running, t, "team/based"}
		config := e.configOf("docker.io/library/nginx", "1.27")
		e.want(201, "POST", e.at("blobs/uploads/?mount="+config.String()+"&from=docker.io/nginx"), nil)
		e.want(200, "GET", e.at("blobs/"+config.String()), nil)
	})
}

// configOf returns the digest of the configuration of a bundle's image.
func (e endpoint) configOf(repo, tag string) digest.Digest {
	e.t.Helper()
	_, content := e.want(200, "GET", "/v2/"+repo+"/manifests/"+tag, nil)
	var m v1.Manifest
	must(e.t, json.Unmarshal(content, &m))
	return m.Config.Digest
}

func TestSpecificationPushManifests(t *testing.T) {
	e := conform(t, "team/app")
	content := e.manifest("a layer", nil)
	resp, d := e.pushManifest("v1", content)
	if got := e.location(resp); got != e.url(e.at("manifests/"+d.String())) {
		t.Errorf("Location %s", got)
	}
	if got := resp.Header.Get("Docker-Content-Digest"); got != d.String() {
		t.Errorf("Docker-Content-Digest %q", got)
	}
	e.pushManifest(d.String(), content)
	e.pushManifest("v1", e.manifest("another layer", nil)) // a tag moves
	kind := []string{"Content-Type", v1.MediaTypeImageManifest}
	e.fails(400, "DIGEST_INVALID", "PUT", e.at("manifests/"+digest.FromString("other").String()), content, kind...)
	e.fails(400, "DIGEST_INVALID", "PUT", e.at("manifests/"+digest.SHA512.FromBytes(content).String()), content, kind...)
	e.fails(400, "MANIFEST_INVALID", "PUT", e.at("manifests/v2"), []byte("no manifest"), kind...)
	unknown := e.manifest("a layer", func(m *v1.Manifest) {
		m.Layers = append(m.Layers, describe(v1.MediaTypeImageLayer, []byte("never pushed")))
	})
	e.fails(400, "MANIFEST_BLOB_UNKNOWN", "PUT", e.at("manifests/v2"), unknown, kind...)
	foreign := e.manifest("a layer", func(m *v1.Manifest) {
		m.Layers[0].MediaType = v1.MediaTypeImageLayerNonDistributableGzip //nolint:staticcheck // declared unsupported
		m.Layers[0].URLs = []string{"https://example.com/layer"}
	})
	if resp, body := e.send(t, "PUT", e.at("manifests/v3"), foreign, kind...); resp.StatusCode < 400 {
		t.Errorf("non-distributable layers are declared unsupported: %s: %s", resp.Status, body)
	}
	big := slices.Concat(content[:1], []byte(strings.Repeat(" ", maxManifest)), content[1:])
	e.fails(413, "MANIFEST_INVALID", "PUT", e.at("manifests/big"), big, kind...)
	full := slices.Concat(content[:1], []byte(strings.Repeat(" ", maxManifest-len(content))), content[1:])
	e.pushManifest("full", full) // the specification requires at least 4 MiB
	e.fails(400, "NAME_INVALID", "PUT", "/v2/team/App/manifests/v1", content, kind...)

	index, err := json.Marshal(v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex,
		Manifests: []v1.Descriptor{describe(v1.MediaTypeImageManifest, content)},
	})
	must(t, err)
	e.want(201, "PUT", e.at("manifests/index"), index, "Content-Type", v1.MediaTypeImageIndex)
	e.want(200, "GET", e.at("manifests/index"), nil, "Accept", v1.MediaTypeImageIndex)
}

func TestSpecificationListingTags(t *testing.T) {
	e := conform(t, "team/app")
	content := e.manifest("a layer", nil)
	want := []string{"a", "b", "c", "d"}
	for _, tag := range []string{"c", "a", "d", "b"} {
		e.pushManifest(tag, content)
	}
	list := func(path string) ([]string, *http.Response) {
		t.Helper()
		resp, body := e.want(200, "GET", path, nil)
		var tags struct {
			Name string
			Tags []string
		}
		must(t, json.Unmarshal(body, &tags))
		if tags.Name != e.repo {
			t.Errorf("name %q", tags.Name)
		}
		return tags.Tags, resp
	}
	for query, want := range map[string][]string{
		"": want, "?n=2": want[:2], "?n=0": {}, "?n=100": want, "?last=b": want[2:], "?n=1&last=b": want[2:3],
	} {
		if got, _ := list(e.at("tags/list" + query)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	_, resp := list(e.at("tags/list?n=3"))
	next, rest, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	if rest != `; rel="next"` {
		t.Errorf("Link %q", resp.Header.Get("Link"))
	}
	if got, _ := list(next); !slices.Equal(got, want[3:]) {
		t.Errorf("the next page is %v", got)
	}
	e.fails(404, "NAME_UNKNOWN", "GET", "/v2/team/none/tags/list", nil)
}

func TestSpecificationReferrers(t *testing.T) {
	e := conform(t, "team/app")
	image := e.manifest("a layer", nil)
	_, d := e.pushManifest("v1", image)
	list := func(of digest.Digest, query string) (v1.Index, *http.Response) {
		t.Helper()
		resp, body := e.want(200, "GET", e.at("referrers/"+of.String()+query), nil)
		var index v1.Index
		must(t, json.Unmarshal(body, &index))
		if index.SchemaVersion != 2 || index.MediaType != v1.MediaTypeImageIndex || resp.Header.Get("Content-Type") != v1.MediaTypeImageIndex {
			t.Errorf("%s", body)
		}
		if index.Manifests == nil {
			t.Errorf("no list: %s", body)
		}
		return index, resp
	}
	if index, _ := list(d, ""); len(index.Manifests) != 0 {
		t.Errorf("referrers of an image without referrers: %v", index.Manifests)
	}
	list(digest.FromString("unknown"), "")

	subject := describe(v1.MediaTypeImageManifest, image)
	artifact := func(kind, layer string, of v1.Descriptor) []byte {
		return e.manifest(layer, func(m *v1.Manifest) {
			m.ArtifactType, m.Subject, m.Annotations = kind, &of, map[string]string{"org.example": layer}
		})
	}
	sbom := artifact("application/spdx+json", "an SBOM", subject)
	resp, sbomDigest := e.pushManifest(digest.FromBytes(sbom).String(), sbom)
	if got := resp.Header.Get("OCI-Subject"); got != d.String() {
		t.Errorf("OCI-Subject %q", got)
	}
	signature := e.manifest("a signature", func(m *v1.Manifest) { m.Subject = &subject })
	e.pushManifest("signature", signature)
	index, err := json.Marshal(v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, ArtifactType: "application/vnd.example",
		Manifests: []v1.Descriptor{describe(v1.MediaTypeImageManifest, image)}, Subject: &subject,
	})
	must(t, err)
	resp, _ = e.want(201, "PUT", e.at("manifests/index"), index, "Content-Type", v1.MediaTypeImageIndex)
	if got := resp.Header.Get("OCI-Subject"); got != d.String() {
		t.Errorf("OCI-Subject %q of an index", got)
	}
	early := describe(v1.MediaTypeImageManifest, []byte("not pushed yet"))
	e.pushManifest("early", artifact("application/spdx+json", "early", early))

	all, _ := list(d, "")
	var kinds []string
	for _, m := range all.Manifests {
		kinds = append(kinds, m.ArtifactType)
		if m.Digest == sbomDigest && (m.Annotations["org.example"] != "an SBOM" || m.Size != int64(len(sbom)) || m.MediaType != v1.MediaTypeImageManifest) {
			t.Errorf("%+v", m)
		}
	}
	slices.Sort(kinds)
	if want := []string{"application/spdx+json", "application/vnd.example", v1.MediaTypeImageConfig}; !slices.Equal(kinds, want) {
		t.Errorf("referrers are %v, want %v", kinds, want)
	}
	some, resp := list(d, "?artifactType=application/spdx%2Bjson")
	if len(some.Manifests) != 1 || some.Manifests[0].Digest != sbomDigest || resp.Header.Get("OCI-Filters-Applied") != "artifactType" {
		t.Errorf("filtered: %v, %q", some.Manifests, resp.Header.Get("OCI-Filters-Applied"))
	}
	if found, _ := list(early.Digest, ""); len(found.Manifests) != 1 {
		t.Errorf("referrers of a manifest that is not pushed yet: %v", found.Manifests)
	}
	e.want(202, "DELETE", e.at("manifests/"+sbomDigest.String()), nil)
	if left, _ := list(d, ""); len(left.Manifests) != 2 {
		t.Errorf("after the SBOM was deleted: %v", left.Manifests)
	}
	e.fails(400, "DIGEST_INVALID", "GET", e.at("referrers/sha256:short"), nil)
}

func TestSpecificationContentManagement(t *testing.T) {
	e := conform(t, "team/app")
	content := e.manifest("a layer", nil)
	_, d := e.pushManifest("v1", content)
	e.pushManifest("v2", content)
	e.want(202, "DELETE", e.at("manifests/v1"), nil)
	e.fails(404, "MANIFEST_UNKNOWN", "GET", e.at("manifests/v1"), nil)
	e.want(200, "GET", e.at("manifests/v2"), nil)
	e.fails(404, "MANIFEST_UNKNOWN", "DELETE", e.at("manifests/v1"), nil)
	e.want(202, "DELETE", e.at("manifests/"+d.String()), nil)
	e.want(404, "GET", e.at("manifests/"+d.String()), nil)
	e.want(404, "GET", e.at("manifests/v2"), nil)
	e.fails(404, "MANIFEST_UNKNOWN", "DELETE", e.at("manifests/"+d.String()), nil)
	blob := digest.FromString("a layer").String()
	e.want(202, "DELETE", e.at("blobs/"+blob), nil)
	e.want(404, "GET", e.at("blobs/"+blob), nil)
	e.fails(404, "BLOB_UNKNOWN", "DELETE", e.at("blobs/"+blob), nil)
	e.pushManifest("v1", e.manifest("a layer", nil)) // a deleted image can be pushed again
	e.want(200, "GET", e.at("manifests/v1"), nil)
}

func TestCatalogOfBundlesAndPushes(t *testing.T) {
	e := conform(t, "aaa/app")
	e.pushManifest("v1", e.manifest("a layer", nil))
	var got []string
	for path := "/v2/_catalog?n=2"; path != ""; {
		resp, body := e.want(200, "GET", path, nil)
		var c struct{ Repositories []string }
		must(t, json.Unmarshal(body, &c))
		if len(c.Repositories) > 2 {
			t.Errorf("%d repositories in one answer", len(c.Repositories))
		}
		got = append(got, c.Repositories...)
		path, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	}
	if want := []string{"aaa/app", "airgap.invalid/canary", "docker.io/library/nginx", "quay.io/org/app", "registry.k8s.io/pause"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
