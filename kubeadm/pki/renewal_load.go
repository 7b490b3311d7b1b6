package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// readyTime is the time that a program has to restart with its new certificate on a busy host. If
// the program crashed repeatedly because its certificate had expired, the kubelet waits up to
// five minutes before the next start.
const readyTime = 7 * time.Minute

// load makes every program use the new certificates, and returns the programs that it restarted.
// etcd needs no restart: it reads its files for each TLS handshake.
func (r Renewal) load(ctx context.Context, under renewal) (restarted []string, err error) {
	if _, has := under.Files[kube.AdminConf]; has {
		if restarted, err = r.loadControlPlane(ctx, under.Made); err != nil {
			return restarted, err
		}
	}
	if _, has := under.Files[kubeletKey]; has {
		restarted = append(restarted, "kubelet")
		r.Say("restart the kubelet; pods keep running")
		if err := r.loadKubelet(ctx); err != nil {
			return restarted, err
		}
	}
	return restarted, nil
}

func (r Renewal) loadControlPlane(ctx context.Context, made time.Time) (restarted []string, err error) {
	m := r.Machine
	if err := await.Until(ctx, readyTime, func(ctx context.Context) error { return etcdServesItsFiles(ctx, m) }); err != nil {
		return nil, stuck("etcd presents its new certificates", err)
	}
	self, err := node.Name(m)
	if err != nil {
		return nil, err
	}
	for _, part := range []node.Part{node.APIServer, node.ControllerManager, node.Scheduler} {
		again, err := node.RestartOlder(ctx, m, part, self, made, r.Say)
		if again {
			restarted = append(restarted, string(part))
		}
		if err == nil {
			err = await.Until(ctx, readyTime, func(ctx context.Context) error { return partReady(ctx, m, part, self, made) })
		}
		if err != nil {
			return restarted, stuck(string(part)+" uses its new certificates", err)
		}
	}
	return restarted, nil
}

func (r Renewal) loadKubelet(ctx context.Context) error {
	if err := r.Machine.Run(ctx, "systemctl", "restart", "kubelet"); err != nil {
		return runtime.Explain(ctx, r.Machine, host.Failure{What: "restart the kubelet", Err: err, Unit: "kubelet"})
	}
	if err := await.Until(ctx, readyTime, func(ctx context.Context) error { return kubeletServesItsFile(ctx, r.Machine) }); err != nil {
		return stuck("the kubelet presents its new certificate", err)
	}
	return nil
}

func stuck(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &host.Failure{What: "wait until " + what, Err: err, Next: "read journalctl -u kubelet and /var/log/pods, fix the cause and run the same command again: it continues here"}
}

// partReady returns nil if the program of a static pod has started after made and the kubelet
// reports it as ready. The API server must also present the certificate in its file.
func partReady(ctx context.Context, m host.Machine, part node.Part, self string, made time.Time) error {
	if part == node.APIServer {
		if err := apiServerServesItsFile(ctx, m); err != nil {
			return err
		}
	}
	return node.StaticPodReady(ctx, m, part, self, made)
}

func apiServerServesItsFile(ctx context.Context, m host.Machine) error {
	own, err := kube.RESTConfig(m, kube.SchedulerConf) // in this kubeconfig, kubeadm sets the API server of this host
	if err != nil {
		return err
	}
	at, err := url.Parse(own.Host)
	if err == nil {
		err = rest.LoadTLSFiles(own)
	}
	if err != nil {
		return err
	}
	return presents(ctx, at.Host, clientTrusting(own.CAData), m.Path(node.PKIDir+"/apiserver.crt"))
}

// etcdServesItsFiles checks the certificates of this host's etcd member, if it has one, on its
// client port and its peer port.
func etcdServesItsFiles(ctx context.Context, m host.Machine) error {
	if _, err := os.Stat(m.Path(node.ManifestOf(node.Etcd))); err != nil {
		return host.IgnoreMissing(err)
	}
	flags, err := node.Flags(m, node.Etcd)
	if err != nil {
		return err
	}
	if err := etcdServes(ctx, m, flags["listen-client-urls"], "healthcheck-client", "server"); err != nil {
		return err
	}
	return etcdServes(ctx, m, flags["listen-peer-urls"], "peer", "peer")
}

// etcdServes connects to the first of the URLs with the client certificate as, and expects the
// server certificate want.
func etcdServes(ctx context.Context, m host.Machine, urls, as, want string) error {
	const dir = node.PKIDir + "/etcd/"
	first, _, _ := strings.Cut(urls, ",")
	at, err := url.Parse(first)
	if err != nil {
		return fmt.Errorf("parse the URLs of etcd: %w", err)
	}
	ca, err := os.ReadFile(m.Path(dir + "ca.crt"))
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(m.Path(dir+as+".crt"), m.Path(dir+as+".key"))
	if err != nil {
		return fmt.Errorf("read the client certificate for etcd: %w", err)
	}
	config := clientTrusting(ca)
	config.Certificates = []tls.Certificate{pair}
	return presents(ctx, at.Host, config, m.Path(dir+want+".crt"))
}

// kubeletServesItsFile trusts the certificate itself, because it is self-signed.
func kubeletServesItsFile(ctx context.Context, m host.Machine) error {
	text, err := os.ReadFile(m.Path(kubeletCertificate))
	if err != nil {
		return fmt.Errorf("wait for the kubelet's certificate: %w", err)
	}
	leaf, err := firstCertificate(text)
	if err != nil {
		return err
	}
	config := clientTrusting(text)
	config.ServerName = leaf.Subject.CommonName
	if len(leaf.DNSNames) > 0 {
		config.ServerName = leaf.DNSNames[0]
	}
	if err := presents(ctx, "127.0.0.1:10250", config, m.Path(kubeletCertificate)); err != nil {
		return err
	}
	return node.KubeletHealthy(ctx, m)
}

// presents returns nil if the server at address presents the certificate in file in the TLS
// handshake.
func presents(ctx context.Context, address string, config *tls.Config, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	want, err := firstCertificate(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("TLS handshake with %s: %w", address, err)
	}
	defer conn.Close()
	shown := conn.(*tls.Conn).ConnectionState().PeerCertificates
	if !shown[0].Equal(want) {
		return fmt.Errorf("%s still presents the certificate with serial number %x, but %s has %x", address, shown[0].SerialNumber, file, want.SerialNumber)
	}
	return nil
}

func clientTrusting(authorities []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorities)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func firstCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("the file does not start with a PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
