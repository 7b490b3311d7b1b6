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

// Kubelet is how to ask the kubelet of this host.
type Kubelet struct {
	URL string // of its API
	// CertFiles hold the certificate that it serves with: the first that is there.
	CertFiles []string
	// Kubeconfig is a file with the certificate of somebody who has the right to
	// nodes/configz.
	Kubeconfig string
}

// LocalKubelet serves with a certificate that it made itself, or, with
// serverTLSBootstrap, with one that the cluster has signed. It is asked with its
// own identity.
func LocalKubelet() Kubelet {
	const pki = "/var/lib/kubelet/pki/"
	return Kubelet{
		URL: "https://127.0.0.1:10250", CertFiles: []string{pki + "kubelet-server-current.pem", pki + "kubelet.crt"},
		Kubeconfig: "/etc/kubernetes/kubelet.conf",
	}
}

// Driver is the cgroup driver that the kubelet uses. Its file may say something
// else: it may have changed since, and a runtime that tells its own driver
// overrules it (KEP-4033).
func (k Kubelet) Driver(ctx context.Context) (string, error) {
	body, err := k.Config(ctx)
	if err != nil {
		return "", err
	}
	var says struct {
		Config struct {
			CgroupDriver string `json:"cgroupDriver"` // never empty: with defaults
		} `json:"kubeletconfig"`
	}
	err = json.Unmarshal(body, &says)
	if err == nil && says.Config.CgroupDriver == "" {
		err = errors.New("the answer names no cgroup driver")
	}
	if err != nil {
		return "", fmt.Errorf("ask the kubelet for its configuration: %w", err)
	}
	return says.Config.CgroupDriver, nil
}

// Config is the configuration that the kubelet uses, with all defaults, as the JSON
// of its /configz.
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

// client trusts the one certificate that lies on this host, where root alone can
// have put it, also when it has ended: a kubelet goes on with the one it made.
func (k Kubelet) client() (*http.Client, error) {
	serves, err := k.serves()
	if err != nil {
		return nil, err
	}
	own, err := k.own()
	if err != nil {
		return nil, err
	}
	only := x509.NewCertPool()
	only.AddCert(serves)
	trust := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: only, Certificates: []tls.Certificate{own},
		Time: func() time.Time { return serves.NotBefore },
	}
	if len(serves.DNSNames) > 0 {
		trust.ServerName = serves.DNSNames[0]
	}
	return httpclient.New(httpclient.Stay(&http.Transport{TLSClientConfig: trust, DisableKeepAlives: true})), nil
}

// own reads the file each time: the certificate is renewed.
func (k Kubelet) own() (tls.Certificate, error) {
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err == nil {
		err = rest.LoadTLSFiles(config)
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read %s: %w", k.Kubeconfig, err)
	}
	return tls.X509KeyPair(config.CertData, config.KeyData)
}

func (k Kubelet) serves() (*x509.Certificate, error) {
	for _, file := range k.CertFiles {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" { // its own comes before the authority's
				return x509.ParseCertificate(block.Bytes)
			}
		}
	}
	return nil, fmt.Errorf("there is no certificate of it in %v", k.CertFiles)
}
