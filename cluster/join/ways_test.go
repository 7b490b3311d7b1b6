package join

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/porttest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kubetest"
)

// certificateOf returns a self-signed certificate for names, and its pool.
func certificateOf(t *testing.T, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	return certificateFrom(t, time.Now().Add(-time.Hour), names...)
}

// certificateFrom is valid for two hours. The first name is only the subject if it contains a "=".
func certificateFrom(t *testing.T, from time.Time, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, NotBefore: from, NotAfter: from.Add(2 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			form.IPAddresses = append(form.IPAddresses, ip)
		} else if !strings.Contains(n, "=") {
			form.DNSNames = append(form.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// served answers each connection at an address of this machine until the test ends.
func served(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// fast is a retry without long pauses.
var fast = retry{pause: 10 * time.Millisecond}

// TestWay: the real program passes, and each failure has its error and its owner.
func TestWay(t *testing.T) {
	certificate, roots := certificateOf(t, "127.0.0.1", "cp1")
	_, otherRoots := certificateOf(t, "127.0.0.1")
	foreign, _ := certificateOf(t, "firewall.bank.example")
	expired, _ := certificateFrom(t, time.Now().Add(-3*time.Hour), "cp1")
	unnamed, _ := certificateOf(t, "O=bank")
	over := func(c *tls.Config) string {
		return served(t, func(conn net.Conn) {
			s := tls.Server(conn, c)
			if s.Handshake() == nil {
				_, _ = s.Read(make([]byte, 1024))
				_, _ = s.Write([]byte("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"))
			}
		})
	}
	plain := &tls.Config{Certificates: []tls.Certificate{certificate}}
	mutual := &tls.Config{Certificates: plain.Certificates, ClientAuth: tls.RequireAnyClientCert}
	older := &tls.Config{Certificates: plain.Certificates, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
	unapproved := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return nil, errors.New("no serving certificate available for the kubelet")
	}}
	free := served(t, func(net.Conn) {})
	none := "127.0.0.1:1" // no program listens on tcpmux
	for name, tc := range map[string]struct {
		way   way
		says  string // "" for an answer
		owner string
	}{
		"an API server":     {way{host: "cp1", address: over(plain), tls: true, roots: roots, path: "/livez"}, "", ""},
		"etcd":              {way{host: "cp1", address: over(mutual), tls: true}, "", ""},
		"etcd with TLS 1.2": {way{host: "cp1", address: over(older), tls: true}, "", ""},
		"a kubelet":         {way{host: "cp1", address: over(plain), tls: true}, "", ""},
		"a kubelet whose certificate has expired": {
			way{host: "cp1", address: over(&tls.Config{Certificates: []tls.Certificate{expired}}), tls: true}, "", "",
		},
		"a kubelet whose certificate is not approved": {way{host: "cp1", address: over(unapproved), tls: true, kubelet: true}, "", ""},
		"etcd that refuses TLS": {
			way{host: "cp1", address: over(unapproved), tls: true}, "TCP connects, but the TLS handshake fails: remote error: tls: internal error", "network team",
		},
		"a kubelet with the site's certificate": {
			way{host: "cp1", address: over(&tls.Config{Certificates: []tls.Certificate{foreign}}), tls: true, kubelet: true, anyName: true}, "", "",
		},
		"a certificate without names": {
			way{host: "cp1", address: over(&tls.Config{Certificates: []tls.Certificate{unnamed}}), tls: true}, "the certificate is not for cp1 or 127.0.0.1", "network team",
		},
		"BIRD":                           {way{host: "cp1", address: free, optional: true}, "", ""},
		"no Typha on this node":          {way{host: "cp1", address: none, optional: true}, "", ""},
		"no tunnel on this node":         {way{host: "cp1", address: none, protocol: "udp", optional: true}, "", ""},
		"no program":                     {way{host: "cp1", address: none, tls: true}, "connection refused", "administrators of cp1: the program does not run"},
		"no program behind the balancer": {way{address: none, tls: true}, "connection refused", "load balancer team"},
		"TLS that a device terminates":   {way{host: "cp1", address: over(plain), tls: true, roots: otherRoots, path: "/livez"}, "a device on the way terminates TLS", "network team"},
		"etcd's TLS that a device replaces": {
			way{host: "cp1", address: over(&tls.Config{Certificates: []tls.Certificate{foreign}}), tls: true}, `the certificate is not for cp1 or 127.0.0.1, subject "CN=firewall.bank`, "network team",
		},
		"a device that resets": {way{host: "cp1", address: served(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1)) // a reset before it could also end the connect
			if tcp, is := c.(*net.TCPConn); is {
				_ = tcp.SetLinger(0)
			}
		}), tls: true}, "TCP connects, but the TLS handshake fails", "administrators of cp1, or network team"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.way.protocol == "" {
				tc.way.protocol = "tcp"
			}
			tc.way.program = "program"
			lost := fast.tryAll(t.Context(), []way{tc.way}, func(lostWay) {})
			if tc.says == "" {
				assert.Empty(t, lost)
			} else if assert.Len(t, lost, 1) {
				assert.Contains(t, lost[0].String(), tc.says)
				assert.Contains(t, lost[0].String(), "(owner: "+tc.owner)
			}
		})
	}
}

