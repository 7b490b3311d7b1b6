// Package apiserver runs a real etcd and a real kube-apiserver on loopback, and
// nothing else: no controller, no kubelet. Measurements fill the one and ask the
// other.
//
// What flows in are the lab's programs and an empty directory, which keeps data,
// logs, keys and the audit log. What flows out is where etcd listens, before the
// API server has read it, and a kubeconfig for each user. Everybody may do
// everything; what Audited does is in the audit log.
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

// notAsked are what would judge new pods, of which there are none. PodSecurity
// lists all pods before the server is ready.
const notAsked = "ServiceAccount,PodSecurity"

// startLimit is for reading a large cluster from etcd too.
const startLimit = 2 * time.Minute

// Etcd is a running etcd.
type Etcd struct {
	URL string

	process *process
}

// StartEtcd starts etcd with its data in dir. It forgoes fsync: nobody wants the
// data back after a crash.
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
		"--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins="+notAsked,
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

// Client is the measurement's own.
func (s *Server) Client() (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + s.addr, BearerToken: Own, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.ca()},
	})
}

func (s *Server) ca() string { return filepath.Join(s.dir, "pki", "apiserver.crt") }

func (s *Server) ready(ctx context.Context) error {
	// The server writes it first. An empty file would be an authority that nobody trusts, which
	// client-go keeps.
	authority, err := os.ReadFile(s.ca())
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(authority) {
		return errors.New("its certificate is not written yet")
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
