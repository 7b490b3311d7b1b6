package kubeadm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// etcdKeys asks etcd through its JSON gateway, as the API server of this host
// does: with its certificate, at its address.
type etcdKeys struct {
	client *http.Client
	url    string
	prefix string
}

func (m Machine) etcd() (*etcdKeys, error) {
	flags, err := m.flags(APIServer)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(m.path(flags["etcd-cafile"]))
	if err != nil {
		return nil, fmt.Errorf("read etcd's CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read etcd's CA: %s holds no certificate", flags["etcd-cafile"])
	}
	pair, err := tls.LoadX509KeyPair(m.path(flags["etcd-certfile"]), m.path(flags["etcd-keyfile"]))
	if err != nil {
		return nil, fmt.Errorf("read the API server's certificate for etcd: %w", err)
	}
	server, _, _ := strings.Cut(flags["etcd-servers"], ",")
	prefix := flags["etcd-prefix"]
	if prefix == "" {
		prefix = "/registry"
	}
	return &etcdKeys{
		client: &http.Client{
			Timeout:   30 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}},
		},
		url: server + "/v3/kv/range", prefix: prefix + "/secrets/",
	}, nil
}

// etcdPage is small: each value may have a megabyte.
const etcdPage = 16

// others counts the Secrets whose bytes do not begin with prefix.
func (e *etcdKeys) others(ctx context.Context, prefix string) (int, error) {
	n := 0
	from, end := []byte(e.prefix), []byte(strings.TrimSuffix(e.prefix, "/")+"0") // "0" comes after "/"
	for {
		page, err := e.page(ctx, from, end)
		if err != nil {
			return n, fmt.Errorf("ask etcd for the Secrets: %w", err)
		}
		for _, pair := range page.KVs {
			if !bytes.HasPrefix(pair.Value, []byte(prefix)) {
				n++
			}
			from = append(pair.Key, 0)
		}
		if !page.More {
			return n, nil
		}
	}
}

type etcdRange struct {
	KVs []struct {
		Key   []byte `json:"key"` // base64 in JSON, both here and there
		Value []byte `json:"value"`
	} `json:"kvs"`
	More bool `json:"more"`
}

func (e *etcdKeys) page(ctx context.Context, from, end []byte) (*etcdRange, error) {
	question, err := json.Marshal(map[string]any{"key": from, "range_end": end, "limit": etcdPage})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 256<<20))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	page := &etcdRange{}
	return page, json.Unmarshal(answer, page)
}
