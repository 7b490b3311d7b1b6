package nodereport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"airgap.dev/airgap/internal/httpclient"
)

// Kubelet has the address and the credentials to query the kubelet of this host.
type Kubelet struct {
	URL string // of its API
	// CertFiles are the paths of its serving certificate; the first that exists is used.
	CertFiles []string
	// Kubeconfig is a file with the certificate of a user that may get nodes/configz.
	Kubeconfig string
}

// LocalKubelet returns the kubelet with kubeadm's paths. Its serving certificate is self-signed
// or, with serverTLSBootstrap, signed by the cluster. Requests use the kubelet's own identity.
func LocalKubelet() Kubelet {
	const pki = "/var/lib/kubelet/pki/"
	return Kubelet{
		URL: "https://127.0.0.1:10250", CertFiles: []string{pki + "kubelet-server-current.pem", pki + "kubelet.crt"},
		Kubeconfig: "/etc/kubernetes/kubelet.conf",
	}
}

// Driver returns the cgroup driver that the kubelet uses. The kubelet's file may have another
// value: the file may have changed since the start, and a runtime that reports its own driver
// overrides it (KEP-4033).
func (k Kubelet) Driver(ctx context.Context) (string, error) {
	body, err := k.Config(ctx)
	if err != nil {
		return "", err
	}
	var answer struct {
		Config struct {
			CgroupDriver string `json:"cgroupDriver"` // never empty: the answer includes defaults
		} `json:"kubeletconfig"`
	}
	err = json.Unmarshal(body, &answer)
	if err == nil && answer.Config.CgroupDriver == "" {
		err = errors.New("the answer has no cgroup driver")
	}
	if err != nil {
		return "", fmt.Errorf("ask the kubelet for its configuration: %w", err)
	}
	return answer.Config.CgroupDriver, nil
}

// Config returns the configuration that the kubelet uses, with all defaults, as the JSON of its
// /configz.
func (k Kubelet) Config(ctx context.Context) ([]byte, error) {
	client, err := k.client()
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet for its configuration: %w", err)
	}
	body, err := get(ctx, client, k.URL+"/configz")
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet for its configuration: %w", err)
	}
	return body, nil
}

// client trusts only the serving certificate on this host, in a directory that only root can
// write. It accepts an expired one: the kubelet does not renew a self-signed certificate.
func (k Kubelet) client() (*http.Client, error) {
	serving, err := k.serving()
	if err != nil {
		return nil, err
	}
	own, err := k.clientCertificate()
	if err != nil {
		return nil, err
	}
	only := x509.NewCertPool()
	only.AddCert(serving)
	trust := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: only, Certificates: []tls.Certificate{own},
		Time: func() time.Time { return serving.NotBefore },
	}
	if len(serving.DNSNames) > 0 {
		trust.ServerName = serving.DNSNames[0]
	}
	return httpclient.New(httpclient.Stay(&http.Transport{TLSClientConfig: trust, DisableKeepAlives: true})), nil
}

// clientCertificate reads the file for each request: the kubelet renews the certificate.
func (k Kubelet) clientCertificate() (tls.Certificate, error) {
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err == nil {
		err = rest.LoadTLSFiles(config)
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read %s: %w", k.Kubeconfig, err)
	}
	return tls.X509KeyPair(config.CertData, config.KeyData)
}

func (k Kubelet) serving() (*x509.Certificate, error) {
	for _, file := range k.CertFiles {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" { // the serving certificate is before the CA's
				return x509.ParseCertificate(block.Bytes)
			}
		}
	}
	return nil, fmt.Errorf("find its serving certificate: no certificate in %v", k.CertFiles)
}
