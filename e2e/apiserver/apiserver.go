// Package apiserver runs a real etcd and a real kube-apiserver on loopback, without
// controllers and kubelets. Measurements write objects into etcd and send requests to
// the API server.
//
// Its inputs are the lab's programs and an empty directory, which gets the data, logs,
// keys and the audit log. It returns the URL of etcd, before the API server reads from
// it, and a kubeconfig for each user. All users are cluster administrators. The audit
// log has the requests of the user Audited.
package apiserver

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/e2e/freeport"
)

// disabledAdmission are plug-ins that check new pods, and no measurement creates pods.
// PodSecurity would delay the start: it lists all pods before the server is ready.
const disabledAdmission = "ServiceAccount,PodSecurity"

// startLimit includes the time to read a large cluster from etcd.
const startLimit = 2 * time.Minute

// Etcd is a running etcd.
type Etcd struct {
	URL string

	process *process
}

// StartEtcd starts etcd with its data in dir and returns when it is ready. etcd runs
// without fsync: no measurement needs the data after a crash.
func StartEtcd(ctx context.Context, bin, dir string) (*Etcd, error) {
	port, err := freeport.Next()
	if err != nil {
		return nil, err
	}
	url := "http://" + loopback(port)
	p, err := start(filepath.Join(dir, "etcd.log"), filepath.Join(bin, "etcd", "etcd"),
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--quota-backend-bytes=8589934592",
		"--listen-client-urls="+url, "--advertise-client-urls="+url, "--listen-peer-urls=http://127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &Etcd{URL: url, process: p}
	if err := p.until(ctx, func() error { return answers(ctx, url+"/readyz") }); err != nil {
		e.End()
		return nil, err
	}
	return e, nil
}

// End kills etcd.
func (e *Etcd) End() { e.process.end() }

// Server is a running kube-apiserver.
type Server struct {
	dir, addr string
	process   *process
}

// Start starts the API server over an etcd, and returns when it is ready.
func Start(ctx context.Context, bin, dir string, etcd *Etcd) (*Server, error) {
	if err := errors.Join(writeIdentity(dir), writeAuditPolicy(dir)); err != nil {
		return nil, err
	}
	port, err := freeport.Next()
	if err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "sa.key")
	p, err := start(filepath.Join(dir, "kube-apiserver.log"), filepath.Join(bin, "kubernetes", "kube-apiserver"),
		"--etcd-servers="+etcd.URL, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--cert-dir="+filepath.Join(dir, "pki"),
		"--token-auth-file="+filepath.Join(dir, "tokens.csv"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins="+disabledAdmission,
		"--audit-policy-file="+filepath.Join(dir, "audit.yaml"), "--audit-log-path="+filepath.Join(dir, "audit.log"))
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, addr: loopback(port), process: p}
	if err := p.until(ctx, func() error { return s.ready(ctx) }); err != nil {
		s.End()
		return nil, err
	}
	return s, nil
}

// End kills the API server.
func (s *Server) End() { s.process.end() }

// Client returns a client of the user Admin without a rate limit.
func (s *Server) Client() (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + s.addr, BearerToken: Admin, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.CA()},
	})
}

// Addr is the server's ADDRESS:PORT.
func (s *Server) Addr() string { return s.addr }

// CA is the file with the server's CA.
func (s *Server) CA() string { return filepath.Join(s.dir, "pki", "apiserver.crt") }

func (s *Server) ready(ctx context.Context) error {
	// The server writes this file when it starts. client-go would keep the empty pool of an
	// empty file for later connections.
	authority, err := os.ReadFile(s.CA())
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(authority) {
		return errors.New("the API server has not written its certificate yet")
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

func answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("get %s: %s", url, resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
