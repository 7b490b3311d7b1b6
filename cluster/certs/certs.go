// Package certs has the certificates of this host: when they end, who renews them, and those that
// airgap renews.
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

// Certificate is one of this host's, as a result.
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

// List is of this host's certificates by their end.
type List []Certificate

// Here lists the certificates of this host, which only root may read.
func Here() (List, error) {
	if err := hostcheck.MustBeRoot("certs"); err != nil {
		return nil, err
	}
	return Of(site.ThisMachine().Host)
}

// Write lists them with the days that each has left from now.
func (l List) Write(w io.Writer) error { return Write(w, l, time.Now()) }

// Of lists the host's certificates by their end. An authority that
// follows in the file of another certificate has a file of its own.
func Of(h host.Host) ([]Certificate, error) {
	files, err := nodereport.FindCertificates(h)
	if err != nil {
		return nil, advice.Add(err, "if a renewal was interrupted, airgap certs renew goes on with it; else put the file back from "+site.BackupDir)
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

// PurposeOf is what the certificate in a file is for, by
// https://kubernetes.io/docs/setup/best-practices/certificates/ and by what
// airgap itself makes.
func PurposeOf(file string) string {
	purposes := map[string]string{
		"/etc/airgap/pki/ca.crt":       "authority of the registry",
		"/etc/airgap/pki/registry.crt": "registry, to its clients",
		"admin.conf":                   "administrator of the cluster",
		"super-admin.conf":             "administrator beside all rules",
		"kubelet.conf":                 "kubelet, to the API server",
		"ca.crt":                       "authority of the cluster",
		"apiserver.crt":                "API server, to its clients",
		"apiserver-kubelet-client.crt": "API server, to kubelets",
		"apiserver-etcd-client.crt":    "API server, to etcd",
		"front-proxy-ca.crt":           "authority of the front proxy",
		"front-proxy-client.crt":       "API server, to extension API servers",
		"etcd/ca.crt":                  "authority of etcd",
		"etcd/server.crt":              "etcd, to its clients",
		"etcd/peer.crt":                "etcd, to its other members",
		"etcd/healthcheck-client.crt":  "who looks after etcd",
		"kubelet.crt":                  "kubelet, to the API server that asks it",
		"kubelet-server-current.pem":   "kubelet, to the API server that asks it",
		"kubelet-client-current.pem":   "kubelet, to the API server",
		"scheduler.conf":               "scheduler, to the API server",
		"controller-manager.conf":      "controller manager, to the API server",
	}
	for _, dir := range []string{"", "/etc/kubernetes/pki/", "/etc/kubernetes/", "/var/lib/kubelet/pki/"} {
		if name, inside := strings.CutPrefix(file, dir); inside && purposes[name] != "" {
			return purposes[name]
		}
	}
	return path.Base(file)
}

// Write lists the certificates as a table, with the days that each has left.
func Write(w io.Writer, list []Certificate, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "this server has no certificate of a cluster")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ENDS\tLEFT\tFILE\tPURPOSE\tSUBJECT\tISSUER\tRENEWED BY")
	for _, c := range list {
		issuer := c.Issuer
		if issuer == c.Subject {
			issuer = "itself"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Ends.Format(time.DateOnly), c.Left(now), c.File, c.Purpose, c.Subject, issuer, c.Renewed)
	}
	return t.Flush()
}

// Span returns the time in which the certificate is valid.
func (c Certificate) Span() validity.Span { return validity.Span{Begins: c.Begins, Ends: c.Ends} }

// Left is how long it can be used, or why not.
func (c Certificate) Left(now time.Time) string {
	switch left := c.Span().Left(now); {
	case c.Span().Early(now):
		return "from " + c.Begins.Format(time.DateOnly) + " on"
	case left <= 0:
		return "ended"
	default:
		return ui.Count(int(left.Hours()/24), "day")
	}
}
