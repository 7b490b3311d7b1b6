// Package certs lists the certificates of this host, with expiry and renewal, and renews the certificates
// that airgap manages.
package certs

import (
	"crypto/x509"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/validity"
	"airgap.dev/airgap/verify/nodereport"
)

// Certificate describes one certificate of this host.
type Certificate struct {
	File      string             `json:"file"`
	Purpose   string             `json:"purpose"`
	Subject   string             `json:"subject"`
	Issuer    string             `json:"issuer"`
	Serial    string             `json:"serial"` // hexadecimal
	Begins    time.Time          `json:"begins"`
	Ends      time.Time          `json:"ends"`
	Renewed   nodereport.Renewer `json:"renewedBy"`
	Authority bool               `json:"authority"`
}

// List contains this host's certificates, sorted by expiry.
type List []Certificate

// Here lists the certificates of this host. Only root can read them.
func Here() (List, error) {
	if err := hostcheck.MustBeRoot("certs"); err != nil {
		return nil, err
	}
	list, err := Of(site.ThisMachine().Host)
	if err == nil && len(list) == 0 { // a cluster that airgap did not install has certificates, too
		err = site.MustBeInstalled("certs")
	}
	return list, err
}

// Write prints the list with the remaining days.
func (l List) Write(w io.Writer) error { return Write(w, l, time.Now()) }

// Of lists the host's certificates, sorted by expiry. It reads only the first certificate of each file: a CA
// that follows in the file of another certificate also has its own file.
func Of(h host.Host) ([]Certificate, error) {
	files, err := nodereport.FindCertificates(h)
	if err != nil {
		return nil, advice.Add(err, "if a renewal was interrupted, continue it with airgap certs renew; otherwise restore the file from "+site.BackupDir)
	}
	list := []Certificate{}
	for _, f := range files {
		list = append(list, describeCertificate(f.Path, f.Certificates[0]))
	}
	slices.SortStableFunc(list, func(a, b Certificate) int { return a.Ends.Compare(b.Ends) })
	return list, nil
}

func describeCertificate(file string, c *x509.Certificate) Certificate {
	return Certificate{
		File: file, Purpose: PurposeOf(file), Subject: c.Subject.String(), Issuer: c.Issuer.String(),
		Serial: fmt.Sprintf("%x", c.SerialNumber), Begins: c.NotBefore.UTC(), Ends: c.NotAfter.UTC(), Renewed: nodereport.RenewerOf(file), Authority: c.IsCA,
	}
}

// PurposeOf returns the purpose of the certificate in a file, from
// https://kubernetes.io/docs/setup/best-practices/certificates/ and for the files of airgap.
func PurposeOf(file string) string {
	purposes := map[string]string{
		"/etc/airgap/pki/ca.crt":       "CA of the registry",
		"/etc/airgap/pki/registry.crt": "server certificate of the registry",
		"admin.conf":                   "client certificate of the administrator",
		"super-admin.conf":             "client certificate of the administrator without RBAC limits",
		"kubelet.conf":                 "client certificate of the kubelet",
		"ca.crt":                       "CA of the cluster",
		"apiserver.crt":                "server certificate of the API server",
		"apiserver-kubelet-client.crt": "client certificate of the API server for kubelets",
		"apiserver-etcd-client.crt":    "client certificate of the API server for etcd",
		"front-proxy-ca.crt":           "CA of the front proxy",
		"front-proxy-client.crt":       "client certificate of the API server for extension API servers",
		"etcd/ca.crt":                  "CA of etcd",
		"etcd/server.crt":              "server certificate of etcd",
		"etcd/peer.crt":                "peer certificate of etcd",
		"etcd/healthcheck-client.crt":  "client certificate for etcd health checks",
		"kubelet.crt":                  "server certificate of the kubelet",
		"kubelet-server-current.pem":   "server certificate of the kubelet",
		"kubelet-client-current.pem":   "client certificate of the kubelet",
		"scheduler.conf":               "client certificate of the scheduler",
		"controller-manager.conf":      "client certificate of the controller manager",
	}
	for _, dir := range []string{"", "/etc/kubernetes/pki/", "/etc/kubernetes/", "/var/lib/kubelet/pki/"} {
		if name, inside := strings.CutPrefix(file, dir); inside && purposes[name] != "" {
			return purposes[name]
		}
	}
	return path.Base(file)
}

// Write prints the certificates as a table with the remaining days.
func Write(w io.Writer, list []Certificate, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "this host has no certificates of a cluster")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "EXPIRES\tREMAINING\tFILE\tPURPOSE\tSUBJECT\tISSUER\tRENEWED BY")
	for _, c := range list {
		issuer := c.Issuer
		if issuer == c.Subject {
			issuer = "self-signed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Ends.Format(time.DateOnly), c.Left(now), c.File, c.Purpose, c.Subject, issuer, c.Renewed)
	}
	return t.Flush()
}

// Span returns the validity period of the certificate.
func (c Certificate) Span() validity.Span { return validity.Span{Begins: c.Begins, Ends: c.Ends} }

// Left returns the remaining days, or the reason why the certificate is not valid now.
func (c Certificate) Left(now time.Time) string {
	switch left := c.Span().Left(now); {
	case c.Span().Early(now):
		return "valid from " + c.Begins.Format(time.DateOnly)
	case left <= 0:
		return "expired"
	default:
		return ui.Count(int(left.Hours()/24), "day")
	}
}
