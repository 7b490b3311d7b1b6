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

// Certificate is one that a cluster on this host uses.
type Certificate struct {
	Path      string    `yaml:"path" json:"path"`
	NotAfter  time.Time `yaml:"notAfter" json:"notAfter"`
	NotBefore time.Time `yaml:"notBefore,omitempty" json:"notBefore,omitzero"` // zero: an older airgap surveyed the host
}

const (
	pkiDir        = "etc/kubernetes/pki"
	kubeletClient = "var/lib/kubelet/pki/kubelet-client-current.pem" // its key is in the same file
)

// certificateBlocks is the text of a PEM file without keys.
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
		if block == nil { // no such file, or not a certificate: old-cluster speaks of leftovers
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
	About: "Least time that the cluster's certificates on this host still hold. Default 168h, a week.",
}

var certWarn = Limit{
	Check: "cert-expiry", Name: "warn", Unit: Elapsed, Default: always(int64(60 * 24 * time.Hour)),
	About: "Time left to the cluster's certificates below which there is a warning. Default 1440h, sixty days.",
}

var certExpiry = Check{
	ID: "cert-expiry", Title: "The cluster's certificates hold", Source: "kubeadm: certificates end after a year unless an upgrade renews them",
	Breaks: "On the day a certificate ends the API server, etcd or the kubelet is trusted by nobody any more.",
	Limits: []Limit{certFail, certWarn}, Needs: []string{"certificates", "now"}, Run: judgeCertificates,
}

func judgeCertificates(f *Facts, w *Want) Result {
	if !w.Ours || len(f.Certificates) == 0 {
		return skipped("no cluster of airgap's on this host yet")
	}
	now, enough := f.Time.Now, time.Duration(w.limit(certWarn))
	first := slices.MinFunc(f.Certificates, func(a, b Certificate) int { return cmp.Compare(a.span().Left(now), b.span().Left(now)) })
	var fixes []string
	for _, c := range f.Certificates {
		if fix := c.renewal(); c.span().Trouble(now, enough) != "" && !slices.Contains(fixes, fix) {
			fixes = append(fixes, fix)
		}
	}
	found := fmt.Sprintf("%s ends on %s", first.Path, first.NotAfter.Format(time.DateOnly))
	if first.span().Early(now) {
		found = first.Path + " " + first.span().Trouble(now, 0)
	}
	if len(fixes) == 0 {
		return pass("%s, the first of %d", found, len(f.Certificates))
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

// renewal is what renews it: not all are kubeadm's to renew.
func (c Certificate) renewal() string {
	switch name := path.Base(c.Path); {
	case c.Path == "/"+kubeletClient:
		return "the kubelet renews its own in their last third, while it reaches the API server: journalctl -u kubelet | grep -i certificate"
	case name == "ca.crt" || name == "front-proxy-ca.crt":
		return c.Path + " is an authority, which nothing renews: airgap certs rotate-ca --help says how it is replaced"
	}
	return "airgap certs renew on each host, on control-plane hosts one after the other"
}
