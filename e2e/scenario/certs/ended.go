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

// endedCertificates are those of kubeadm and the registry on a control-plane host, by the
// authority of each.
func endedCertificates() map[string][]string {
	const pki, etcd = "/etc/kubernetes/pki/", "/etc/kubernetes/pki/etcd/"
	return map[string][]string{
		pki + "ca":             {pki + "apiserver.crt", pki + "apiserver-kubelet-client.crt", "/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf", "/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/scheduler.conf"},
		etcd + "ca":            {etcd + "server.crt", etcd + "peer.crt", etcd + "healthcheck-client.crt", pki + "apiserver-etcd-client.crt"},
		pki + "front-proxy-ca": {pki + "front-proxy-client.crt"},
		"/etc/airgap/pki/ca":   {"/etc/airgap/pki/registry.crt"},
	}
}

// allEnded is a cluster that nobody looked after: a year has passed, and its certificates have
// ended. It is told, and one command brings it back.
func allEnded(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	for authority, files := range endedCertificates() {
		for _, file := range files {
			if err := end(ctx, m, authority, file); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if err := e.Script(ctx, m,
		"systemctl restart airgap-registry",
		"pkill -f '^(etcd|kube-apiserver|kube-controller-manager|kube-scheduler) '; sleep 5"); err != nil {
		return err
	}
	told, err := e.On(ctx, m, "", "airgap", "verify", scenario.LabSkips, "--timeout", "15s", "--soak", "5s")
	if err == nil {
		err = told.Want("verify with certificates that have ended", 4, "API server", "airgap certs renew")
	}
	status, asked := e.On(ctx, m, "", "airgap", "status")
	if asked == nil {
		asked = status.Want("status with certificates that have ended", 0, "run airgap certs renew to renew the certificates")
	}
	if err := errors.Join(err, asked); err != nil {
		return err
	}
	if _, err := e.Must(ctx, m, []string{"renewed /etc/kubernetes/pki/apiserver.crt", "renewed /etc/airgap/pki/registry.crt"}, "airgap", "certs", "renew"); err != nil {
		return err
	}
	return e.Verified(ctx, m)
}

var clientCertificate = regexp.MustCompile(`(client-certificate-data: )(\S+)`)

// end puts a certificate into the place of one that is the same, but ended an hour ago. Nothing
// of what is read here is kept: it is no secret but for the authority's key.
func end(ctx context.Context, m lab.Machine, authority, file string) error {
	ca, err := certificateIn(ctx, m, authority+".crt")
	if err != nil {
		return err
	}
	text, err := lab.Output(ctx, m, "cat", authority+".key")
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
		ended, err := endedOf([]byte(was), ca, key)
		return errors.Join(err, writeFile(ctx, m, file, ended))
	}
	data := clientCertificate.FindStringSubmatch(was)
	if data == nil {
		return errors.New("it has no certificate")
	}
	client, err := base64.StdEncoding.DecodeString(data[2])
	if err != nil {
		return err
	}
	ended, err := endedOf(client, ca, key)
	if err != nil {
		return err
	}
	return writeFile(ctx, m, file, []byte(strings.Replace(was, data[2], base64.StdEncoding.EncodeToString(ended), 1)))
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
		return nil, errors.New("no key")
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
		return nil, errors.New("no key to sign with")
	}
	return signer, nil
}

// endedOf is the first certificate of a text, signed anew, with what comes behind it.
func endedOf(text []byte, ca *x509.Certificate, key crypto.Signer) ([]byte, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it has no certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	c.SignatureAlgorithm = x509.UnknownSignatureAlgorithm // the authority may have another kind of key by now
	c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, c, ca, c.PublicKey, key)
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), rest...), err
}

// writeFile keeps a file's owner and mode.
func writeFile(ctx context.Context, m lab.Machine, file string, text []byte) error {
	return m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", `cat >"$1"`, "sh", file}, Stdin: strings.NewReader(string(text))})
}
