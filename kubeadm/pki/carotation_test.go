package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/process"
	"airgap.dev/airgap/kubeadm/runtime"
)

// domain is a cluster of a control-plane host, cp1, and a worker, w1. Programs trust and present
// the certificates that their files had at their start. Before each restart of a program, all
// programs must trust each other.
type domain struct {
	t      *testing.T
	c      *controlPlane
	w      *hosttest.Fake
	worker host.Machine
	client *fake.Clientset

	mu        sync.Mutex
	trusts    map[string]*x509.CertPool    // by client of the API server: the CAs at its start
	shows     map[string]*x509.Certificate // by client of the API server: its certificate
	signer    authority                    // of the controller manager
	rootCA    string                       // published by the controller manager
	published map[string]string            // for extension API servers, by field
	restarts  int
	cut       int // the restart that is interrupted
	kill      context.CancelFunc
	requests  int
}

const managerManifest = `apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager}
spec:
  containers:
  - name: kube-controller-manager
    command: [kube-controller-manager, "--cluster-signing-cert-file=/etc/kubernetes/pki/ca.crt", "--cluster-signing-key-file=/etc/kubernetes/pki/ca.key"]
`

func newDomain(t *testing.T) *domain {
	d := &domain{t: t, c: newControlPlane(t), trusts: map[string]*x509.CertPool{}, shows: map[string]*x509.Certificate{}, published: map[string]string{}}
	d.w, d.worker = hosttest.New(t)
	ca := d.c.readCA(authorityOf("cluster"))
	cert, key := ca.issue("system:node:w1")
	d.w.Put(t, node.KubeletClientCert, cert+key)
	d.w.Put(t, kube.ClusterCA, ca.pem())
	for f, name := range map[*hosttest.Fake]string{d.c.f: "cp1", d.w: "w1"} {
		f.Put(t, runtime.KubeletDir+"/pki/kubelet-client-1.pem", f.Get(node.KubeletClientCert))
		if err := errors.Join(os.Remove(filepath.Join(f.Root, node.KubeletClientCert)), os.Symlink("kubelet-client-1.pem", filepath.Join(f.Root, node.KubeletClientCert))); err != nil {
			t.Fatal(err)
		}
		f.Put(t, kube.KubeletConf, kubeconfig(d.c.at, ca.pem(), cert, key))
		f.Put(t, runtime.KubeletConfig, "healthzPort: 0\n")
		f.Answers["systemctl restart kubelet"] = func(host.Cmd) ([]byte, error) { return nil, d.startKubelet(f, name) }
		d.loadKubelet(f, name)
	}
	d.c.f.Put(t, node.ManifestOf(node.APIServer), "")
	d.c.f.Put(t, node.ManifestOf(node.ControllerManager), managerManifest)
	d.c.f.Joins(t, "/proc/self", kubetest.HostNetwork)
	kubetest.Starts(t, d.c.f, 77, kubetest.HostNetwork, string(node.ControllerManager))
	d.c.started, d.c.stop = d.started, func(string) error { return d.restart() }
	for _, part := range controlPlaneParts {
		d.started(part)
	}
	d.serve()
	return d
}

