package nodereport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestCertificates(t *testing.T) {
	ends := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	soon, late := certificate(t, "soon", ends), certificate(t, "late", ends.AddDate(9, 0, 0))
	key := "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
	kubeconfig := func(field string) string {
		return "apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user: {" + field + "}\n"
	}
	h := &recorded{files: fstest.MapFS{
		"etc/airgap/pki/registry.crt":                    {Data: []byte(soon + late)},
		"etc/airgap/pki/registry.key":                    {Data: []byte("not read")},
		"etc/kubernetes/admin.conf":                      {Data: []byte(kubeconfig("client-certificate-data: " + base64.StdEncoding.EncodeToString([]byte(late))))},
		"etc/kubernetes/kubelet.conf":                    {Data: []byte(kubeconfig("client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem"))},
		"etc/kubernetes/pki/etcd/ca.crt":                 {Data: []byte(late)},
		"var/lib/kubelet/pki/kubelet-client-current.pem": {Data: []byte(key + soon)},
		"var/lib/kubelet/pki/kubelet-client-2026-03.pem": {Data: []byte(key + soon)},
	}}
	got, err := Certificates(h)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range got {
		lines = append(lines, c.File+" "+c.Subject+" "+c.Begins.UTC().Format(time.DateOnly)+" "+c.Ends.UTC().Format(time.DateOnly))
	}
	// The registry's file has both: they are valid from the later begin to the earlier end.
	want := `/etc/airgap/pki/registry.crt CN=soon 2035-03-01 2027-03-01
/etc/kubernetes/admin.conf CN=late 2035-03-01 2036-03-01
/etc/kubernetes/pki/etcd/ca.crt CN=late 2035-03-01 2036-03-01
/var/lib/kubelet/pki/kubelet-client-current.pem CN=soon 2026-03-01 2027-03-01`
	if strings.Join(lines, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), want)
	}
	h.files["etc/kubernetes/pki/ca.crt"] = &fstest.MapFile{Data: []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}
	if _, err := Certificates(h); err == nil || !strings.Contains(err.Error(), "read certificate /etc/kubernetes/pki/ca.crt: ") {
		t.Errorf("damaged certificate: %v", err)
	}
}

func certificate(t *testing.T, name string, ends time.Time) string {
	t.Helper()
	cert, _ := identity(t, name, ends)
	return cert
}

// identity returns a self-signed certificate and its key, as PEM.
func identity(t *testing.T, name string, ends time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: ends.AddDate(-1, 0, 0), NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
