package dataplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// askLimit is for one request to the API server.
const askLimit = 10 * time.Second

// longestAnswer bounds an answer, bytes: the EndpointSlices of 5,000 nodes take 2 MB.
const longestAnswer = 32 << 20

// accountDir is the directory in which the kubelet mounts the pod's ServiceAccount token:
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// API is a client of the API server with a pod's ServiceAccount. It reads the account's files for
// each request: the kubelet replaces the token every hour, and the CA when it is rotated.
type API struct {
	url, dir string

	mu     sync.Mutex
	ca     []byte // that client trusts
	client *http.Client
}

// InCluster returns the API server of the cluster in which this process runs as a pod.
func InCluster() (*API, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("find the API server: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set")
	}
	return NewAPI("https://"+net.JoinHostPort(host, port), accountDir), nil
}

// NewAPI returns the API server at a URL; dir has the files token and ca.crt.
func NewAPI(url, dir string) *API { return &API{url: url, dir: dir} }

// clientFor returns a client that trusts the CA. It creates a new client only if the CA has
// changed, so that connections last from one round to the next.
func (a *API) clientFor(ca []byte) (*http.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client != nil && bytes.Equal(ca, a.ca) {
		return a.client, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read the cluster's CA: no certificate in %s", filepath.Join(a.dir, "ca.crt"))
	}
	if a.client != nil {
		a.client.CloseIdleConnections()
	}
	a.ca = ca
	a.client = httpclient.New(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	return a.client, nil
}

// get reads the object at path and decodes it.
func (a *API) get(ctx context.Context, path string, into any) error {
	answer, err := a.ask(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// ask returns the answer's body, or the API server's error. It sends a request without an answer a
// second time: a kept connection may be broken since the last round. All requests are idempotent.
func (a *API) ask(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	token, errToken := os.ReadFile(filepath.Join(a.dir, "token"))
	ca, errCA := os.ReadFile(filepath.Join(a.dir, "ca.crt"))
	if err := errors.Join(errToken, errCA); err != nil {
		return nil, fmt.Errorf("read the pod's account: %w", err)
	}
	client, err := a.clientFor(ca)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	send := func() (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header = http.Header{"Authorization": {"Bearer " + string(bytes.TrimSpace(token))}, "Accept": {"application/json"}, "Content-Type": {contentType}}
		return client.Do(request)
	}
	response, err := send()
	if err != nil && ctx.Err() == nil {
		response, err = send()
	}
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return read(response)
}

func read(response *http.Response) ([]byte, error) {
	answer, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(answer) > longestAnswer:
		return nil, fmt.Errorf("the API server's answer has more than %d bytes", longestAnswer)
	case response.StatusCode/100 != 2:
		return nil, refusal(response.Status, answer)
	}
	return answer, nil
}

// refusal returns the message of a Status object, or the HTTP status without one.
func refusal(status string, answer []byte) error {
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &object) != nil || object.Message == "" {
		object.Message = status
	}
	return errors.New(object.Message)
}
