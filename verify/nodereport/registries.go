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
	Address string `json:"address"`          // HOST:PORT, with or without a path
	Node    string `json:"node,omitempty"`   // which serves it; "" for one of the site's own
	CAFile  string `json:"caFile,omitempty"` // of its authority; "" leaves it to those the host trusts
}

// Registries asks all of them at the same time, as a pull begins: GET /v2/. One
// that wants credentials is there.
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
		return errors.Unwrap(plain(err)) // whom was asked stands beside it
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
		return nil, fmt.Errorf("read the authority to trust: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read the authority to trust: %s holds no certificate", u.CAFile)
	}
	return config, nil
}
