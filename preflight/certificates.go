package preflight

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/validity"
)

// Certificate is a certificate of a cluster on this host.
type Certificate struct {
	Path      string    `yaml:"path" json:"path"`
	NotAfter  time.Time `yaml:"notAfter" json:"notAfter"`
	NotBefore time.Time `yaml:"notBefore,omitempty" json:"notBefore,omitzero"` // zero in a survey by an older airgap
}

const (
	pkiDir        = "etc/kubernetes/pki"
	kubeletClient = "var/lib/kubelet/pki/kubelet-client-current.pem" // contains the key, too
)

// certificateBlocks returns a PEM file without its private keys.
func certificateBlocks(text string) string {
	var blocks strings.Builder
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return blocks.String()
		}
		if block.Type == "CERTIFICATE" {
			blocks.Write(pem.EncodeToMemory(block))
		}
	}
}

func readCertificates(_ context.Context, r reader, f *Facts) error {
	files := []string{kubeletClient}
	for _, dir := range []string{pkiDir, pkiDir + "/etcd"} {
		names, err := r.names(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".crt") {
				files = append(files, dir+"/"+name)
			}
		}
	}
	for _, file := range files {
		text, err := r.optional(file)
		if err != nil {
			return err
		}
		block, _ := pem.Decode([]byte(certificateBlocks(text)))
		if block == nil { // no such file, or no certificate; the check old-cluster reports leftover files
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			f.Certificates = append(f.Certificates, Certificate{"/" + file, c.NotAfter.UTC(), c.NotBefore.UTC()})
		}
	}
	return nil
}

var certFail = Limit{
	Check: "cert-expiry", Name: "fail", Unit: Elapsed, Default: always(int64(7 * 24 * time.Hour)),
	About: "Least time until the cluster's certificates on this host expire. Default 168h, a week.",
}

var certWarn = Limit{
	Check: "cert-expiry", Name: "warn", Unit: Elapsed, Default: always(int64(60 * 24 * time.Hour)),
	About: "Time until the cluster's certificates expire below which the check warns. Default 1440h, sixty days.",
}

var certExpiry = Check{
	ID: "cert-expiry", Title: "Cluster certificates do not expire soon", Source: "kubeadm: certificates expire after a year unless an upgrade renews them",
	Breaks: "When a certificate expires, clients no longer trust the API server, etcd or the kubelet.",
	Limits: []Limit{certFail, certWarn}, Needs: []string{"certificates", "now"}, Run: judgeCertificates,
}

func judgeCertificates(f *Facts, w *Want) Result {
	if !w.Managed || len(f.Certificates) == 0 {
		return skipped("airgap has not installed a cluster on this host yet")
	}
	now, enough := f.Time.Now, time.Duration(w.limit(certWarn))
	first := slices.MinFunc(f.Certificates, func(a, b Certificate) int { return cmp.Compare(a.span().Left(now), b.span().Left(now)) })
	var fixes []string
	for _, c := range f.Certificates {
		if fix := c.renewal(); c.span().Trouble(now, enough) != "" && !slices.Contains(fixes, fix) {
			fixes = append(fixes, fix)
		}
	}
	found := fmt.Sprintf("%s expires on %s", first.Path, first.NotAfter.Format(time.DateOnly))
	if first.span().Early(now) {
		found = first.Path + " " + first.span().Trouble(now, 0)
	}
	if len(fixes) == 0 {
		return pass("%s, the first of %d certificates", found, len(f.Certificates))
	}
	status := Warn
	if first.span().Left(now) < time.Duration(w.limit(certFail)) {
		status = Fail
	}
	return Result{status, found, elapsed(time.Duration(w.limit(certWarn))) + " or more", strings.Join(fixes, "; ")}
}

func (c Certificate) span() validity.Span {
	return validity.Span{Begins: c.NotBefore, Ends: c.NotAfter}
}

// renewal is the hint for renewing the certificate. kubeadm does not renew all of them.
func (c Certificate) renewal() string {
	switch name := path.Base(c.Path); {
	case c.Path == "/"+kubeletClient:
		return "find out with journalctl -u kubelet | grep -i certificate why the kubelet has not renewed it: the kubelet does so in the last third of the lifetime, if it reaches the API server"
	case name == "ca.crt" || name == "front-proxy-ca.crt":
		return "replace the CA certificate " + c.Path + ", which cannot be renewed: airgap certs rotate-ca --help describes how"
	}
	return "run airgap certs renew on each host, on control-plane hosts one at a time"
}
