package nodereport

import (
	"path"
	"strings"
)

// Renewer is the program that renews a certificate before it expires.
type Renewer string

// The renewers.
const (
	// RenewedByAirgap: `airgap certs renew` renews it. A timer runs the command when 60 days are
	// left.
	RenewedByAirgap Renewer = "airgap"
	// RenewedByKubelet: the kubelet renews it in its last third.
	RenewedByKubelet Renewer = "kubelet"
	// NotRenewed: a CA is not renewed, because each client that trusts it needs the new one.
	NotRenewed Renewer = "nobody"
)

// RenewerOf returns the renewer of the certificate in a file. The kubelet creates its self-signed
// serving certificate (kubelet.crt) only if the file is missing and does not renew it. A serving
// certificate that the cluster signed has another file name.
func RenewerOf(file string) Renewer {
	name := path.Base(file)
	switch {
	case name == "ca.crt" || name == "front-proxy-ca.crt":
		return NotRenewed
	case file == "/etc/kubernetes/kubelet.conf" || strings.HasPrefix(file, "/var/lib/kubelet/pki/") && name != "kubelet.crt":
		return RenewedByKubelet
	}
	return RenewedByAirgap
}
