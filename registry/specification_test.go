package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// errorCodes are the codes in "Error Codes" of the specification.
func errorCodes() []string {
	return []string{
		"BLOB_UNKNOWN", "BLOB_UPLOAD_INVALID", "BLOB_UPLOAD_UNKNOWN", "DIGEST_INVALID", "MANIFEST_BLOB_UNKNOWN", "MANIFEST_INVALID", "MANIFEST_UNKNOWN",
		"NAME_INVALID", "NAME_UNKNOWN", "SIZE_INVALID", "UNAUTHORIZED", "DENIED", "UNSUPPORTED", "TOOMANYREQUESTS",
	}
}

// exchange is a request, and the answer of the specification.
type exchange struct {
	method, path string
	status       int
	code         string   // of the error; "": the answer has no error in JSON
	has          []string // headers of the answer, NAME: VALUE, or NAME if the value is not important
	sends        []string // headers of the request, names and values
	body         string
}

func (x exchange) try(e endpoint) {
	e.t.Helper()
	resp, body := e.send(e.t, x.method, x.path, []byte(x.body), x.sends...)
	if resp.StatusCode != x.status {
		e.t.Errorf("%s %s: %s, want %d: %s", x.method, x.path, resp.Status, x.status, body)
		return
	}
	for _, want := range x.has {
		name, value, exact := strings.Cut(want, ": ")
		if got := resp.Header.Values(name); len(got) == 0 || exact && got[0] != value {
			e.t.Errorf("%s %s: %s is %q, want %s", x.method, x.path, name, got, want)
		}
	}
	if x.method == http.MethodHead {
		if len(body) > 0 {
			e.t.Errorf("%s %s: a body", x.method, x.path)
		}
		return
	}
	var answer struct {
		Errors []struct{ Code, Message string }
	}
	_ = json.Unmarshal(body, &answer)
	code := ""
	if len(answer.Errors) > 0 {
		code = answer.Errors[0].Code
	}
	if code != x.code || code != "" && (!slices.Contains(errorCodes(), code) || resp.Header.Get("Content-Type") != "application/json") {
		e.t.Errorf("%s %s: code %q as %s, want %q: %s", x.method, x.path, code, resp.Header.Get("Content-Type"), x.code, body)
	}
}

