package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/bundletest"
)

// artifact pushes a manifest that refers to another one, and returns its digest.
func (e endpoint) artifact(kind, content string, of v1.Descriptor) digest.Digest {
	e.t.Helper()
	manifest := e.manifest(content, func(m *v1.Manifest) {
		m.ArtifactType, m.Subject, m.Annotations = kind, &of, map[string]string{"org.example": content}
	})
	_, d := e.pushManifest(digest.FromBytes(manifest).String(), manifest)
	return d
}

// referrers returns the digests of all pages of the list.
func (e endpoint) referrers(of digest.Digest, query string) (found []digest.Digest, pages int) {
	e.t.Helper()
	for path := e.at("referrers/" + of.String() + query); path != ""; pages++ {
		resp, body := e.want(200, "GET", path, nil)
		if len(body) > maxManifest {
			e.t.Errorf("an answer with %d bytes", len(body))
		}
		var index v1.Index
		must(e.t, json.Unmarshal(body, &index))
		for _, m := range index.Manifests {
			found = append(found, m.Digest)
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	}
	return found, pages
}

// manifestFile returns the file of a pushed manifest, or with link, the link of the repository team/app.
func manifestFile(pushed string, d digest.Digest, link bool) string {
	if link {
		return filepath.Join(pushed, repositoryPath("team/app"), revisionPath(d))
	}
	return filepath.Join(pushed, dataPath(d))
}

// TestOneBadReferrer: a manifest that cannot be read is left out, and logged. The others are listed.
func TestOneBadReferrer(t *testing.T) {
	for name, damage := range map[string]func(pushed string, d digest.Digest) error{
		"no JSON": func(pushed string, d digest.Digest) error {
			return os.WriteFile(manifestFile(pushed, d, false), []byte("{"), 0o600)
		},
		"no content": func(pushed string, d digest.Digest) error {
			return os.Remove(manifestFile(pushed, d, false))
		},
		"another kind of document": func(pushed string, d digest.Digest) error {
			return os.WriteFile(manifestFile(pushed, d, false), []byte(`{"schemaVersion": 2, "mediaType": "text/plain"}`), 0o600)
		},
		"an empty link": func(pushed string, d digest.Digest) error {
			return os.WriteFile(manifestFile(pushed, d, true), nil, 0o600)
		},
		"a link to nothing": func(pushed string, d digest.Digest) error {
			return os.WriteFile(manifestFile(pushed, d, true), []byte("sha256:short"), 0o600)
		},
		"a directory that is no digest": func(pushed string, d digest.Digest) error {
			return os.Mkdir(filepath.Join(filepath.Dir(filepath.Dir(manifestFile(pushed, d, true))), "x"), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, pushed := startSite(t)
			e := endpoint{r, t, "team/app"}
			subject := describe(v1.MediaTypeImageManifest, []byte("an image that is not pushed yet"))
			bad, good := e.artifact("application/x", "bad", subject), e.artifact("application/x", "good", subject)
			want := []digest.Digest{good}
			must(t, damage(pushed, bad))
			if strings.HasPrefix(name, "a directory") {
				want = append(want, bad)
				slices.Sort(want)
			}
			if found, _ := e.referrers(subject.Digest, ""); !slices.Equal(found, want) {
				t.Errorf("%v, want %v", found, want)
			}
			if !strings.Contains(r.log.String(), `"msg":"a manifest is not in the list of referrers","repository":"team/app"`) {
				t.Errorf("log:\n%s", r.log)
			}
		})
	}
}

// TestReferrersOfNothing: an unknown repository or manifest has no referrers, and is no error, also
// in a repository of a bundle and under the name of an upstream host.
func TestReferrersOfNothing(t *testing.T) {
	r, _ := startSite(t, bundletest.New(t).Open(t))
	e := endpoint{r, t, "team/app"}
	e.pushBlob([]byte("a blob without a manifest"))
	none := digest.FromString("none").String()
	for _, path := range []string{
		"/v2/team/app/referrers/" + none, "/v2/team/unknown/referrers/" + none, "/v2/library/unknown/referrers/" + none + "?ns=docker.io",
		"/v2/docker.io/library/nginx/referrers/" + none, "/v2/team/app/referrers/" + digest.SHA512.FromString("x").String(),
		"/v2/team/app/referrers/" + none + "?artifactType=",
	} {
		for _, method := range []string{"GET", "HEAD"} {
			resp, body := e.want(200, method, path, nil)
			if got := resp.Header.Get("Content-Type"); got != v1.MediaTypeImageIndex || method == "GET" && !strings.Contains(string(body), `"manifests":[]`) {
				t.Errorf("%s %s: %s: %s", method, path, got, body)
			}
			if got := resp.Header.Get("OCI-Filters-Applied"); got != "" {
				t.Errorf("%s %s: OCI-Filters-Applied %s", method, path, got)
			}
		}
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if resp, _ := e.want(405, method, path, nil); resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: Allow %q", method, path, resp.Header.Get("Allow"))
			}
		}
	}
	for _, bad := range []string{"sha256:short", "latest", "sha256:", "md5:" + strings.Repeat("0", 32)} {
		e.fails(400, "DIGEST_INVALID", "GET", e.at("referrers/"+bad), nil)
	}
}

