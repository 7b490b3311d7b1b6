package joincode

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/kubeadm/kube"
)

const (
	bootstrapUser = "system:bootstrap:" // before a token's id
	nodeUser      = "system:node:"      // before a node's name
	nodesGroup    = "system:nodes"
)

// denial is why a request with a join token gets no certificate. The host that
// asked reads both.
type denial struct{ reason, message string }

// longestDenial, in bytes: a request of a megabyte would not fit into etcd together with
// all that is wrong with it.
const longestDenial = 1024

func refuse(reason, format string, args ...any) *denial {
	message := fmt.Sprintf(format, args...)
	if len(message) > longestDenial {
		message = strings.ToValidUTF8(message[:longestDenial], "") + "…"
	}
	return &denial{reason, message}
}

// judge says why the request gets no certificate, or nil. token is the Secret of the
// join token that it came with, nil where it is gone; node is the Node of the
// token's name, nil where there is none.
func judge(r *certificates.CertificateSigningRequest, token *corev1.Secret, node *corev1.Node, now time.Time) *denial {
	form, err := parseRequest(r.Spec.Request)
	if err != nil {
		return refuse("Malformed", "%v", err)
	}
	if token == nil || string(token.Data["description"]) != tokenDescription {
		return refuse("TokenGone", "the join token was used already, was revoked, or has expired")
	}
	if ends, err := time.Parse(time.RFC3339, string(token.Data["expiration"])); err != nil || !now.Before(ends) {
		return refuse("TokenExpired", "the join token expired at %s", token.Data["expiration"])
	}
	if no := judgeName(form, token.Labels[nodeLabel]); no != nil {
		return no
	}
	if no := judgeForm(r, form); no != nil {
		return no
	}
	if used := token.Annotations[usedNote]; used != "" && used != keyHash(form) {
		return refuse("TokenUsed", "the join token was used already, by a host with another key")
	}
	return judgeNode(node, token.Labels[roleLabel])
}

// judgeName holds the request to the one node that the token is for.
func judgeName(form *x509.CertificateRequest, node string) *denial {
	if node == "" || form.Subject.CommonName != nodeUser+node {
		return refuse("OtherNode", "the join token is for node %q, and a certificate of %q was requested", node, form.Subject.CommonName)
	}
	if len(form.Subject.Names) != 2 || !slices.Equal(form.Subject.Organization, []string{nodesGroup}) {
		return refuse("OtherSubject", "the subject %q is not that of a node: CN=%s,O=%s", form.Subject, nodeUser+node, nodesGroup)
	}
	return nil
}

// judgeForm wants a client's certificate without other names.
func judgeForm(r *certificates.CertificateSigningRequest, form *x509.CertificateRequest) *denial {
	if sans := altNames(form); len(sans) > 0 {
		return refuse("OtherNames", "the certificate of a node has no alternative names, and %s were requested", strings.Join(sans, ", "))
	}
	if len(form.Extensions) > 0 {
		return refuse("Extensions", "the certificate of a node has no requested extensions, and %s was requested", form.Extensions[0].Id)
	}
	usages := slices.Sorted(slices.Values(r.Spec.Usages))
	plain := []certificates.KeyUsage{certificates.UsageClientAuth, certificates.UsageDigitalSignature}
	if !slices.Equal(usages, plain) {
		return refuse("OtherUsages", "the certificate of a node is for %q, and %q was requested", plain, usages)
	}
	return nil
}

func altNames(form *x509.CertificateRequest) []string {
	all := slices.Concat(form.DNSNames, form.EmailAddresses)
	for _, ip := range form.IPAddresses {
		all = append(all, ip.String())
	}
	for _, uri := range form.URIs {
		all = append(all, uri.String())
	}
	return all
}

// judgeNode refuses the name of a node that runs, and of a control-plane host to a
// worker.
func judgeNode(node *corev1.Node, role string) *denial {
	if node == nil {
		return nil
	}
	if kube.NodeReady(node) {
		return refuse("NameInUse", "the cluster has a node %s, and it is ready", node.Name)
	}
	if _, is := node.Labels[kube.ControlPlaneLabel]; is && role != controlPlaneRole {
		return refuse("OtherRole", "node %s is a control-plane host, and the join token is for a worker", node.Name)
	}
	return nil
}

func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("it is no certificate request in PEM")
	}
	form, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate request: %w", err)
	}
	return form, form.CheckSignature()
}

// keyHash names the key of a request. A host that asks again with the same key, after
// it was interrupted, is the same host.
func keyHash(form *x509.CertificateRequest) string {
	sum := sha256.Sum256(form.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}
