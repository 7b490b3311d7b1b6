package certs

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// certificatesByCA returns the files with certificates of kubeadm and of the registry on a
// control-plane host. The key is the path of their CA without an extension.
func certificatesByCA() map[string][]string {
	const pki, etcd = "/etc/kubernetes/pki/", "/etc/kubernetes/pki/etcd/"
	return map[string][]string{
		pki + "ca":             {pki + "apiserver.crt", pki + "apiserver-kubelet-client.crt", "/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf", "/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/scheduler.conf"},
		etcd + "ca":            {etcd + "server.crt", etcd + "peer.crt", etcd + "healthcheck-client.crt", pki + "apiserver-etcd-client.crt"},
		pki + "front-proxy-ca": {pki + "front-proxy-client.crt"},
		"/etc/airgap/pki/ca":   {"/etc/airgap/pki/registry.crt"},
	}
}

// allExpired lets all certificates of a cluster expire. verify and status must report this, and one
// command must repair the cluster.
func allExpired(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	for caPath, files := range certificatesByCA() {
		for _, file := range files {
			if err := expire(ctx, m, caPath, file); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if err := e.Script(ctx, m,
		"systemctl restart airgap-registry",
		"pkill -f '^(etcd|kube-apiserver|kube-controller-manager|kube-scheduler) '; sleep 5"); err != nil {
		return err
	}
	verify, err := e.On(ctx, m, "", "airgap", "verify", scenario.LabSkips, "--timeout", "15s", "--soak", "5s")
	if err == nil {
		err = verify.Want("verify with expired certificates", 4, "API server", "airgap certs renew")
	}
	status, statusErr := e.On(ctx, m, "", "airgap", "status")
	if statusErr == nil {
		statusErr = status.Want("status with expired certificates", 0, "run airgap certs renew to renew the certificates")
	}
	if err := errors.Join(err, statusErr); err != nil {
		return err
	}
	if _, err := e.Must(ctx, m, []string{"renewed /etc/kubernetes/pki/apiserver.crt", "renewed /etc/airgap/pki/registry.crt"}, "airgap", "certs", "renew"); err != nil {
		return err
	}
	return e.Verified(ctx, m)
}

var clientCertificate = regexp.MustCompile(`(client-certificate-data: )(\S+)`)

// expire replaces a certificate by the same one with an expiry one hour ago. It reads the CA's private
// key for that, and keeps it only in memory.
func expire(ctx context.Context, m lab.Machine, caPath, file string) error {
	ca, err := certificateIn(ctx, m, caPath+".crt")
	if err != nil {
		return err
	}
	text, err := lab.Output(ctx, m, "cat", caPath+".key")
	if err != nil {
		return err
	}
	key, err := privateKey([]byte(text))
	if err != nil {
		return err
	}
	was, err := lab.Output(ctx, m, "cat", file)
	if err != nil {
		return err
	}
	if path.Ext(file) != ".conf" {
		expired, err := expiredOf([]byte(was), ca, key)
		return errors.Join(err, writeFile(ctx, m, file, expired))
	}
	data := clientCertificate.FindStringSubmatch(was)
	if data == nil {
		return errors.New("no client certificate in the file")
	}
	client, err := base64.StdEncoding.DecodeString(data[2])
	if err != nil {
		return err
	}
	expired, err := expiredOf(client, ca, key)
	if err != nil {
		return err
	}
	return writeFile(ctx, m, file, []byte(strings.Replace(was, data[2], base64.StdEncoding.EncodeToString(expired), 1)))
}

func certificateIn(ctx context.Context, m lab.Machine, file string) (*x509.Certificate, error) {
	text, err := lab.Output(ctx, m, "cat", file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New(file + " has no certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

func privateKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM block with a private key")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, is := key.(crypto.Signer)
	if !is {
		return nil, errors.New("the private key cannot sign")
	}
	return signer, nil
}

// expiredOf returns PEM text with its first certificate signed again with an expiry in the past.
// The rest of the text stays.
func expiredOf(text []byte, ca *x509.Certificate, key crypto.Signer) ([]byte, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM block with a certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	c.SignatureAlgorithm = x509.UnknownSignatureAlgorithm // the CA may have a key of another type since a rotation
	c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, c, ca, c.PublicKey, key)
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), rest...), err
}

// writeFile replaces the content of a file, and keeps its owner and mode.
func writeFile(ctx context.Context, m lab.Machine, file string, text []byte) error {
	return m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", `cat >"$1"`, "sh", file}, Stdin: strings.NewReader(string(text))})
}
