package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"k8s.io/client-go/util/keyutil"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// authority is a test CA.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{t, cert, key}
}

func (a authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

func (a authority) keyPEM() string {
	a.t.Helper()
	text, err := keyutil.MarshalPrivateKeyToPEM(a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(text)
}

func (a authority) issue(name string) (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, a.cert, &private.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// controlPlane is a fake control-plane host. Its API server presents the certificate that it loaded
// at the start of its container, and its container engine restarts stopped containers.
type controlPlane struct {
	runtimeapi.UnimplementedRuntimeServiceServer

	t  *testing.T
	f  *hosttest.Fake
	m  host.Machine
	at string // URL of the API server

	mu         sync.Mutex
	loaded     tls.Certificate
	containers map[string]*runtimeapi.Container // by program
	trusted    map[string]*x509.CertPool        // by program: the etcd CAs at its start
	stopped    []string
	stop       func(part string) error // called before a container stops
	started    func(part string)       // called after a container has started
}

var controlPlaneParts = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

func newControlPlane(t *testing.T) *controlPlane {
	f, m := hosttest.New(t)
	c := &controlPlane{t: t, f: f, m: m, containers: map[string]*runtimeapi.Container{}, trusted: map[string]*x509.CertPool{}, stop: func(string) error { return nil }, started: func(string) {}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(c.pod))
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { // otherwise httptest presents its own certificate
		c.mu.Lock()
		defer c.mu.Unlock()
		return &tls.Config{Certificates: []tls.Certificate{c.loaded}}, nil
	}}
	c.at = "https://" + server.Listener.Addr().String()
	for _, a := range CAs() {
		made := newCA(t)
		f.Put(t, a.file, made.pem())
		f.Put(t, a.key, made.keyPEM())
	}
	cert, key := c.readCA(authorityOf("cluster")).issue("system:node:cp1")
	f.Put(t, node.KubeletClientCert, cert+key)
	c.renewAll()
	for _, part := range append([]string{"etcd"}, controlPlaneParts...) {
		c.start(part)
	}
	f.Answers["kubeadm certs renew all"] = func(host.Cmd) ([]byte, error) { c.renewAll(); return nil, nil }
	server.StartTLS()
	t.Cleanup(server.Close)
	c.serveRuntime()
	return c
}

// renewAll writes the same files as kubeadm certs renew all.
func (c *controlPlane) renewAll() {
	for _, a := range CAs() {
		ca := c.readCA(a)
		for _, name := range a.leaves {
			cert, key := ca.issue(filepath.Base(name))
			if filepath.Ext(name) == ".conf" {
				c.f.Put(c.t, name, kubeconfig(c.at, ca.pem(), cert, key))
				continue
			}
			c.f.Put(c.t, strings.TrimSuffix(name, ".crt")+".key", key)
			c.f.Put(c.t, name, cert)
		}
	}
}

func kubeconfig(server, ca, cert, key string) string {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n",
		encode(cert), encode(key), server, encode(ca))
}

// authorityOf returns the CA of kubeadm with that name.
func authorityOf(name string) CA {
	all := CAs()
	return all[slices.IndexFunc(all, func(a CA) bool { return a.Name == name })]
}

// readCA reads the first certificate and the key of a CA. It fails the test if they do not match.
func (c *controlPlane) readCA(a CA) authority {
	c.t.Helper()
	cert, err := firstCertificate([]byte(c.f.Get(a.file)))
	if err != nil {
		c.t.Fatal(err)
	}
	key, err := keyutil.ParsePrivateKeyPEM([]byte(c.f.Get(a.key)))
	if err != nil {
		c.t.Fatal(err)
	}
	private := key.(*ecdsa.PrivateKey)
	if !private.PublicKey.Equal(cert.PublicKey) {
		c.t.Fatalf("the key does not match the first certificate in %s", a.file)
	}
	return authority{c.t, cert, private}
}

// start starts a container, which loads the current files.
func (c *controlPlane) start(part string) {
	if part == "kube-apiserver" {
		pair, err := tls.LoadX509KeyPair(c.m.Path(node.PKIDir+"/apiserver.crt"), c.m.Path(node.PKIDir+"/apiserver.key"))
		if err != nil {
			c.t.Error(err)
		}
		c.loaded = pair
	}
	c.trusted[part] = x509.NewCertPool()
	c.trusted[part].AppendCertsFromPEM([]byte(c.f.Get(authorityOf("etcd").file)))
	c.started(part)
	now := time.Now().UnixNano()
	c.containers[part] = &runtimeapi.Container{Id: fmt.Sprintf("%s-%d", part, now), CreatedAt: now}
}

func (c *controlPlane) pod(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := strings.TrimSuffix(filepath.Base(r.URL.Path), "-cp1")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name + "-cp1"},
		"status": map[string]any{"containerStatuses": []any{map[string]any{"ready": true, "containerID": "containerd://" + c.containers[name].Id}}},
	})
}

func (c *controlPlane) ListContainers(_ context.Context, r *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels := r.Filter.LabelSelector
	part := labels["io.kubernetes.container.name"]
	if labels["io.kubernetes.pod.namespace"] != "kube-system" || labels["io.kubernetes.pod.name"] != part+"-cp1" {
		return nil, fmt.Errorf("unexpected labels %v", labels)
	}
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{c.containers[part]}}, nil
}

