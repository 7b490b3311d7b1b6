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

// accountDir is where the kubelet puts the pod's own account:
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// API is the API server, asked with a pod's own account. The account's files are read
// again for each request: the kubelet replaces the token every hour, and the authority
// when the cluster gets a new one.
type API struct {
	url, dir string

	mu     sync.Mutex
	ca     []byte // that client believes
	client *http.Client
}

// InCluster is the API server of the cluster whose pod this process is.
func InCluster() (*API, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("find the API server: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set")
	}
	return NewAPI("https://"+net.JoinHostPort(host, port), accountDir), nil
}

// NewAPI is the API server at a URL; dir has the files token and ca.crt.
func NewAPI(url, dir string) *API { return &API{url: url, dir: dir} }

// believing is a client for servers that the authority vouches for. It is made again
// when that has changed, so that connections last from one round to the next.
func (a *API) believing(ca []byte) (*http.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client != nil && bytes.Equal(ca, a.ca) {
		return a.client, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read the cluster's authority: no certificate in %s", filepath.Join(a.dir, "ca.crt"))
	}
	if a.client != nil {
		a.client.CloseIdleConnections()
	}
	a.ca = ca
	a.client = httpclient.New(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	return a.client, nil
}

// get reads an object.
func (a *API) get(ctx context.Context, path string, into any) error {
	answer, err := a.ask(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// ask gives the answer's body, or what the API server says is wrong. A request that gets
// no answer is sent once more: a connection that was kept may have died since, with the
// API server that it led to. All our requests may be sent twice.
func (a *API) ask(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	token, errToken := os.ReadFile(filepath.Join(a.dir, "token"))
	ca, errCA := os.ReadFile(filepath.Join(a.dir, "ca.crt"))
	if err := errors.Join(errToken, errCA); err != nil {
		return nil, fmt.Errorf("read the pod's account: %w", err)
	}
	client, err := a.believing(ca)
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

// refusal is the reason in a Status object, or the HTTP status where there is none.
func refusal(status string, answer []byte) error {
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &said) != nil || said.Message == "" {
		said.Message = status
	}
	return errors.New(said.Message)
}
