package kubeadm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// EtcdMember asks a member of etcd through its JSON gateway.
type EtcdMember struct {
	Client *http.Client
	URL    string // of its API
	prefix string // of the Secrets' keys
}

// answers is how long one may take, or, where it comes bit by bit, each bit.
const answers = 30 * time.Second

// etcd is the one that the API server of this host asks, and how it does.
func (m Machine) etcd() (*EtcdMember, error) {
	flags, err := m.flags(APIServer)
	if err != nil {
		return nil, err
	}
	server, _, _ := strings.Cut(flags["etcd-servers"], ",")
	e := &EtcdMember{URL: server, prefix: cmp.Or(flags["etcd-prefix"], "/registry") + "/secrets/"}
	return e, e.connect(m.path(flags["etcd-cafile"]), m.path(flags["etcd-certfile"]), m.path(flags["etcd-keyfile"]))
}

// ErrNoEtcd says that a host has no member of etcd.
var ErrNoEtcd = errors.New("this host has no member of etcd")

// LocalEtcd is the member that kubeadm has set up on this host. It is asked
// with the certificate that kubeadm makes for whoever looks after it, and needs
// no API server.
func (m Machine) LocalEtcd() (*EtcdMember, error) {
	if _, err := os.Stat(m.path(manifestOf(Etcd))); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrNoEtcd
		}
		return nil, err
	}
	const pki = "/etc/kubernetes/pki/etcd/"
	e := &EtcdMember{URL: cmp.Or(m.EtcdURL, "https://127.0.0.1:2379")}
	return e, e.connect(m.path(pki+"ca.crt"), m.path(pki+"healthcheck-client.crt"), m.path(pki+"healthcheck-client.key"))
}

// EtcdBytes is how much the database of this host's member takes on the disk, and about
// what a snapshot of it takes; 0 where there is none.
func (m Machine) EtcdBytes() (int64, error) {
	info, err := os.Stat(m.path(etcdDir + "/member/snap/db"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find out how large etcd's database is: %w", err)
	}
	return info.Size(), nil
}

func (e *EtcdMember) connect(caFile, certFile, keyFile string) error {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return fmt.Errorf("read etcd's CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return fmt.Errorf("read etcd's CA: %s holds no certificate", caFile)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("read the certificate for etcd: %w", err)
	}
	trust := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	e.Client = httpclient.New(httpclient.Stay(&http.Transport{TLSClientConfig: trust}))
	return nil
}

// etcdPage is small: each value may have a megabyte.
const etcdPage = 16

// others counts the Secrets whose bytes do not begin with prefix.
func (e *EtcdMember) others(ctx context.Context, prefix string) (int, error) {
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

func (e *EtcdMember) page(ctx context.Context, from, end []byte) (*etcdRange, error) {
	question, err := json.Marshal(map[string]any{"key": from, "range_end": end, "limit": etcdPage})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	body, err := e.post(ctx, "/v3/kv/range", question)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	answer, err := io.ReadAll(io.LimitReader(body, 256<<20))
	if err != nil {
		return nil, err
	}
	page := &etcdRange{}
	return page, json.Unmarshal(answer, page)
}

func (e *EtcdMember) post(ctx context.Context, path string, question []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+path, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	response, err := e.Client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, refusal(response)
	}
	return response.Body, nil
}

// refusal is why etcd says no, in its own words where it has some.
func refusal(response *http.Response) error {
	var answer struct{ Message string }
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil || json.Unmarshal(text, &answer) != nil || answer.Message == "" {
		return errors.New(response.Status)
	}
	return errors.New(answer.Message)
}