// TestReferrersFollowPushes: the list is right after pushes and deletions, also those of another host.
func TestReferrersFollowPushes(t *testing.T) {
	a, b := newRegistryHost(t), newRegistryHost(t)
	a.follow(t, b)
	b.follow(t, a)
	e := endpoint{&a.running, t, "team/app"}
	image := e.manifest("a layer", nil)
	_, d := e.pushManifest("v1", image)
	subject := describe(v1.MediaTypeImageManifest, image)
	if found, _ := e.referrers(d, ""); len(found) != 0 {
		t.Errorf("at the start: %v", found)
	}
	first := e.artifact("application/first", "first", subject)
	second := e.artifact("application/second", "second", subject)
	e.artifact("application/second", "second", subject) // once more
	other := endpoint{&b.running, t, "team/app"}
	both := []digest.Digest{first, second}
	slices.Sort(both)
	is := func(e endpoint, want ...digest.Digest) func() error {
		return func() error {
			if found, _ := e.referrers(d, ""); !slices.Equal(found, want) {
				return fmt.Errorf("%v, want %v", found, want)
			}
			return nil
		}
	}
	must(t, is(e, both...)())
	eventually(t, "the other host", is(other, both...))
	e.want(202, "DELETE", e.at("manifests/"+first.String()), nil)
	must(t, is(e, second)())
	eventually(t, "the other host after a deletion", is(other, second))
	third := other.artifact("application/third", "third", subject)
	both = []digest.Digest{second, third}
	slices.Sort(both)
	eventually(t, "a push to the other host", is(e, both...))
	if found, _ := e.referrers(d, "?artifactType="+url.QueryEscape("application/third")); !slices.Equal(found, []digest.Digest{third}) {
		t.Errorf("filtered: %v", found)
	}
	if found, _ := e.referrers(d, "?artifactType=application/none"); len(found) != 0 {
		t.Errorf("filtered by an unknown type: %v", found)
	}
}

