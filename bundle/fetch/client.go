// Package fetch reads manifests, blobs and files from upstream or from mirrors.
//
// It resumes a broken connection, logs in if the site has a login, and explains an unexpected
// answer: the server, the reason, and the next step. It verifies only a manifest that is
// requested by its digest; the caller compares the rest with the lock.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/time/rate"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/loginfile"
)

// Client fetches from upstream or from its mirrors. It is safe for concurrent use.
type Client struct {
	sources Sources
	roots   *x509.CertPool
	proxies *httpclient.Proxies
	base    http.RoundTripper
	logins  []*login
	mirrors map[int]*login // logins at mirrors, by the index of their rule
	Patience

	mu    sync.Mutex
	repos map[string]http.RoundTripper // transports after the login, by rewritten name
	shown map[string]*login            // logins at the mirrors of repositories, by rewritten name

	accesses map[string]access // by rewritten name

	see   func(Asked)      // of Watch
	limit *rate.Limiter    // of Limit
	files loginfile.Logins // of podman and docker
}

// NewClient reads the CA file and prepares connections; it connects to no server yet.
func NewClient(s Sources) (*Client, error) {
	roots, err := s.roots()
	if err != nil {
		return nil, err
	}
	proxies, err := s.proxies()
	if err != nil {
		return nil, err
	}
	c := &Client{
		sources:  s,
		roots:    roots,
		proxies:  proxies,
		Patience: s.Timeouts.patience(),
		repos:    map[string]http.RoundTripper{}, mirrors: map[int]*login{}, shown: map[string]*login{},
		accesses: map[string]access{},
	}
	c.base = c.transport()
	return c, c.useMirrors()
}

// transport presents the certificates to servers that request one.
func (c *Client) transport(certificates ...tls.Certificate) http.RoundTripper {
	return heeds{httpclient.ThroughWith(&http.Transport{
		DialContext: (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		// HTTP/1.1 on purpose: one connection per blob is faster than streams that share a flow
		// control window.
		TLSClientConfig:     &tls.Config{RootCAs: c.roots, Certificates: certificates, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: 16,
		DisableCompression:  true, // the hash is of the bytes that upstream published
	}, c.proxies, c.watched)}
}

// roots returns the CA pool; nil, the system's pool, if the section names no CA.
func (s Sources) roots() (*x509.CertPool, error) {
	if s.CA == "" {
		return nil, nil
	}
	text, err := host.ReadInput(s.CA, host.MaxInput)
	if err != nil {
		return nil, fmt.Errorf("read sources.ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // without CAs on this host, sources.ca alone is enough
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read sources.ca: no PEM certificate in %s", s.CA)
	}
	return pool, nil
}

// proxies are sources.proxy, else the proxies of the environment.
func (s Sources) proxies() (*httpclient.Proxies, error) {
	if s.Proxy != "" {
		return httpclient.FixedProxy("sources.proxy", s.Proxy)
	}
	return httpclient.EnvironmentProxies()
}

// via is the address of the proxy for a URL; "" for none.
func (c *Client) via(url string) string { return proxyOf(c.proxies, url) }

// proxyOf is the address of the proxy for a URL, for messages; "" for none.
func proxyOf(proxies *httpclient.Proxies, at string) string {
	u, err := url.Parse(at)
	if err != nil || proxies == nil {
		return ""
	}
	return proxies.For(u)
}

// Repository returns the mirror's repository for an upstream repository, else the same.
func (c *Client) Repository(upstream string) (name.Repository, error) {
	repo, err := name.NewRepository(c.sources.rewrite(upstream))
	if err != nil {
		return name.Repository{}, fmt.Errorf("rewrite %s: %w", upstream, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.sources.refusePlain(upstream); err != nil {
		return name.Repository{}, err
	}
	if _, rewritten := c.sources.rule(upstream); rewritten {
		how := c.accesses[repo.Name()]
		how.mirror = true
		c.accesses[repo.Name()] = how
	}
	if l := c.loginOf(upstream); l != nil && l.user != "" {
		c.shown[repo.Name()] = l
	}
	return repo, nil
}

// transportFor logs in to a repository once and keeps the result.
func (c *Client) transportFor(ctx context.Context, repo name.Repository) (http.RoundTripper, error) {
	c.mu.Lock()
	rt, known := c.repos[repo.Name()]
	as := c.shown[repo.Name()]
	c.mu.Unlock()
	if known {
		return rt, nil
	}
	auth, err := c.files.ResolveContext(ctx, repo)
	if err != nil {
		return nil, fmt.Errorf("find credentials for %s: %w", repo, err)
	}
	var mirrors authn.Authenticator
	if as != nil && auth == authn.Anonymous {
		mirrors = &authn.Basic{Username: as.user, Password: as.password}
		auth = mirrors
	}
	c.noteAccess(repo, auth, mirrors)
	err = c.answering(ctx, func(ctx context.Context) error {
		rt, err = transport.NewWithContext(ctx, repo.Registry, auth, shortErrors{httpclient.Registry(c.base, repo.RegistryStr())}, []string{repo.Scope(transport.PullScope)})
		return err
	})
	if err != nil {
		return nil, httpclient.OverHTTPS(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repos[repo.Name()] = rt
	return rt, nil
}

// answering limits the time of do.
func (p Patience) answering(ctx context.Context, do func(context.Context) error) error {
	limit := p.answerTime()
	limited, cancel := context.WithTimeout(ctx, limit.after)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return limit
	}
	return err
}

// shortErrors truncates the bodies of error answers, because go-containerregistry drops
// the status of an answer with a body larger than 64 KiB.
type shortErrors struct{ next http.RoundTripper }

func (s shortErrors) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(r)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, 32<<10), response.Body}
	}
	return response, err
}