func (c *controlPlane) StopContainer(_ context.Context, r *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, part := range append([]string{"etcd"}, controlPlaneParts...) {
		if c.containers[part].Id == r.ContainerId {
			if err := c.stop(part); err != nil {
				return nil, err
			}
			c.stopped = append(c.stopped, part)
			c.start(part)
		}
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

func (*controlPlane) RemoveContainer(context.Context, *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (c *controlPlane) serveRuntime() {
	hosttest.ServeCRI(c.t, c.m, func(server *grpc.Server) { runtimeapi.RegisterRuntimeServiceServer(server, c) })
}

func (c *controlPlane) renew(ctx context.Context, due ...string) (Renewed, error) {
	return Renewal{Machine: c.m, Say: c.t.Logf}.Run(ctx, func() ([]string, error) { return due, nil })
}

const apiServerCertificate = node.PKIDir + "/apiserver.crt"

func TestRenewal(t *testing.T) {
	c := newControlPlane(t)
	old := c.f.Get(apiServerCertificate)
	done, err := c.renew(t.Context())
	if err != nil || len(done.Files)+len(done.Restarted) > 0 || c.f.Ran("kubeadm") > 0 || c.f.Get(apiServerCertificate) != old {
		t.Fatalf("nothing is due: got %+v, %v; ran %v", done, err, c.f.Calls)
	}
	if done, err = c.renew(t.Context(), node.PKIDir+"/front-proxy-client.crt"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		kube.AdminConf, kube.ControllerManagerConf,
		node.PKIDir + "/apiserver-etcd-client.crt", node.PKIDir + "/apiserver-kubelet-client.crt", apiServerCertificate,
		node.PKIDir + "/etcd/healthcheck-client.crt", node.PKIDir + "/etcd/peer.crt", node.PKIDir + "/etcd/server.crt",
		node.PKIDir + "/front-proxy-client.crt", kube.SchedulerConf, kube.SuperAdminConf,
	}
	if !slices.Equal(done.Files, want) || !slices.Equal(done.Restarted, controlPlaneParts) || done.Resumed {
		t.Errorf("got %+v", done)
	}
	if !slices.Equal(c.stopped, controlPlaneParts) || c.f.Has(RenewalFile) {
		t.Errorf("stopped %v; the saved files exist: %v", c.stopped, c.f.Has(RenewalFile))
	}
}

// TestRenewalResumes interrupts a renewal while kubeadm writes, and at each restart.
func TestRenewalResumes(t *testing.T) {
	for _, at := range append([]string{"kubeadm"}, controlPlaneParts...) {
		t.Run(at, func(t *testing.T) {
			c := newControlPlane(t)
			ctx, kill := context.WithCancel(t.Context())
			if at == "kubeadm" {
				c.f.Answers["kubeadm certs renew all"] = func(host.Cmd) ([]byte, error) {
					c.f.Put(t, apiServerCertificate, "-----BEGIN CERTIFICATE-----\nhalf") // as after a power failure
					kill()
					return nil, context.Canceled
				}
			}
			c.stop = func(part string) error {
				if part == at {
					kill()
					return errors.New("cut")
				}
				return nil
			}
			if _, err := c.renew(ctx, apiServerCertificate); err == nil {
				t.Fatal("the interrupted renewal returned no error")
			}
			if !c.f.Has(RenewalFile) {
				t.Fatal("the old files were not saved")
			}
			c.f.Answers["kubeadm certs renew all"] = func(host.Cmd) ([]byte, error) {
				if strings.Contains(c.f.Get(apiServerCertificate), "half") {
					return nil, errors.New("the certificate is damaged")
				}
				c.renewAll()
				return nil, nil
			}
			c.stop = func(string) error { return nil }
			done, err := c.renew(t.Context()) // nothing is due any longer, but the renewal continues
			if err != nil || !done.Resumed || len(done.Files) != 11 || c.f.Has(RenewalFile) {
				t.Errorf("got %+v, %v", done, err)
			}
			if !slices.Equal(c.stopped, controlPlaneParts) {
				t.Errorf("stopped %v, want each once", c.stopped)
			}
		})
	}
}

// TestRenewalFails checks that a failed kubeadm leaves all files unchanged.
func TestRenewalFails(t *testing.T) {
	for name, kubeadm := range map[string]func(c *controlPlane) error{
		"it fails halfway":              func(c *controlPlane) error { c.renewAll(); return errors.New("no space left on device") },
		"it does not have the CA's key": func(*controlPlane) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := newControlPlane(t)
			old := c.f.Get(apiServerCertificate)
			c.f.Answers["kubeadm certs renew all"] = func(host.Cmd) ([]byte, error) { return nil, kubeadm(c) }
			if _, err := c.renew(t.Context(), apiServerCertificate); err == nil {
				t.Error("no error")
			}
			if c.f.Get(apiServerCertificate) != old || c.f.Has(RenewalFile) || len(c.stopped) > 0 {
				t.Errorf("the host has changed; stopped %v", c.stopped)
			}
		})
	}
}

func TestKubeletRotates(t *testing.T) {
	f, m := hosttest.New(t)
	for text, want := range map[string]bool{"rotateCertificates: true\n": true, "rotateCertificates: false\n": false, "": false} {
		f.Put(t, runtime.KubeletConfig, text)
		if got, err := KubeletRotates(m); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