// TestSpecificationEndpoints goes through the endpoints of the specification, for pushed images.
func TestSpecificationEndpoints(t *testing.T) {
	e := conform(t, "team/app")
	e.pushManifest("v2", e.manifest("another layer", nil))
	manifest := e.manifest("a layer", nil)
	_, d := e.pushManifest("v1", manifest)
	other := endpoint{e.running, t, "team/other"}
	other.pushManifest("v1", other.manifest("other layer", nil))
	blob, none := digest.FromString("a layer").String(), digest.FromString("none").String()
	upload := "blobs/uploads/" + uuid.NewString()
	oci := []string{"Accept", v1.MediaTypeImageManifest}
	put := []string{"Content-Type", v1.MediaTypeImageManifest}
	for _, x := range []exchange{
		{method: "GET", path: "/v2/", status: 200},
		{method: "POST", path: "/v2/", status: 405, code: "UNSUPPORTED", has: []string{"Allow: GET, HEAD"}},
		{method: "GET", path: "/v2/team/app", status: 404, code: "UNSUPPORTED"},
		{method: "GET", path: "/v2/team/app/layers/x", status: 404, code: "UNSUPPORTED"},
		// end-2, end-10
		{method: "GET", path: e.at("blobs/" + blob), status: 200, has: []string{"Docker-Content-Digest: " + blob, "Content-Length: 7"}},
		{method: "GET", path: e.at("blobs/" + blob), status: 304, sends: []string{"If-None-Match", `"` + blob + `"`}},
		{method: "GET", path: e.at("blobs/" + blob), status: 206, sends: []string{"Range", "bytes=-5"}, has: []string{"Content-Range: bytes 2-6/7"}},
		{method: "GET", path: e.at("blobs/" + blob), status: 416, sends: []string{"Range", "bytes=7-9"}},
		{method: "GET", path: e.at("blobs/" + blob), status: 416, sends: []string{"Range", "bytes=5-2"}},
		{method: "GET", path: e.at("blobs/" + none), status: 404, code: "BLOB_UNKNOWN"},
		{method: "GET", path: other.at("blobs/" + blob), status: 404, code: "BLOB_UNKNOWN"},
		{method: "GET", path: "/v2/team/none/blobs/" + blob, status: 404, code: "BLOB_UNKNOWN"},
		{method: "GET", path: e.at("blobs/latest"), status: 400, code: "DIGEST_INVALID"},
		{method: "GET", path: e.at("blobs/sha256:"), status: 400, code: "DIGEST_INVALID"},
		{method: "DELETE", path: e.at("blobs/" + none), status: 404, code: "BLOB_UNKNOWN"},
		{method: "DELETE", path: e.at("blobs/sha256:short"), status: 400, code: "DIGEST_INVALID"},
		{method: "PUT", path: e.at("blobs/" + blob), status: 405, code: "UNSUPPORTED", has: []string{"Allow: GET, HEAD, DELETE"}},
		// end-3, end-9
		{method: "GET", path: e.at("manifests/v1"), status: 200, sends: oci, has: []string{"Docker-Content-Digest: " + d.String(), "Content-Type: " + v1.MediaTypeImageManifest}},
		{method: "GET", path: e.at("manifests/v1"), status: 304, sends: []string{"If-None-Match", `"` + d.String() + `"`}},
		{method: "GET", path: e.at("manifests/none"), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "GET", path: e.at("manifests/" + none), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "GET", path: e.at("manifests/-v1"), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "GET", path: e.at("manifests/" + strings.Repeat("v", 129)), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "GET", path: e.at("manifests/sha256:short"), status: 400, code: "DIGEST_INVALID"},
		{method: "GET", path: "/v2/team/none/manifests/v1", status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "DELETE", path: e.at("manifests/none"), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "DELETE", path: e.at("manifests/" + none), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "DELETE", path: e.at("manifests/" + digest.SHA512.FromString("x").String()), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "DELETE", path: "/v2/team/none/manifests/" + d.String(), status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "DELETE", path: e.at("manifests/sha256:short"), status: 400, code: "DIGEST_INVALID"},
		{method: "POST", path: e.at("manifests/v1"), status: 405, code: "UNSUPPORTED", has: []string{"Allow: GET, HEAD, PUT, DELETE"}},
		{method: "OPTIONS", path: e.at("manifests/v1"), status: 405, code: "UNSUPPORTED"},
		// end-4, end-5, end-6, end-11, end-13, end-14
		{method: "POST", path: e.at("blobs/uploads/"), status: 202, has: []string{"Location", "Docker-Upload-UUID"}},
		{method: "POST", path: e.at("blobs/uploads"), status: 202, has: []string{"Location"}},
		{method: "POST", path: e.at("blobs/uploads/?digest=" + url.QueryEscape(blob)), status: 202, has: []string{"Location"}, body: "a layer"},
		{method: "POST", path: e.at("blobs/uploads/?digest=" + digest.SHA512.FromString("x").String()), status: 400, code: "DIGEST_INVALID"},
		{method: "POST", path: e.at("blobs/uploads/?mount=" + none + "&from=team/other"), status: 202, has: []string{"Location"}},
		{method: "POST", path: e.at("blobs/uploads/?mount=sha256:short&from=team/other"), status: 202, has: []string{"Location"}},
		{method: "POST", path: e.at("blobs/uploads/?mount=" + blob + "&from=Team/Other"), status: 202, has: []string{"Location"}},
		{method: "POST", path: other.at("blobs/uploads/?mount=" + blob + "&from=team/app"), status: 201, has: []string{"Location: " + other.at("blobs/"+blob), "Docker-Content-Digest: " + blob}},
		{method: "GET", path: e.at("blobs/uploads/"), status: 405, code: "UNSUPPORTED", has: []string{"Allow: POST"}},
		{method: "GET", path: e.at(upload), status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
		{method: "GET", path: e.at("blobs/uploads/x=y"), status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
		{method: "PATCH", path: e.at("blobs/uploads/none"), status: 404, code: "BLOB_UPLOAD_UNKNOWN", body: "x"},
		{method: "PATCH", path: e.at(upload), status: 404, code: "BLOB_UPLOAD_INVALID", body: "x", sends: []string{"Content-Range", "0-0"}},
		{method: "PUT", path: e.at(upload + "?digest=" + blob), status: 404, code: "BLOB_UPLOAD_INVALID"},
		{method: "DELETE", path: e.at(upload), status: 404, code: "BLOB_UPLOAD_INVALID"},
		// end-7
		{method: "PUT", path: e.at("manifests/v3"), status: 201, sends: put, body: string(manifest), has: []string{"Location: " + e.at("manifests/"+d.String()), "Docker-Content-Digest: " + d.String()}},
		{method: "PUT", path: e.at("manifests/-v1"), status: 400, code: "MANIFEST_INVALID", sends: put, body: string(manifest)},
		{method: "PUT", path: e.at("manifests/" + none), status: 400, code: "DIGEST_INVALID", sends: put, body: string(manifest)},
		{method: "PUT", path: e.at("manifests/sha256:short"), status: 400, code: "DIGEST_INVALID", sends: put, body: string(manifest)},
		// end-8
		{method: "GET", path: "/v2/team/none/tags/list", status: 404, code: "NAME_UNKNOWN"},
		{method: "GET", path: e.at("tags/list?n=x"), status: 400, code: "UNSUPPORTED"},
		{method: "GET", path: e.at("tags/list?n=-1"), status: 400, code: "UNSUPPORTED"},
		{method: "GET", path: e.at("tags/all"), status: 404, code: "UNSUPPORTED"},
		{method: "DELETE", path: e.at("tags/list"), status: 405, code: "UNSUPPORTED", has: []string{"Allow: GET, HEAD"}},
		// names
		{method: "GET", path: "/v2/team/App/tags/list", status: 400, code: "NAME_INVALID"},
		{method: "GET", path: "/v2/team/" + strings.Repeat("a", 300) + "/tags/list", status: 400, code: "NAME_INVALID"},
		{method: "PUT", path: "/v2/registry.k8s.io/pause/manifests/3", status: 403, code: "DENIED", sends: put, body: string(manifest)},
	} {
		x.try(e)
	}
}

// TestSpecificationHead: HEAD has the status and the headers of GET.
func TestSpecificationHead(t *testing.T) {
	e := conform(t, "team/app")
	_, d := e.pushManifest("v1", e.manifest("a layer", nil))
	for _, path := range []string{
		"/v2/", "/v2/_catalog", e.at("manifests/v1"), e.at("manifests/" + d.String()), e.at("manifests/none"), e.at("blobs/" + digest.FromString("a layer").String()),
		e.at("blobs/" + digest.FromString("none").String()), e.at("blobs/sha256:short"), e.at("tags/list"), e.at("tags/list?n=0"), "/v2/team/none/tags/list",
		e.at("referrers/" + d.String()), e.at("blobs/uploads/none"), "/v2/registry.k8s.io/pause/manifests/3.10.2", "/v2/registry.k8s.io/pause/tags/list",
	} {
		got, _ := e.send(t, "GET", path, nil)
		head, body := e.send(t, "HEAD", path, nil)
		if head.StatusCode != got.StatusCode || len(body) > 0 {
			t.Errorf("%s: GET %s, HEAD %s", path, got.Status, head.Status)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Docker-Content-Digest", "Etag", "Link"} {
			if g, h := got.Header.Get(name), head.Header.Get(name); g != h {
				t.Errorf("%s: %s is %q for GET, %q for HEAD", path, name, g, h)
			}
		}
	}
}

// TestSpecificationReadOnly: the repositories of bundles, in a registry without users who may push, and
// for a user.
func TestSpecificationReadOnly(t *testing.T) {
	f := bundletest.New(t)
	d, image := digestOf(t, f.Images[0].Held), "/v2/docker.io/library/nginx/"
	layer, _ := firstLayer(t, f.Images[0].Held)
	none, upload := digest.FromString("none").String(), image+"blobs/uploads/"+uuid.NewString()
	reads := []exchange{
		{method: "GET", path: image + "manifests/1.27", status: 200, has: []string{"Docker-Content-Digest: " + d, "Content-Type"}},
		{method: "HEAD", path: image + "manifests/" + d, status: 200, has: []string{"Docker-Content-Digest: " + d, "Content-Length"}},
		{method: "GET", path: image + "manifests/none", status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "GET", path: image + "manifests/" + none, status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "GET", path: "/v2/docker.io/library/none/manifests/1", status: 404, code: "MANIFEST_UNKNOWN"},
		{method: "GET", path: image + "blobs/" + layer, status: 200, has: []string{"Docker-Content-Digest: " + layer}},
		{method: "HEAD", path: image + "blobs/" + layer, status: 200, has: []string{"Docker-Content-Digest: " + layer, "Content-Length"}},
		{method: "GET", path: image + "blobs/" + layer, status: 206, sends: []string{"Range", "bytes=0-0"}, has: []string{"Content-Range"}},
		{method: "GET", path: image + "blobs/" + layer, status: 416, sends: []string{"Range", "bytes=99999999-"}},
		{method: "GET", path: image + "blobs/" + none, status: 404, code: "BLOB_UNKNOWN"},
		{method: "GET", path: image + "blobs/sha256:short", status: 400, code: "DIGEST_INVALID"},
		{method: "GET", path: image + "tags/list", status: 200, has: []string{"Content-Type: application/json"}},
		{method: "GET", path: image + "tags/list?n=0", status: 200},
		{method: "GET", path: "/v2/docker.io/library/none/tags/list", status: 404, code: "NAME_UNKNOWN"},
		{method: "GET", path: image + "referrers/" + d, status: 200, has: []string{"Content-Type: " + v1.MediaTypeImageIndex}},
		{method: "GET", path: image + "referrers/" + none + "?artifactType=x", status: 200, has: []string{"OCI-Filters-Applied: artifactType"}},
		{method: "GET", path: "/v2/docker.io/library/none/referrers/" + d, status: 200},
		{method: "GET", path: image + "referrers/sha256:short", status: 400, code: "DIGEST_INVALID"},
		{method: "PATCH", path: image + "manifests/1.27", status: 405, code: "UNSUPPORTED", has: []string{"Allow"}},
		{method: "POST", path: image + "tags/list", status: 405, code: "UNSUPPORTED", has: []string{"Allow: GET, HEAD"}},
	}
	writes := []exchange{
		{method: "PUT", path: image + "manifests/1.27", body: "{}"}, {method: "DELETE", path: image + "manifests/1.27"}, {method: "DELETE", path: image + "manifests/" + d},
		{method: "DELETE", path: image + "blobs/" + layer}, {method: "POST", path: image + "blobs/uploads/"}, {method: "POST", path: image + "blobs/uploads/?mount=" + layer + "&from=team/app"},
		{method: "PATCH", path: upload, body: "x"}, {method: "PUT", path: upload + "?digest=" + none}, {method: "DELETE", path: upload}, {method: "GET", path: upload},
	}
	site, _ := startSite(t, f.Open(t))
	for name, test := range map[string]struct {
		r      *running
		status int
		code   string
	}{
		"read-only":     {startWith(t, Options{Bundles: []*bundle.Bundle{f.Open(t)}}), 405, "UNSUPPORTED"},
		"with a pusher": {site, 403, "DENIED"},
	} {
		t.Run(name, func(t *testing.T) {
			e := endpoint{test.r, t, ""}
			for _, x := range reads {
				x.try(e)
			}
			for _, x := range writes {
				x.status, x.code = test.status, test.code
				x.try(e)
			}
		})
	}
}

// TestSpecificationUnauthorized: without credentials, a write gets the challenge and its error.
func TestSpecificationUnauthorized(t *testing.T) {
	e := conform(t, "team/app")
	for _, c := range []struct{ method, path string }{
		{"PUT", e.at("manifests/v1")}, {"DELETE", e.at("manifests/v1")}, {"DELETE", e.at("blobs/" + digest.FromString("x").String())}, {"POST", e.at("blobs/uploads/")},
		{"PATCH", e.at("blobs/uploads/x")}, {"PUT", e.at("blobs/uploads/x?digest=x")}, {"GET", e.at("blobs/uploads/x")}, {"DELETE", e.at("blobs/uploads/x")},
	} {
		resp, body, err := e.get(t, c.method, c.path)
		must(t, err)
		if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" || !strings.Contains(string(body), `"code":"UNAUTHORIZED"`) {
			t.Errorf("%s %s: %s: %s", c.method, c.path, resp.Status, body)
		}
	}
}

// TestSpecificationTags: the pages of a list of tags have a Link only if more tags exist.
func TestSpecificationTags(t *testing.T) {
	e := conform(t, "team/app")
	content := e.manifest("a layer", nil)
	for _, tag := range []string{"v10", "v1", "V2", "_x", "v1-rc", "v1.0"} {
		e.pushManifest(tag, content)
	}
	sorted := []string{"V2", "_x", "v1", "v1-rc", "v1.0", "v10"}
	for query, want := range map[string]struct {
		tags []string
		next string
	}{
		"":               {sorted, ""},
		"?n=6":           {sorted, ""},
		"?n=7":           {sorted, ""},
		"?n=0":           {[]string{}, ""},
		"?n=5":           {sorted[:5], "last=v1.0&n=5"},
		"?n=1&last=v1":   {sorted[3:4], "last=v1-rc&n=1"},
		"?last=v1.0":     {sorted[5:], ""},
		"?last=v10":      {[]string{}, ""},
		"?last=none":     {sorted[2:], ""},
		"?n=2&last=v1":   {sorted[3:5], "last=v1.0&n=2"},
		"?n=3&last=v1":   {sorted[3:], ""},
		"?n=2&last=zzzz": {[]string{}, ""},
	} {
		resp, body := e.want(200, "GET", e.at("tags/list"+query), nil)
		var tags struct{ Tags []string }
		must(t, json.Unmarshal(body, &tags))
		link := resp.Header.Get("Link")
		if want.next != "" && link != fmt.Sprintf(`<%s?%s>; rel="next"`, e.at("tags/list"), want.next) || want.next == "" && link != "" || !slices.Equal(tags.Tags, want.tags) || tags.Tags == nil {
			t.Errorf("%s: %s, Link %q", query, body, link)
		}
	}
	byDigest := endpoint{e.running, t, "team/untagged"}
	byDigest.pushManifest(digest.FromBytes(content).String(), byDigest.manifest("a layer", nil))
	if _, body := e.want(200, "GET", byDigest.at("tags/list"), nil); strings.TrimSpace(string(body)) != `{"name":"team/untagged","tags":[]}` {
		t.Errorf("a repository without tags: %s", body)
	}
}

// TestSpecificationEmptyBlob: a blob without bytes can be pushed, in one request and in chunks, and pulled.
func TestSpecificationEmptyBlob(t *testing.T) {
	for _, repo := range []string{"team/whole", "team/chunks"} {
		e := conform(t, repo)
		d := digest.FromBytes(nil).String()
		resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
		if repo == "team/chunks" {
			resp, _ = e.want(202, "PATCH", e.location(resp), nil)
		}
		e.want(201, "PUT", e.location(resp, "digest", d), nil)
		for _, method := range []string{"GET", "HEAD"} {
			exchange{method: method, path: e.at("blobs/" + d), status: 200, has: []string{"Content-Length: 0", "Docker-Content-Digest: " + d}}.try(e)
		}
		e.want(202, "DELETE", e.at("blobs/"+d), nil)
		e.want(404, "HEAD", e.at("blobs/"+d), nil)
	}
}

// stream sends a body without announcing its length.
func (e endpoint) stream(method, path, body string, header ...string) *http.Response {
	e.t.Helper()
	req, err := http.NewRequest(method, path, struct{ io.Reader }{bytes.NewReader([]byte(body))})
	must(e.t, err)
	req.SetBasicAuth(pusher, password)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := e.client.Do(req)
	must(e.t, err)
	resp.Body.Close()
	return resp
}