// TestProof: a tunnel does not answer by UDP, so it does not count, also behind a device that drops its packets.
func TestProof(t *testing.T) {
	t.Parallel()
	silent, err := net.ListenPacket("udp4", "127.0.0.1:0") // looks like a device that drops all packets
	require.NoError(t, err)
	defer silent.Close()
	tunnel := way{program: "VXLAN", host: "cp1", address: silent.LocalAddr().String(), protocol: "udp", optional: true}
	answers := way{program: "BIRD", host: "cp1", address: served(t, func(net.Conn) {}), protocol: "tcp", optional: true}
	closed := way{program: "kubelet", host: "cp1", address: "127.0.0.1:1", protocol: "tcp"}
	ways := []way{tunnel, answers, closed}
	failed := fast.tryAll(t.Context(), ways, func(lostWay) {})
	_, port, _ := net.SplitHostPort(tunnel.address)
	assert.Equal(t, "1 programs of the cluster answer; not proven: UDP port "+port+
		" to 1 nodes, because a tunnel does not answer; the data plane of airgap verify proves it after the join", proof(ways, failed))
	assert.Equal(t, "1 programs of the cluster answer", proof(ways[1:], failed))
}

// candidateAt is a host w2 that joins the cluster of an API server with the nodes m1 and w1.
func candidateAt(t *testing.T, api *kubetest.API, role config.Role) (*Candidate, *hosttest.Fake) {
	t.Helper()
	s := sitetest.SettingsSite(t, "")
	s.Config.Nodes[0].Name, s.Config.Nodes[1].Address = "m1", "127.9.9.9"
	s.Node = config.Node{Name: "w2", Address: "127.9.9.8", Roles: []config.Role{role}}
	s.Config.Nodes = append(s.Config.Nodes, s.Node)
	f, m := hosttest.New(t)
	s.Machine.Machine = m
	pin := sha256.Sum256(api.Certificate().RawSubjectPublicKeyInfo)
	token := "abcdef.0123456789abcdef." + strings.ToLower(base32.StdEncoding.EncodeToString(pin[:10]))
	return &Candidate{
		Site: s, retry: fast, options: Options{Console: &ui.Terminal{In: strings.NewReader(token + "\n"), Err: &strings.Builder{}}},
		Hub: &Server{CA: []byte(api.CA()), Material: jointoken.JoinMaterial{APIServer: api.Listener.Addr().String(), CA: api.CA()}},
	}, f
}

// TestJoinProvesItsWayFirst: a program that does not answer stops the join before the host changes.
func TestJoinProvesItsWayFirst(t *testing.T) {
	api := kubetest.NewAPI(t)
	api.Ready = 2
	c, f := candidateAt(t, api, config.Worker)
	before := filesOf(t, f)
	_, err := c.admit(t.Context())
	require.ErrorContains(t, err, "check ports-reach: this host cannot reach services that a node needs")
	assert.ErrorContains(t, err, "kubelet on w1 (127.9.9.9), TCP 10250: connection refused (owner: administrators of w1")
	assert.Equal(t, before, filesOf(t, f), "the host has changed")
	assert.Empty(t, f.Calls, "a command has run")
	assert.Equal(t, 1, api.Burnt, "the token was only tried, in a dry run")

	api.Ready = 1
	c, _ = candidateAt(t, api, config.Worker)
	_, err = c.admit(t.Context())
	assert.NotContains(t, err.Error(), "ports-reach", "the node is no longer Ready")

	api.Ready = 2
	c, _ = candidateAt(t, api, config.Worker)
	c.options.Skip = []string{"ports-reach"}
	_, err = c.admit(t.Context())
	assert.NotContains(t, err.Error(), "ports-reach", "it was skipped on request")
}

func filesOf(t *testing.T, f *hosttest.Fake) (all []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(f.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		all = append(all, name)
		return err
	}))
	return all
}

