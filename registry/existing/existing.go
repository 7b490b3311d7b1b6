// Package existing pushes the images of a bundle into a registry of the site, such as Harbor or Nexus,
// and queries that registry as nodes do.
//
// airgap's own registry is package registry. The names of the images are those of package names, below
// the project of the site. Layers come before manifests and tags come last, so that each image can be
// pulled completely or not at all. Every byte is verified when it is read from the bundle.
package existing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/imagedigest"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/registry/names"
)

// Registry is a registry of the site. airgap push fills it, and nodes may pull from it instead of from
// airgap's registries.
type Registry struct {
	Address string `yaml:"address" json:"address" jsonschema:"required,description=HOST or HOST:PORT with the project: harbor.bank.example/airgap"`
	CA      string `yaml:"ca" json:"ca,omitempty" jsonschema_description:"CA certificate of the registry: the PEM text (ca: |), not a file name. Default: the CAs that the servers already trust."`
}

const dialTimeout = 10 * time.Second

// split splits the address into host and path. The path may be empty.
func (e Registry) split() (host, path string) {
	return reference.SplitHost(e.Address)
}

// Check returns an error if the address or the CA cannot be used.
func (e Registry) Check() error {
	host, path := e.split()
	_, err := name.NewRegistry(host, name.StrictValidation)
	if path != "" && err == nil {
		_, err = reference.Named(path)
	}
	// In the name of an image, a first component without dot and port is part of a repository of
	// Docker Hub.
	at, repoErr := name.NewRepository(host + "/x")
	if err != nil || repoErr != nil || at.RegistryStr() != host {
		return fmt.Errorf("registry %q: expected HOST or HOST:PORT followed by the project, such as harbor.bank.example/airgap", e.Address)
	}
	_, err = e.roots()
	return err
}

// repository returns the name in the registry for a bundle's HOST/PATH: below the project, with the
// upstream host. If the registry itself is the upstream of the image, the name does not change.
func (e Registry) repository(repository string) (name.Repository, error) {
	host, path := e.split()
	if own, ok := strings.CutPrefix(repository, names.Host(host)+"/"); ok {
		return name.NewRepository(host + "/" + own)
	}
	if path != "" {
		path += "/"
	}
	return name.NewRepository(host + "/" + path + repository)
}

// target is the name of an image in the registry.
type target struct {
	repository name.Repository
	tag        string // may be empty for an image by digest
	digest     string // for an image by digest; else empty
}

func (e Registry) target(image bundle.Image) (target, error) {
	repository, tag, err := names.Parse(image.Name)
	if err != nil {
		return target{}, err
	}
	t := target{tag: tag}
	if _, fixed := reference.DigestOf(image.Name); fixed {
		t.digest = image.Digest
	}
	t.repository, err = e.repository(repository)
	return t, err
}

func (t target) String() string { return t.put().Name() }

// put returns the reference to push: the tag if there is one, else the digest.
func (t target) put() name.Reference {
	if t.tag == "" {
		return t.repository.Digest(t.digest)
	}
	return t.repository.Tag(t.tag)
}

// get returns the reference that nodes pull.
func (t target) get() name.Reference {
	if t.digest != "" {
		return t.repository.Digest(t.digest)
	}
	return t.repository.Tag(t.tag)
}

// Has reports whether the registry serves the manifest or index digest ("sha256:…") of the repository
// ("registry.k8s.io/pause") without credentials, as nodes need it.
func (e Registry) Has(ctx context.Context, repository, digest string) (bool, error) {
	r, err := e.repository(names.Repository("", repository))
	if err != nil {
		return false, err
	}
	puller, err := e.nodePuller()
	if err != nil {
		return false, err
	}
	_, err = imagedigest.Now(ctx, puller, r.Digest(digest))
	return err == nil, unlessMissing(err)
}

// nodePuller asks the registry as nodes do: without a login and a proxy.
func (e Registry) nodePuller() (*remote.Puller, error) {
	rt, err := e.transport(httpclient.NoProxies())
	if err != nil {
		return nil, err
	}
	return remote.NewPuller(remote.WithTransport(rt), remote.WithAuth(authn.Anonymous))
}

// Missing returns the images that a node could not pull. It queries the registry as a node does,
// without credentials or proxy, and by tag if there is one. The tag must be the locked image or the
// manifest of its platform.
func (e Registry) Missing(ctx context.Context, images []bundle.Image) ([]string, error) {
	puller, err := e.nodePuller()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, image := range images {
		t, err := e.target(image)
		if err != nil {
			return nil, err
		}
		has, err := imagedigest.Now(ctx, puller, t.get())
		if err := unlessMissing(err); err != nil {
			return nil, fmt.Errorf("query registry for %s: %w", t.get(), err)
		}
		if has == nil || !matches(has, image) {
			missing = append(missing, image.Name)
		}
	}
	return missing, nil
}

// matches accepts each manifest of the image: some registries have only the manifest of the platform.
func matches(has *v1.Descriptor, image bundle.Image) bool {
	return slices.ContainsFunc(image.Blobs, func(b bundle.Blob) bool { return b.Digest == has.Digest.String() })
}

// unlessMissing returns nil for 404. Some registries answer 401 or 403 if a project is not public:
// that stays an error.
func unlessMissing(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return nil
	}
	return httpclient.OverHTTPS(err)
}

// transport trusts the CA of e, or the CAs of this host.
func (e Registry) transport(proxies *httpclient.Proxies) (http.RoundTripper, error) {
	roots, err := e.roots()
	if err != nil {
		return nil, err
	}
	host, _ := e.split()
	return httpclient.Registry(httpclient.Through(&http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: 5 * time.Minute, // registries hash a large layer before they answer
		MaxIdleConnsPerHost:   parallelPushes,
		IdleConnTimeout:       time.Minute,
	}, proxies), host), nil
}

func (e Registry) roots() (*x509.CertPool, error) {
	if e.CA == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(e.CA)) {
		return nil, fmt.Errorf("registry %s: its CA contains no PEM certificate", e.Address)
	}
	return roots, nil
}