// startKubelet restarts a kubelet.
func (d *domain) startKubelet(f *hosttest.Fake, name string) error {
	if err := d.restart(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loadKubelet(f, name)
	return nil
}

func (d *domain) loadKubelet(f *hosttest.Fake, name string) {
	d.trusts["kubelet of "+name] = d.poolOf(f, kube.KubeletConf)
	d.shows["kubelet of "+name] = d.first(f.Get(node.KubeletClientCert))
}

// poolOf returns the CAs in a kubeconfig.
func (d *domain) poolOf(f *hosttest.Fake, name string) *x509.CertPool {
	d.t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(f.Get(name)))
	if err != nil {
		d.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(config.CAData)
	return pool
}

// holds reports whether text has one of the certificates in some.
func (d *domain) holds(text, some string) bool {
	d.t.Helper()
	of, err := cert.ParseCertsPEM([]byte(some))
	if err != nil {
		d.t.Fatal(err)
	}
	return trustsOneOf([]byte(text), of)
}

func (d *domain) first(text string) *x509.Certificate {
	d.t.Helper()
	c, err := firstCertificate([]byte(text))
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// started loads the current files into a static pod. The controller manager requires a signing
// file with one certificate.
func (d *domain) started(part string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch part {
	case "kube-controller-manager":
		d.trusts[part], d.rootCA = d.poolOf(d.c.f, kube.ControllerManagerConf), d.c.f.Get(kube.ClusterCA)
		d.loadSigner()
	case "kube-scheduler":
		d.trusts[part] = d.poolOf(d.c.f, kube.SchedulerConf)
	case "kube-apiserver":
		for field, file := range map[string]string{"client-ca-file": kube.ClusterCA, "requestheader-client-ca-file": node.PKIDir + "/front-proxy-ca.crt"} {
			for cert := range strings.SplitAfterSeq(d.c.f.Get(file), "-----END CERTIFICATE-----\n") {
				if !strings.Contains(d.published[field], cert) {
					d.published[field] += cert
				}
			}
		}
	}
}

func (d *domain) loadSigner() {
	pod, err := node.PodIn([]byte(d.c.f.Get(node.ManifestOf(node.ControllerManager))))
	if err != nil {
		d.t.Fatal(err)
	}
	d.c.f.Put(d.t, "/proc/77/cmdline", strings.Join(pod.Spec.Containers[0].Command, "\x00")+"\x00")
	flags := process.Flags(pod.Spec.Containers[0].Command)
	a := CA{file: flags[signerFlag], key: flags[signerKeyFlag]}
	if text := d.c.f.Get(a.file); strings.Count(text, "BEGIN") == 1 {
		d.signer = d.c.readCA(a)
	} else {
		d.t.Errorf("the controller manager starts with %d signing certificates, want 1", strings.Count(text, "BEGIN"))
	}
}

// restart runs before a program stops.
func (d *domain) restart() error {
	d.allTrust()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.restarts++; d.restarts == d.cut {
		d.kill()
		return errors.New("interrupted")
	}
	return nil
}

// allTrust checks that clients trust the API server, and that the API server and the kubelets trust
// each other. Pods read the published CAs at their start; another test checks them.
func (d *domain) allTrust() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	server, err := x509.ParseCertificate(d.c.loaded.Certificate[0])
	if err != nil {
		d.t.Fatal(err)
	}
	trusted := func(what string, leaf *x509.Certificate, by *x509.CertPool) {
		d.t.Helper()
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: by, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			d.t.Errorf("%s: %v", what, err)
		}
	}
	for name, pool := range d.trusts {
		trusted(name+" does not trust the API server", server, pool)
	}
	pools := map[string]*x509.CertPool{}
	for name, f := range map[string]*hosttest.Fake{"cp1": d.c.f, "w1": d.w} { // the kubelet and the API server reload these files
		pools[name] = x509.NewCertPool()
		pools[name].AppendCertsFromPEM([]byte(f.Get(kube.ClusterCA)))
		trusted("the kubelet of "+name+" does not trust the API server's client", d.first(d.c.f.Get(node.PKIDir+"/apiserver-kubelet-client.crt")), pools[name])
	}
	for name, leaf := range d.shows {
		trusted("the API server does not trust the "+name, leaf, pools["cp1"])
	}
}

// serve adds reactors to the fake API server where it must do more than store objects.
func (d *domain) serve() {
	ready := corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	d.client = fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp1", Labels: map[string]string{kube.ControlPlaneLabel: ""}}, Status: ready},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: ready},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: clusterInfo}, Data: map[string]string{"kubeconfig": kubeconfig(d.c.at, d.c.f.Get(kube.ClusterCA), "", "")}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"},
			Type:       corev1.SecretTypeBootstrapToken, Data: map[string][]byte{"description": []byte("airgap join")},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-others"}, Type: corev1.SecretTypeBootstrapToken},
	)
	d.client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		return true, &coordination.Lease{Spec: coordination.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Now()}}}, nil
	})
	d.client.PrependReactor("get", "configmaps", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		switch action.(clienttesting.GetAction).GetName() {
		case rootCA:
			return true, &corev1.ConfigMap{Data: map[string]string{"ca.crt": d.rootCA}}, nil
		case authenticationInfo:
			return true, &corev1.ConfigMap{Data: maps.Clone(d.published)}, nil
		}
		return false, nil, nil
	})
	d.client.PrependReactor("delete", "configmaps", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		d.mu.Lock()
		d.published = map[string]string{"client-ca-file": d.c.f.Get(kube.ClusterCA), "requestheader-client-ca-file": d.c.f.Get(node.PKIDir + "/front-proxy-ca.crt")}
		d.mu.Unlock()
		return true, nil, nil
	})
	d.serveRequests()
}

