package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/registry/ledger"
)

// TestSpecificationChunks: a chunk that does not continue the upload gets 416, and the upload goes on.
func TestSpecificationChunks(t *testing.T) {
	e := conform(t, "team/app")
	const content = "0123456789"
	d := digest.FromString(content).String()
	location := func(resp *http.Response) string { return e.location(resp) }
	for name, status := range map[string]int{
		"5-9": 416, "0-4": 416, "4-9": 416, "7-9": 416, "9-5": 416, "x": 416, "5": 416, "-5": 416, "5-": 416, "5-x": 416, "+5-9": 416, "5-99999999999999999999": 416,
	} {
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		resp, _ = e.want(202, "PATCH", location(resp), []byte(content[:3]), "Content-Range", "0-2")
		for _, method := range []string{"PATCH", "PUT"} {
			query := []string{}
			if method == "PUT" {
				query = []string{"digest", d}
			}
			refused, body := e.send(t, method, e.location(resp, query...), []byte(content[3:]), "Content-Range", name)
			if refused.StatusCode != status || refused.Header.Get("Range") != "0-2" || !strings.Contains(string(body), `"code":"BLOB_UPLOAD_INVALID"`) {
				t.Errorf("%s %s: %s, Range %q: %s", method, name, refused.Status, refused.Header.Get("Range"), body)
			}
			if streamed := e.stream(method, e.location(resp, query...), content[3:], "Content-Range", name); streamed.StatusCode != status {
				t.Errorf("%s %s without a length: %s", method, name, streamed.Status)
			}
		}
		resp, _ = e.want(204, "GET", location(resp), nil)
		if got := resp.Header.Get("Range"); got != "0-2" {
			t.Errorf("%s: Range %q", name, got)
		}
		e.want(201, "PUT", e.location(resp, "digest", d), []byte(content[3:]), "Content-Range", "3-9")
	}
	resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
	e.fails(416, "BLOB_UPLOAD_INVALID", "PATCH", location(resp), []byte("x"), "Content-Range", "1-1") // the first chunk starts at 0
	e.fails(400, "SIZE_INVALID", "PATCH", location(resp), []byte("xy"), "Content-Range", "0-0")
	stale := resp
	resp, _ = e.want(202, "PATCH", location(resp), []byte(content[:4]), "Content-Range", "bytes 0-3/10") // as in HTTP
	e.want(416, "PATCH", location(stale), []byte(content[4:]))                                           // the location of an earlier answer
	for _, kind := range []string{"text/plain", "application/octet-stream; x=y", ""} {
		resp, _ = e.want(202, "PATCH", location(resp), nil, "Content-Type", kind)
	}
	resp = e.stream("PATCH", location(resp), content[4:8])
	if resp.StatusCode != 202 || resp.Header.Get("Range") != "0-7" {
		t.Errorf("a stream: %s, Range %s", resp.Status, resp.Header.Get("Range"))
	}
	done := e.location(resp, "digest", d)
	e.want(201, "PUT", done, []byte(content[8:]), "Content-Type", "text/plain")
	e.want(404, "PUT", done, nil) // the upload has ended
	for _, bad := range []string{"", "sha256:short", "md5:x", digest.FromString("other").String()} {
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		e.fails(400, "DIGEST_INVALID", "PUT", e.location(resp, "digest", bad), []byte(content))
	}
}

