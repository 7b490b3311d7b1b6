package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
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
	"airgap.dev/airgap/internal/reference"
)

// Existing is a registry of the site's own, a Harbor or a Nexus: airgap push
// fills it, and nodes may pull from it instead of from ours.
type Existing struct {
	Address string `yaml:"address" json:"address" jsonschema:"required,description=HOST or HOST:PORT with the project: harbor.bank.example/airgap"`
	CA      string `yaml:"ca" json:"ca,omitempty" jsonschema_description:"CA certificate of the registry: the PEM text (ca: |), not a file name. Default: the CAs that the servers already trust."`
}

// split takes the address apart; the path may be empty.
func (e Existing) split() (host, path string) {
	return reference.SplitHost(e.Address)
}

// Check reports an address or an authority that cannot be used.
func (e Existing) Check() error {
	host, path := e.split()
	_, err := name.NewRegistry(host, name.StrictValidation)
	if path != "" && err == nil {
		_, err = reference.Named(path)
	}
	// A name that has neither dot nor port means a repository of Docker Hub in an
	// image's name.
	at, unnamed := name.NewRepository(host + "/x")
	if err != nil || unnamed != nil || at.RegistryStr() != host {
		return fmt.Errorf("registry %q: want HOST or HOST:PORT and the project behind it, as harbor.bank.example/airgap", e.Address)
	}
	_, err = e.roots()
	return err
}

// repository is where the registry has what a bundle calls HOST/PATH: below its
// project, with the upstream host. An image that the registry itself was
// upstream of keeps its name.
func (e Existing) repository(ours string) (name.Repository, error) {
	host, path := e.split()
	if own, ok := strings.CutPrefix(ours, repositoryHost(host)+"/"); ok {
		return name.NewRepository(host + "/" + own)
	}
	if path != "" {
		path += "/"
	}
	return name.NewRepository(host + "/" + path + ours)
}

// target is one image's place in the registry.
type target struct {
	repository name.Repository
	tag        string // may be empty, in names by digest
	digest     string // of names by digest; else empty
}

func (e Existing) target(image bundle.Image) (target, error) {
	ours, tag, err := parseImageName(image.Name)
	if err != nil {
		return target{}, err
	}
	t := target{tag: tag}
	if _, fixed := reference.DigestOf(image.Name); fixed {
		t.digest = image.Digest
	}
	t.repository, err = e.repository(ours)
	return t, err
}

func (t target) String() string { return t.put().Name() }

// put is what the image is pushed as: a tag brings its digest along.
func (t target) put() name.Reference {
	if t.tag == "" {
		return t.repository.Digest(t.digest)
	}
	return t.repository.Tag(t.tag)
}

// get is what nodes ask for.
func (t target) get() name.Reference {
	if t.digest != "" {
		return t.repository.Digest(t.digest)
	}
	return t.repository.Tag(t.tag)
}

// Has reports, as a node would find, whether the registry gives the manifest or
// index digest ("sha256:…") of the repository ("registry.k8s.io/pause") to anybody
// who asks.
func (e Existing) Has(ctx context.Context, repository, digest string) (bool, error) {
	r, err := e.repository(RepositoryName("", repository))
	if err != nil {
		return false, err
	}
	rt, err := e.transport(nil)
	if err != nil {
		return false, err
	}
	_, err = remote.Head(r.Digest(digest), remote.WithContext(ctx), remote.WithTransport(rt), remote.WithAuth(authn.Anonymous))
	return err == nil, unlessMissing(err)
}

// Missing are those of the images that a node would not get: it asks without
// credentials or proxy, by tag where there is one, which has to be the locked image
// or its platform's manifest.
func (e Existing) Missing(ctx context.Context, images []bundle.Image) ([]string, error) {
	rt, err := e.transport(nil)
	if err != nil {
		return nil, err
	}
	puller, err := remote.NewPuller(remote.WithTransport(rt), remote.WithAuth(authn.Anonymous))
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, image := range images {
		t, err := e.target(image)
		if err != nil {
			return nil, err
		}
		has, err := puller.Head(ctx, t.get())
		if err := unlessMissing(err); err != nil {
			return nil, fmt.Errorf("ask registry for %s: %w", t.get(), err)
		}
		if has == nil || !belongs(has, image) {
			missing = append(missing, image.Name)
		}
	}
	return missing, nil
}

// belongs: a registry that wants indexes whole has the platform's manifest alone.
func belongs(has *v1.Descriptor, image bundle.Image) bool {
	return slices.ContainsFunc(image.Blobs, func(b bundle.Blob) bool { return b.Digest == has.Digest.String() })
}

// unlessMissing is nil for what the registry does not have. Where a project is
// not public some answer 401 or 403 for it: that is told as it is.
func unlessMissing(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return nil
	}
	return err
}

// proxy is how a request finds its way: http.ProxyFromEnvironment for whoever
// pushes; nodes ask directly, whatever the environment says.
type proxy = func(*http.Request) (*url.URL, error)

// transport trusts the authority, or what this host trusts.
func (e Existing) transport(through proxy) (http.RoundTripper, error) {
	roots, err := e.roots()
	if err != nil {
		return nil, err
	}
	host, _ := e.split()
	return httpclient.Registry(&http.Transport{
		Proxy:                 through,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: 5 * time.Minute, // registries hash a large layer before they answer
		MaxIdleConnsPerHost:   pushing,
		IdleConnTimeout:       time.Minute,
	}, host), nil
}

func (e Existing) roots() (*x509.CertPool, error) {
	if e.CA == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(e.CA)) {
		return nil, fmt.Errorf("registry %s: no PEM certificate in its authority's", e.Address)
	}
	return roots, nil
}