// serveRequests signs the requests of kubelets. It selects by name in lists, because the fake
// server does not.
func (d *domain) serveRequests() {
	d.client.PrependReactor("create", "certificatesigningrequests", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		request := action.(clienttesting.CreateAction).GetObject().(*certificates.CertificateSigningRequest)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.requests++
		request.Name, request.UID = fmt.Sprintf("csr-%d", d.requests), "1"
		request.Status.Conditions = []certificates.CertificateSigningRequestCondition{{Type: certificates.CertificateApproved}}
		request.Status.Certificate = []byte(d.signer.sign(request.Spec.Request))
		return true, request, d.client.Tracker().Add(request)
	})
	d.client.PrependReactor("list", "certificatesigningrequests", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		name, _ := action.(clienttesting.ListAction).GetListRestrictions().Fields.RequiresExactMatch("metadata.name")
		one, err := d.client.Tracker().Get(certificates.SchemeGroupVersion.WithResource("certificatesigningrequests"), "", name)
		if err != nil {
			return true, nil, err
		}
		return true, &certificates.CertificateSigningRequestList{Items: []certificates.CertificateSigningRequest{*one.(*certificates.CertificateSigningRequest)}}, nil
	})
}

// sign returns a certificate for a signing request.
func (a authority) sign(request []byte) string {
	a.t.Helper()
	block, _ := pem.Decode(request)
	form, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: form.Subject, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, form.PublicKey.(*ecdsa.PublicKey), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func (d *domain) replacement(m host.Machine, a CA) CARotation {
	return CARotation{Machine: m, Authority: a, Pods: WaitForPods, Say: d.t.Logf, connect: func(string) (kubernetes.Interface, error) { return d.client, nil }}
}

// asKubelet returns a client that may read the Secret only while it exists.
func (d *domain) asKubelet() kubernetes.Interface {
	client := &fake.Clientset{}
	client.AddReactor("*", "*", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		object, err := d.client.Invokes(action, nil)
		if get, is := action.(clienttesting.GetAction); is && get.GetResource().Resource == "secrets" && apierrors.IsNotFound(err) {
			err = apierrors.NewForbidden(get.GetResource().GroupResource(), get.GetName(), nil)
		}
		return true, object, err
	})
	client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := d.client.InvokesWatch(action)
		return true, w, err
	})
	return client
}

// run makes cp1 lead and the worker follow, as if the operator ran the command there.
func (d *domain) run(ctx context.Context, a CA) (CARotated, error) {
	ctx = context.WithValue(ctx, await.Oftener{}, 20*time.Millisecond)
	r := d.replacement(d.c.m, a)
	if a.OnAllHosts() {
		r.Others = func(ctx context.Context) error {
			follows := d.replacement(d.worker, a)
			follows.Follow, follows.connect = true, func(string) (kubernetes.Interface, error) { return d.asKubelet(), nil }
			_, err := follows.Run(ctx)
			return err
		}
	}
	return r.Run(ctx)
}

// authority returns a CA of kubeadm, or the registry's CA. Programs trust the latter after a call
// of Trust.
func (d *domain) authority(name string) CA {
	if name != "registry" {
		return authorityOf(name)
	}
	const file, key, leaf = "/etc/airgap/pki/ca.crt", "/etc/airgap/pki/ca.key", "/etc/airgap/pki/registry.crt"
	made := newCA(d.t)
	d.c.f.Put(d.t, file, made.pem())
	d.c.f.Put(d.t, key, made.keyPEM())
	d.w.Put(d.t, file, made.pem())
	sign := func() {
		cert, _ := d.c.readCA(CA{file: file, key: key}).issue("registry")
		d.c.f.Put(d.t, leaf, cert)
	}
	sign()
	return OtherCA(name, file, key, []string{leaf}, Other{
		Make: func() (certificate, key []byte, err error) {
			made := newCA(d.t)
			return []byte(made.pem()), []byte(made.keyPEM()), nil
		},
		Trust: func(context.Context) error {
			for _, f := range []*hosttest.Fake{d.c.f, d.w} {
				pool := x509.NewCertPool()
				pool.AppendCertsFromPEM([]byte(f.Get(file)))
				if _, err := d.first(d.c.f.Get(leaf)).Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
					d.t.Errorf("the registry is not trusted: %v", err)
				}
			}
			return d.restart()
		},
		Sign: func(context.Context) error { sign(); return d.restart() },
	})
}
