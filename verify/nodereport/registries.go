package nodereport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"airgap.dev/airgap/internal/httpclient"
)

// Upstream is a registry that this host pulls from.
type Upstream struct {
	Address string `json:"address"`          // HOST:PORT, with an optional path
	Node    string `json:"node,omitempty"`   // the node that serves it; "" for the site's registry
	CAFile  string `json:"caFile,omitempty"` // its CA; "": the CAs that the host trusts
}

// Registries sends GET /v2/ to all registries at the same time, like the start of a pull. A registry
// that requires credentials counts as available.
func Registries(ctx context.Context, all []Upstream) []Registry {
	found := make([]Registry, len(all))
	var asking sync.WaitGroup
	for i, u := range all {
		asking.Go(func() {
			found[i].Address, found[i].Node = u.Address, u.Node
			if err := u.answers(ctx); err != nil {
				found[i].Error = err.Error()
			}
		})
	}
	asking.Wait()
	return found
}

func (u Upstream) answers(ctx context.Context) error {
	trust, err := u.trust()
	if err != nil {
		return err
	}
	host, _, _ := strings.Cut(u.Address, "/")
	at := url.URL{Scheme: "https", Host: host, Path: "/v2/"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	client := httpclient.New(&http.Transport{TLSClientConfig: trust, DisableKeepAlives: true})
	response, err := client.Do(request)
	if err != nil {
		return errors.Unwrap(plain(err)) // the address is already in Registry
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("it answered %s", response.Status)
	}
	return nil
}

func (u Upstream) trust() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if u.CAFile == "" {
		return config, nil
	}
	ca, err := os.ReadFile(u.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA of the registry: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read the CA of the registry: no certificate in %s", u.CAFile)
	}
	return config, nil
}
