package registry

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/bundletest"
)

// endpoint sends requests to one repository, as the user who may push.
type endpoint struct {
	*running
	t    *testing.T
	repo string
}

func (e endpoint) at(kind string) string { return "/v2/" + e.repo + "/" + kind }

// want sends a request and expects this status.
func (e endpoint) want(status int, method, path string, body []byte, header ...string) (*http.Response, []byte) {
	e.t.Helper()
	resp, content := e.send(e.t, method, path, body, header...)
	if resp.StatusCode != status {
		e.t.Fatalf("%s %s: %s, want %d: %s", method, path, resp.Status, status, content)
	}
	return resp, content
}

// fails sends a request and expects this status and an error in the format of the specification.
func (e endpoint) fails(status int, code, method, path string, body []byte, header ...string) {
	e.t.Helper()
	_, content := e.want(status, method, path, body, header...)
	var answer struct {
		Errors []struct{ Code, Message string }
	}
	if err := json.Unmarshal(content, &answer); err != nil || len(answer.Errors) == 0 || answer.Errors[0].Code != code {
		e.t.Errorf("%s %s: %s, want the code %s", method, path, content, code)
	}
}

// location returns the URL of the answer's Location header, which may be relative, with the query added.
func (e endpoint) location(resp *http.Response, query ...string) string {
	e.t.Helper()
	u, err := resp.Location()
	if err != nil {
		e.t.Fatalf("Location %q: %v", resp.Header.Get("Location"), err)
	}
	values := u.Query()
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	u.RawQuery = values.Encode()
	return u.String()
}

func (e endpoint) pushBlob(content []byte) {
	e.t.Helper()
	resp, _ := e.want(202, "POST", e.at("blobs/uploads/"), nil)
	e.want(201, "PUT", e.location(resp, "digest", digest.FromBytes(content).String()), content, "Content-Type", "application/octet-stream")
}

func describe(mediaType string, content []byte) v1.Descriptor {
	return v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
}

// manifest returns a manifest with one layer, and pushes its blobs.
func (e endpoint) manifest(layer string, change func(*v1.Manifest)) []byte {
	e.t.Helper()
	config := []byte(`{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}`)
	e.pushBlob(config)
	e.pushBlob([]byte(layer))
	m := v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: describe(v1.MediaTypeImageConfig, config),
		Layers: []v1.Descriptor{describe(v1.MediaTypeImageLayer, []byte(layer))},
	}
	if change != nil {
		change(&m)
	}
	content, err := json.Marshal(m)
	must(e.t, err)
	return content
}

func (e endpoint) pushManifest(reference string, content []byte) (*http.Response, digest.Digest) {
	e.t.Helper()
	resp, _ := e.want(201, "PUT", e.at("manifests/"+reference), content, "Content-Type", v1.MediaTypeImageManifest)
	return resp, digest.FromBytes(content)
}

func conform(t *testing.T, repo string) endpoint {
	t.Helper()
	r, _ := startSite(t, bundletest.New(t).Open(t))
	return endpoint{r, t, repo}
}
