// Package cnitest simulates the upstream projects of the network plugins in tests. A test server has
// their manifests, charts and images in the projects' structure. Tests fetch, lock, write and read them
// with the real code of the bundle.
package cnitest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/manifests"
)

//go:embed all:upstream
var upstream embed.FS

// Server simulates all upstream hosts, like a site's mirror.
type Server struct {
	*httptest.Server
	Files map[string][]byte // by HOST/PATH

	ca string
}

// calico is the upstream directory with the manifests of Calico's default version.
const calico = "raw.githubusercontent.com/projectcalico/calico/v3.32.4/manifests/"

// calico333 is the directory of a minor version with another structure.
const calico333 = "raw.githubusercontent.com/projectcalico/calico/v3.33.0/manifests/"

// cilium is the repository of Cilium's charts.
const cilium = "helm.cilium.io/"

// Serve starts a server with all files and images of the plugins' default versions.
func Serve(t testing.TB) *Server {
	t.Helper()
	s := &Server{Files: map[string][]byte{
		calico + "calico.yaml":                   read(t, "upstream/calico.yaml"),
		calico + "v1_crd_projectcalico_org.yaml": read(t, "upstream/v1_crd_projectcalico_org.yaml"),
		calico + "tigera-operator.yaml":          read(t, "upstream/tigera-operator.yaml"),
		calico333 + "calico.yaml":                read(t, "upstream/calico-3.33.yaml"),
	}}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, known := s.Files[strings.TrimPrefix(r.URL.Path, "/")]; known {
			http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(content))
			return
		}
		images.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	s.ca = filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(s.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	maps.Copy(s.Files, Charts(t))
	for _, image := range Images() {
		s.Push(t, image)
	}
	return s
}

// Charts returns the plugins' chart repositories, by HOST/PATH.
func Charts(t testing.TB) map[string][]byte {
	t.Helper()
	archive := ciliumChart(t)
	return map[string][]byte{
		cilium + "index.yaml":        fmt.Appendf(nil, "apiVersion: v1\nentries:\n  cilium:\n    - {version: 1.20.3, digest: %x, urls: [cilium-1.20.3.tgz]}\n", sha256.Sum256(archive)),
		cilium + "cilium-1.20.3.tgz": archive,
	}
}

// Images returns the images that the server has.
func Images() []string {
	images := []string{
		"quay.io/tigera/operator:v1.42.8", "quay.io/calico/node:v3.33.0", "quay.io/calico/calico:v3.33.0",
		"quay.io/cilium/cilium:v1.20.3", "quay.io/cilium/operator-generic:v1.20.3", "quay.io/cilium/cilium-envoy:v1.37.0-1",
	}
	for component := range strings.FieldsSeq("node cni typha kube-controllers apiserver pod2daemon-flexvol csi node-driver-registrar key-cert-provisioner goldmane whisker whisker-backend webhooks") {
		images = append(images, "quay.io/calico/"+component+":v3.32.4")
	}
	return images
}

// Push pushes a random image to a reference.
func (s *Server) Push(t testing.TB, image string) {
	t.Helper()
	ref, err := name.ParseReference(strings.TrimPrefix(s.URL, "https://") + "/" + image)
	check(t, err)
	check(t, remote.Write(ref, bundletest.RandomImage(t, 100, 1, "amd64"), remote.WithTransport(s.Client().Transport)))
}

// Sources returns a rewrite of every upstream host to the server.
func (s *Server) Sources() fetch.Sources {
	return fetch.Sources{CA: s.ca, Rewrite: []fetch.Rewrite{{From: "*", To: strings.TrimPrefix(s.URL, "https://")}}}
}

// Plan returns the plan of a bundle that contains only the pod network.
func (s *Server) Plan(t testing.TB, config cni.Config, cluster cni.Cluster, locked *bundle.Locked) (*bundle.Plan, error) {
	t.Helper()
	client, err := fetch.NewClient(s.Sources())
	check(t, err)
	r := bundle.Request{
		Name: "test", Config: []byte("kind: Cluster\n"), Tool: "test", Created: time.Unix(1_700_000_000, 0),
		Platform: "linux/amd64", KubeVersion: "1.36.3", Dir: t.TempDir(), Network: Need(t, config, cluster), Locked: locked,
	}
	if r.Network != nil { // the server does not have flannel's images
		for _, image := range cni.Images(config) {
			r.Images = append(r.Images, bundle.Need{Reference: image, NeededBy: "network " + config.Plugin})
		}
	}
	return bundle.NewPlan(t.Context(), client, r, ui.Discard())
}

// Need returns the request for the bundle; nil if the plugin fetches nothing.
func Need(t testing.TB, config cni.Config, cluster cni.Cluster) *bundle.AddonNeed {
	t.Helper()
	from := cni.From(config, cluster)
	if from.Empty() {
		return nil
	}
	need := &bundle.AddonNeed{Name: config.Plugin, Namespace: from.Namespace, Manifests: from.Manifests}
	if c := from.Chart; c != nil {
		values, err := json.Marshal(c.Values)
		check(t, err)
		need.Chart = &bundle.ChartNeed{Repository: c.Repository, Name: c.Name, Version: c.Version, Path: c.Path}
		need.Values.Text = values
	}
	return need
}

// Fetch writes a plugin's downloads to a bundle and reads them from there. It returns the objects and the
// bundle's lock; no objects if the plugin fetches nothing.
func (s *Server) Fetch(t testing.TB, config cni.Config, cluster cni.Cluster) ([]*unstructured.Unstructured, bundle.Lock) {
	t.Helper()
	plan, err := s.Plan(t, config, cluster, nil)
	check(t, err)
	if plan.Lock.Network == nil {
		return nil, plan.Lock
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	dir := filepath.Join(t.TempDir(), "stick")
	_, err = bundle.Write(t.Context(), plan, dir, bundle.Options{PartSize: 2 << 20, Signer: key}, ui.Discard())
	check(t, err)
	b, err := bundle.Open(dir, &key.PublicKey)
	check(t, err)
	defer b.Close()
	file, err := b.File(b.Index().Lock.Network.Path)
	check(t, err)
	text, err := io.ReadAll(file.Reader())
	check(t, err)
	objects, err := manifests.Parse(text)
	check(t, err)
	return objects, b.Index().Lock
}

// ciliumChart returns the archive of the chart.
func ciliumChart(t testing.TB) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cilium")
	files, err := fs.Sub(upstream, "upstream/cilium")
	check(t, err)
	check(t, os.CopyFS(dir, files))
	archive, err := chart.Pack(dir)
	check(t, err)
	return archive
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := upstream.ReadFile(path)
	check(t, err)
	return text
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