// TestSpecificationManifests: a manifest that the registry does not accept gets 4xx, with the reason.
func TestSpecificationManifests(t *testing.T) {
	e := conform(t, "team/app")
	image := e.manifest("a layer", nil)
	_, d := e.pushManifest("v1", image)
	layer := describe(v1.MediaTypeImageLayer, []byte("a layer"))
	change := func(do func(*v1.Manifest)) []byte { return e.manifest("a layer", do) }
	docker, foreign := "application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
	for name, c := range map[string]struct {
		kind   string
		body   []byte
		status int
		code   string
		reason string
	}{
		"no JSON":              {v1.MediaTypeImageManifest, []byte("text"), 400, "MANIFEST_INVALID", "invalid character"},
		"empty":                {v1.MediaTypeImageManifest, nil, 400, "MANIFEST_INVALID", ""},
		"a list":               {v1.MediaTypeImageManifest, []byte("[]"), 400, "MANIFEST_INVALID", ""},
		"schema 1":             {"application/vnd.docker.distribution.manifest.v1+json", []byte(`{"schemaVersion": 1, "name": "x"}`), 400, "MANIFEST_INVALID", "schemaVersion is 1"},
		"no schema":            {v1.MediaTypeImageManifest, []byte(`{}`), 400, "MANIFEST_INVALID", "schemaVersion is 0"},
		"schema 3 of an index": {v1.MediaTypeImageIndex, []byte(`{"schemaVersion": 3, "manifests": []}`), 400, "MANIFEST_INVALID", "schemaVersion is 3"},
		"another type":         {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.MediaType = v1.MediaTypeImageIndex }), 400, "MANIFEST_INVALID", ""},
		"no digest":            {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Layers[0].Digest = "" }), 400, "DIGEST_INVALID", ""},
		"a short digest":       {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Config.Digest = "sha256:short" }), 400, "DIGEST_INVALID", "sha256:short"},
		"an unknown algorithm": {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Layers[0].Digest = "blake9:00" }), 400, "DIGEST_INVALID", "blake9:00"},
		"an unknown layer": {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Layers[0] = describe(v1.MediaTypeImageLayer, []byte("none")) }), 400,
			"MANIFEST_BLOB_UNKNOWN", digest.FromString("none").String()},
		"a layer elsewhere": {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) {
			m.Layers[0].MediaType, m.Layers[0].URLs = v1.MediaTypeImageLayerNonDistributableGzip, []string{"https://example.com/layer"} //nolint:staticcheck // refused
		}), 400, "MANIFEST_INVALID", "is outside the registry"},
		"a layer of Windows": {docker, change(func(m *v1.Manifest) {
			m.MediaType, m.Layers[0].MediaType, m.Layers[0].URLs = docker, foreign, []string{"https://example.com/layer"}
		}), 400, "MANIFEST_INVALID", "is outside the registry"},
		"a layer of Windows without an address": {docker, change(func(m *v1.Manifest) { m.MediaType, m.Layers[0].MediaType = docker, foreign }), 400, "MANIFEST_INVALID", "is outside the registry"},
		"an odd address":                        {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Layers[0].URLs = []string{"file:///etc"} }), 400, "MANIFEST_INVALID", "no web address"},
		"a second source of a layer":            {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Layers[0].URLs = []string{"https://example.com/layer"} }), 201, "", ""},
		"parameters of the type":                {v1.MediaTypeImageManifest + "; charset=utf-8", image, 201, "", ""},
		"no layers":                             {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Layers = []v1.Descriptor{} }), 201, "", ""},
		"no layers, as null":                    {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Layers = nil }), 201, "", ""},
		"an empty index":                        {v1.MediaTypeImageIndex, []byte(`{"schemaVersion": 2, "mediaType": "` + v1.MediaTypeImageIndex + `", "manifests": []}`), 201, "", ""},
		"a subject that cannot exist":           {v1.MediaTypeImageManifest, change(func(m *v1.Manifest) { m.Subject = &v1.Descriptor{MediaType: "x/y", Digest: "x\r\ny"} }), 201, "", ""},
	} {
		resp, body := e.send(t, "PUT", e.at("manifests/test"), c.body, "Content-Type", c.kind)
		if resp.StatusCode != c.status || c.code != "" && !strings.Contains(string(body), `"code":"`+c.code+`"`) || !strings.Contains(string(body), c.reason) {
			t.Errorf("%s: %s: %s, want %d %s: %s", name, resp.Status, body, c.status, c.code, c.reason)
		}
		if c.status == 201 {
			d := digest.FromBytes(c.body).String()
			exchange{method: "GET", path: e.at("manifests/test"), status: 200, has: []string{"Docker-Content-Digest: " + d}}.try(e)
			if got := resp.Header.Get("OCI-Subject"); got != "" {
				t.Errorf("%s: OCI-Subject %q", name, got)
			}
		}
	}
	index, err := json.Marshal(v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{{MediaType: v1.MediaTypeImageManifest, Digest: d, Size: int64(len(image))}},
		Subject: &layer,
	})
	must(t, err)
	exchange{method: "PUT", path: e.at("manifests/index"), body: string(index), sends: []string{"Content-Type", v1.MediaTypeImageIndex}, status: 201, has: []string{
		"OCI-Subject: " + layer.Digest.String(), "Location: " + e.at("manifests/"+digest.FromBytes(index).String()),
	}}.try(e)
}

