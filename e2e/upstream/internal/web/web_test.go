package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/oci"
)

const repo = "ghcr.io/team/app"

// serve starts a server with one image and one file. It returns the server and a client that
// trusts it.
func serve(t *testing.T) (*Server, *http.Client) {
	t.Helper()
	dir := t.TempDir()
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(filepath.Join(files, "github.com/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "github.com/x/f.txt"), []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	images, err := oci.Open(filepath.Join(dir, "images"))
	if err != nil {
		t.Fatal(err)
	}
	app := oci.Image{Ref: repo + ":1", Layers: []oci.Layer{{Files: []archive.File{{Path: "app", Data: make([]byte, 1000)}}}, {Noise: 100_000, Seed: 1}}}
	if err := app.Put(images); err != nil {
		t.Fatal(err)
	}
	caFile := filepath.Join(dir, "ca.pem")
	ca, err := OpenCA(caFile, filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := ca.Config([]string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(t.Context(), Site{Files: files, Layouts: []string{string(images), dir + "/none"}, TLS: config}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, trusting(t, caFile)
}

func trusting(t *testing.T, caFile string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// pull reads all parts of the image with a real client.
func pull(t *testing.T, s *Server, c *http.Client) error {
	t.Helper()
	ref, err := name.ParseReference(s.URL[len("https://"):] + "/" + repo + ":1")
	if err != nil {
		t.Fatal(err)
	}
	one := remote.WithRetryBackoff(remote.Backoff{Steps: 1})
	index, err := remote.Index(ref, remote.WithTransport(c.Transport), one)
	if err != nil {
		return err
	}
	return validate.Index(index)
}

func TestPullByARealClient(t *testing.T) {
	s, c := serve(t)
	if err := pull(t, s, c); err != nil {
		t.Error(err)
	}
}

func TestFiles(t *testing.T) {
	s, c := serve(t)
	for _, tc := range []struct {
		method, path, bytes string
		status              int
		body                string
	}{
		{"GET", "/github.com/x/f.txt", "", 200, "0123456789"},
		{"GET", "/github.com/x/f.txt", "bytes=4-", 206, "456789"},
		{"HEAD", "/github.com/x/f.txt", "", 200, ""},
		{"GET", "/github.com/x/", "", 404, "404 page not found\n"},
		{"GET", "/github.com/../../secret", "", 404, "404 page not found\n"},
		{"PUT", "/github.com/x/f.txt", "", 405, "this mirror is read-only\n"},
		{"GET", "/v2/", "", 200, ""},
		{"GET", "/v2/ghcr.io/team/app/tags/list", "", 200, `{"name":"ghcr.io/team/app","tags":["1"]}` + "\n"},
		{"GET", "/v2/ghcr.io/team/none/manifests/1", "", 404, `{"errors":[{"code":"NAME_UNKNOWN","message":"no repository ghcr.io/team/none"}]}` + "\n"},
		{"GET", "/v2/ghcr.io/team/app/manifests/2", "", 404, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"no manifest 2"}]}` + "\n"},
	} {
		request, err := http.NewRequest(tc.method, s.URL+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.bytes != "" {
			request.Header.Set("Range", tc.bytes)
		}
		response, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != tc.status || string(body) != tc.body {
			t.Errorf("%s %s: got %d %q %v, want %d %q", tc.method, tc.path, response.StatusCode, body, err, tc.status, tc.body)
		}
	}
}

func TestFaults(t *testing.T) {
	for name, f := range map[string]Fault{
		"unauthorized":      {Repository: repo, Status: 401},
		"not found":         {Repository: repo, Status: 404},
		"unavailable":       {Repository: repo, Status: 503},
		"closed at once":    {Repository: repo, CloseAfter: 0},
		"closed half-way":   {Repository: repo, CloseAfter: 50_000},
		"wrong bytes":       {Repository: repo, WrongBytes: true},
		"of one tag":        {Repository: repo, Digest: "1", Status: 404},
		"of several, twice": {Repository: repo, Status: 401, Times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := serve(t)
			s.Inject(f)
			if err := pull(t, s, c); err == nil {
				t.Error("got no error from a pull with a fault")
			}
			s.Heal()
			if err := pull(t, s, c); err != nil {
				t.Errorf("got %v after Heal, want no error", err)
			}
		})
	}
}

func TestFaultCountsItsHits(t *testing.T) {
	f := &faults{}
	s := &Server{faults: f}
	s.Inject(Fault{Repository: repo, Times: 2, CloseAfter: 1})
	hits := 0
	for range 5 {
		if _, ok := f.take("GET", repo, "blobs", "sha256:x"); ok {
			hits++
		}
		if _, ok := f.take("GET", repo, "manifests", "1"); ok {
			t.Error("the fault affected a manifest")
		}
		if _, ok := f.take("HEAD", repo, "blobs", "sha256:x"); ok {
			t.Error("the fault affected a HEAD request")
		}
	}
	if hits != 2 {
		t.Errorf("got %d hits, want 2", hits)
	}
}

func TestClientSeesTruncatedBody(t *testing.T) {
	s, c := serve(t)
	response, err := c.Get(s.URL + "/v2/" + repo + "/manifests/1")
	if err != nil {
		t.Fatal(err)
	}
	index, err := v1.ParseIndexManifest(response.Body)
	response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	response, err = c.Get(s.URL + "/v2/" + repo + "/manifests/" + index.Manifests[0].Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	m, err := v1.ParseManifest(response.Body)
	response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(Fault{Repository: repo, CloseAfter: 50_000, Times: 1})
	response, err = c.Get(s.URL + "/v2/" + repo + "/blobs/" + m.Layers[1].Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(body) != 50_000 {
		t.Errorf("got %d bytes and %v, want 50000 bytes and an unexpected EOF", len(body), err)
	}
}