// TestManyReferrers: large lists come in pages of bounded size.
func TestManyReferrers(t *testing.T) {
	e := conform(t, "team/app")
	subject := describe(v1.MediaTypeImageManifest, []byte("image"))
	e.manifest("a layer", nil)
	var want []digest.Digest
	for i := range 10 {
		manifest := e.manifest("a layer", func(m *v1.Manifest) {
			m.ArtifactType, m.Subject = fmt.Sprint("application/", i%2), &subject
			m.Annotations = map[string]string{"n": fmt.Sprint(i), "large": strings.Repeat("x", 900_000)}
		})
		_, d := e.pushManifest(digest.FromBytes(manifest).String(), manifest)
		want = append(want, d)
	}
	huge := e.manifest("a layer", func(m *v1.Manifest) { m.ArtifactType, m.Subject = strings.Repeat("x", 4_000_000), &subject })
	_, d := e.pushManifest(digest.FromBytes(huge).String(), huge)
	want = append(want, d)
	slices.Sort(want)
	if found, pages := e.referrers(subject.Digest, ""); !slices.Equal(found, want) || pages < 4 {
		t.Errorf("%d referrers in %d pages, want %d", len(found), pages, len(want))
	}
	if found, pages := e.referrers(subject.Digest, "?artifactType=application/1"); len(found) != 5 || pages != 2 {
		t.Errorf("filtered: %d referrers in %d pages", len(found), pages)
	}
}

// counted counts the reads of a storage.
type counted struct {
	storagedriver.StorageDriver
	reads atomic.Int64
}

func (c *counted) GetContent(ctx context.Context, path string) ([]byte, error) {
	c.reads.Add(1)
	return c.StorageDriver.GetContent(ctx, path)
}

func (c *counted) Reader(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	c.reads.Add(1)
	return c.StorageDriver.Reader(ctx, path, offset)
}

func (c *counted) Stat(ctx context.Context, path string) (storagedriver.FileInfo, error) {
	c.reads.Add(1)
	return c.StorageDriver.Stat(ctx, path)
}

// countedStorage opens the pushes of a registry that has stopped.
func countedStorage(t *testing.T, pushed string) (storage, *counted) {
	t.Helper()
	c, err := newCatalog(nil, nil)
	must(t, err)
	s, err := newStorage(c, pushed, nil)
	must(t, err)
	counting := &counted{StorageDriver: s.StorageDriver}
	s.StorageDriver = counting
	return s, counting
}

// TestCostOfReferrers: after the first request, a request reads only the manifests that it lists.
func TestCostOfReferrers(t *testing.T) {
	users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	subject := describe(v1.MediaTypeImageManifest, []byte("image"))
	t.Run("push", func(t *testing.T) {
		e := endpoint{startWith(t, Options{Pushed: pushed, Users: users}), t, "team/app"}
		for i := range 40 {
			must(t, remote.Write(e.ref(t, fmt.Sprint("team/app:", i)), bundletest.RandomImage(t, 100, 1, "amd64"), e.login()...))
		}
		e.artifact("application/x", "one", subject)
	})
	s, counting := countedStorage(t, pushed)
	l := newReferrers(s, discard())
	request := func(path string) int64 {
		before := counting.reads.Load()
		req, err := http.NewRequest(http.MethodGet, path, nil)
		must(t, err)
		at, _ := parseV2Path(req.URL.Path)
		w := &statusOnly{header: http.Header{}}
		l.serve(w, req, at)
		if w.status > 200 {
			t.Errorf("%s: %d", path, w.status)
		}
		return counting.reads.Load() - before
	}
	first, second := request("/v2/team/app/referrers/"+subject.Digest.String()), request("/v2/team/app/referrers/"+subject.Digest.String())
	none := request("/v2/team/app/referrers/" + digest.FromString("none").String())
	t.Logf("reads: %d, %d, %d", first, second, none)
	if first < 40 || second > 10 || none > 3 {
		t.Errorf("reads: %d at the first request, %d at the second, %d without referrers", first, second, none)
	}
	for i := range 1000 {
		request(fmt.Sprintf("/v2/team/unknown%d/referrers/%s", i, subject.Digest))
	}
	if len(l.repositories) != 1 {
		t.Errorf("%d repositories are in memory", len(l.repositories))
	}
}

// statusOnly is a response writer without a body.
type statusOnly struct {
	header http.Header
	status int
}

func (a *statusOnly) Header() http.Header         { return a.header }
func (a *statusOnly) WriteHeader(status int)      { a.status = status }
func (a *statusOnly) Write(p []byte) (int, error) { return len(p), nil }