// TestSpecificationDeletions: a deleted manifest is gone with its tags, and no others. Deleted content
// can be pushed again.
func TestSpecificationDeletions(t *testing.T) {
	e := conform(t, "team/app")
	one, two := e.manifest("layer 1", nil), e.manifest("layer 2", nil)
	for tag, content := range map[string][]byte{"a": one, "b": one, "c": one, "d": two, "e": two} {
		e.pushManifest(tag, content)
	}
	e.pushManifest("c", two) // moved
	first, second := digest.FromBytes(one).String(), digest.FromBytes(two).String()
	for range 2 {
		e.want(202, "DELETE", e.at("manifests/"+first), nil)
		e.fails(404, "MANIFEST_UNKNOWN", "DELETE", e.at("manifests/"+first), nil)
		for reference, status := range map[string]int{first: 404, "a": 404, "b": 404, "c": 200, "d": 200, second: 200} {
			for _, method := range []string{"GET", "HEAD"} {
				e.want(status, method, e.at("manifests/"+reference), nil)
			}
		}
		if _, body := e.want(200, "GET", e.at("tags/list"), nil); !strings.Contains(string(body), `"tags":["c","d","e"]`) {
			t.Errorf("%s", body)
		}
		e.fails(404, "MANIFEST_UNKNOWN", "DELETE", e.at("manifests/a"), nil)
		e.pushManifest("a", one)
		e.pushManifest("b", one)
		e.want(200, "GET", e.at("manifests/"+first), nil)
	}
	records, _, err := e.peer(t).Pushed(t.Context(), "")
	if err != nil || records["team/app"]["a"].Deleted() || records["team/app"]["c"].Digest.String() != second {
		t.Errorf("%v, %v", records, err)
	}
}

// TestCostOfADeletion: the deletion of a manifest reads the files of its own tags, not of all tags.
func TestCostOfADeletion(t *testing.T) {
	cost := func(tags int) int64 {
		users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
		writeUser(t, users)
		var target digest.Digest
		t.Run(fmt.Sprint(tags, " tags"), func(t *testing.T) {
			e := endpoint{startWith(t, Options{Pushed: pushed, Users: users}), t, "team/app"}
			content := e.manifest("a layer", nil)
			for i := range tags {
				e.pushManifest(fmt.Sprint("tag", i), content)
			}
			_, target = e.pushManifest("target", e.manifest("another layer", nil))
		})
		s, counting := countedStorage(t, pushed)
		p, err := newPushes(&catalog{}, s, users, discard())
		must(t, err)
		t.Cleanup(func() { must(t, p.ledger.Close()) })
		before := counting.reads.Load()
		w := httptest.NewRecorder()
		p.delete(w, httptest.NewRequestWithContext(context.Background(), http.MethodDelete, "/", nil), ledger.Reference{Repository: "team/app", Reference: target.String()}, pusher, nil)
		if w.Code != http.StatusAccepted {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		return counting.reads.Load() - before
	}
	few, many := cost(2), cost(40)
	if many > few {
		t.Errorf("%d reads with 40 tags, %d with 2", many, few)
	}
}