// TestWays: a worker needs neither etcd nor nodes that have not joined; a control-plane host needs etcd.
func TestWays(t *testing.T) {
	api := kubetest.NewAPI(t)
	for role, etcd := range map[config.Role]bool{config.Worker: false, config.ControlPlane: true} {
		c, _ := candidateAt(t, api, role)
		c.Site.Config.Kubernetes.ControlPlaneEndpoint = "k8s.bank.example:6443"
		ways, err := c.ways(c.Site.Config.Nodes[:2])
		require.NoError(t, err)
		var text strings.Builder
		for _, w := range ways {
			text.WriteString(w.String() + "\n")
		}
		assert.Contains(t, text.String(), "kube-apiserver at 127.0.0.1, TCP")
		assert.Contains(t, text.String(), "kube-apiserver on m1 (192.0.2.11), TCP 6443\n")
		assert.Contains(t, text.String(), "registry on m1 (192.0.2.11), TCP 5000\n")
		assert.Contains(t, text.String(), "kubelet on w1 (127.9.9.9), TCP 10250\nVXLAN on w1 (127.9.9.9), UDP 8472\n")
		assert.Equal(t, etcd, strings.Contains(text.String(), "etcd peers on m1 (192.0.2.11), TCP 2380\n"), "%s:\n%s", role, &text)
		assert.NotContains(t, text.String(), "on w2")
		c.Site.Config.Kubernetes.Overrides.Kubelet = map[string]any{"tlsCertFile": "/etc/kubernetes/kubelet.crt"}
		own, err := c.ways(c.Site.Config.Nodes[:2])
		require.NoError(t, err)
		for i, w := range ways {
			assert.Equal(t, w.program == kubelet, w.kubelet, w)
			assert.Equal(t, []bool{false, w.kubelet}, []bool{w.anyName, own[i].anyName}, "the site's certificate: %s", w)
		}
		assert.NotContains(t, text.String(), "health")
	}
}

// TestRunning: only Ready nodes are tried, and only some of many workers.
func TestRunning(t *testing.T) {
	api := kubetest.NewAPI(t)
	c, _ := candidateAt(t, api, config.Worker)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(api.CA())}})
	require.NoError(t, err)
	nodes, err := c.running(t.Context(), client)
	require.NoError(t, err)
	assert.Empty(t, nodes, "w1 is not Ready, and m1 does not exist")
	api.Ready = 1
	nodes, err = c.running(t.Context(), client)
	require.NoError(t, err)
	assert.Len(t, nodes, 1)
}

// TestRunningInLargeCluster: a join reads few nodes, of different racks.
func TestRunningInLargeCluster(t *testing.T) {
	var read []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		read = append(read, name)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Node","status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	}))
	defer api.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL, QPS: -1})
	require.NoError(t, err)
	c, _ := candidateAt(t, kubetest.NewAPI(t), config.Worker)
	c.Site.Config.Nodes = nil
	for i := range 297 {
		c.Site.Config.Nodes = append(c.Site.Config.Nodes, config.Node{Name: fmt.Sprintf("w%03d", i), Address: fmt.Sprintf("10.0.%d.%d", i/30, 1+i%30)})
	}
	for i := range 3 {
		c.Site.Config.Nodes = append(c.Site.Config.Nodes, config.Node{Name: fmt.Sprintf("cp%d", i), Address: fmt.Sprintf("10.1.0.%d", i), Roles: []config.Role{config.ControlPlane}})
	}
	nodes, err := c.running(t.Context(), client)
	require.NoError(t, err)
	assert.Len(t, read, 3+maxWorkers, "requests")
	racks := map[string]bool{}
	for _, n := range nodes[3:] {
		racks[n.Address[:len("10.0.0")]] = true
	}
	assert.Len(t, racks, maxWorkers, "%v", nodes)
	assert.Equal(t, "cp0", nodes[0].Name)

	for i := range c.Site.Config.Nodes {
		c.Site.Config.Nodes[i].Rack = "even"
	}
	c.Site.Config.Nodes[200].Rack = "odd"
	nodes, err = c.running(t.Context(), client)
	require.NoError(t, err)
	assert.Equal(t, []string{"w000", "w200", "w001"}, []string{nodes[3].Name, nodes[4].Name, nodes[5].Name}, "airgap.yaml has racks")
}

// TestTryAgain: a program that restarts fails no join, and the user sees the wait.
func TestTryAgain(t *testing.T) {
	address := "127.0.0.1:" + porttest.Reserve(t)
	w := way{program: "registry", host: "cp1", address: address, protocol: "tcp"}
	waited := make(chan string, 1)
	go func() {
		assert.Contains(t, <-waited, "registry on cp1 (127.0.0.1)")
		time.Sleep(100 * time.Millisecond)
		if again, err := net.Listen("tcp4", address); assert.NoError(t, err) {
			t.Cleanup(func() { again.Close() })
		}
	}()
	lost := retry{pause: 10 * time.Millisecond, total: time.Minute}.tryAll(t.Context(), []way{w}, func(l lostWay) { waited <- l.String() })
	assert.Empty(t, lost)
	assert.GreaterOrEqual(t, usualRetry().total, time.Minute, "a dead node is Ready for about 50 s")
}

// TestTryAllEnds: the end of the context ends the wait.
func TestTryAllEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := way{program: "registry", host: "cp1", address: "127.0.0.1:1", protocol: "tcp"}
	began := time.Now()
	retry{time.Hour, 2 * time.Hour}.tryAll(ctx, []way{w}, func(lostWay) { cancel() })
	assert.Less(t, time.Since(began), time.Minute)
}
