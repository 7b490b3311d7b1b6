package nodereport

import (
	"path"
	"strings"
)

// Renewer is who makes a certificate anew before it ends.
type Renewer string

// Who renews what.
const (
	// RenewedByAirgap are renewed by `airgap certs renew`, which a timer runs for those with
	// 60 days left.
	RenewedByAirgap Renewer = "airgap"
	// RenewedByKubelet are renewed by the kubelet itself, in their last third.
	RenewedByKubelet Renewer = "kubelet"
	// RenewedByNobody are authorities: who trusts them has to be told of another one.
	RenewedByNobody Renewer = "nobody"
)

// RenewerOf is who renews the certificate in the file at path. The kubelet makes
// the one that it serves with when there is none, and never again; one that the
// cluster has signed for it has another name.
func RenewerOf(file string) Renewer {
	name := path.Base(file)
	switch {
	case name == "ca.crt" || name == "front-proxy-ca.crt":
		return RenewedByNobody
	case file == "/etc/kubernetes/kubelet.conf" || strings.HasPrefix(file, "/var/lib/kubelet/pki/") && name != "kubelet.crt":
		return RenewedByKubelet
	}
	return RenewedByAirgap
}
