package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/registry/names"
)

const (
	dialTimeout = 10 * time.Second
	// peerStall is the time without a byte within an answer after which a client gives up. Without it, one silent
	// registry would stop the copies of all other images.
	peerStall = time.Minute
)

// Client queries one registry. It trusts one CA and uses no proxy.
type Client struct {
	base string
	http *http.Client
}

// Addr is the registry's HOST:PORT.
func (c *Client) Addr() string { return strings.TrimPrefix(c.base, "https://") }

// NewClient returns a client of the registry at addr (HOST:PORT) with the CA ca (PEM).
func NewClient(addr string, ca []byte) (*Client, error) {
	client, err := HTTPClient(ca)
	if err != nil {
		return nil, err
	}
	return &Client{base: "https://" + addr, http: client}, nil
}

// HTTPClient trusts only ca (PEM). It uses no proxy, even if the environment sets one. It has no time
// limit for a complete answer: the caller's context sets it. An answer without a byte for peerStall ends.
func HTTPClient(ca []byte) (*http.Client, error) { return httpClient(ca, peerStall) }

func httpClient(ca []byte, stall time.Duration) (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("read registry CA: it contains no certificate")
	}
	return httpclient.New(httpclient.Unstalled(&http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       time.Minute,
	}, stall)), nil
}

// Size limits for the health report of a registry and for its list of pushes. An entry of either
// has about 300 bytes.
const (
	maxHealth  = 16 << 20
	maxRecords = 64 << 20
)

// Health returns the registry's report, with the bundles that it serves.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	resp, err := c.do(ctx, http.MethodGet, "/healthz", "")
	if err != nil {
		return h, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return h, fmt.Errorf("query registry health: %s", resp.Status)
	}
	text, err := httpclient.ReadAll(resp.Body, maxHealth)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return h, fmt.Errorf("query registry health: %w", err)
	}
	return h, nil
}

// Has reports whether the registry has the manifest or index digest ("sha256:…") in the repository
// ("registry.k8s.io/pause").
func (c *Client) Has(ctx context.Context, repository, digest string) (bool, error) {
	path := v2Path{names.Repository("", repository), "manifests", digest}.String()
	resp, err := c.do(ctx, http.MethodHead, path, strings.Join(manifestTypes(), ", "))
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, fmt.Errorf("query registry for %s@%s: %s", repository, digest, resp.Status)
}

func (c *Client) do(ctx context.Context, method, path, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("query registry: %w", err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("query registry: %w", err)
	}
	return resp, nil
}
