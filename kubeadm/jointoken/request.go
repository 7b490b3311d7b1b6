package jointoken

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
	bootstrapUser = "system:bootstrap:" // prefix of a token's ID
	nodeUser      = "system:node:"      // prefix of a node's name
	nodesGroup    = "system:nodes"
)

// denial is the reason why a request gets no certificate. The requesting host reads both fields.
type denial struct{ reason, message string }

// longestDenial is the maximum length of a message in bytes: etcd could not store a request of a
// megabyte with a message that lists all its errors.
const longestDenial = 1024

func refuse(reason, format string, args ...any) *denial {
	message := fmt.Sprintf(format, args...)
	if len(message) > longestDenial {
		message = strings.ToValidUTF8(message[:longestDenial], "") + "…"
	}
	return &denial{reason, message}
}

// judge returns the reason to deny a request, or nil. token is the Secret of the request's join
// token, nil if it does not exist; node is the Node with the name in the token, nil if it does not
// exist.
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
		return refuse("TokenUsed", "the join token was used already by a host with another key")
	}
	return judgeNode(node, token.Labels[roleLabel])
}

// judgeName checks that the request is for the node of the token.
func judgeName(form *x509.CertificateRequest, node string) *denial {
	if node == "" || form.Subject.CommonName != nodeUser+node {
		return refuse("OtherNode", "the join token is for node %q, but the request is for %q", node, form.Subject.CommonName)
	}
	if len(form.Subject.Names) != 2 || !slices.Equal(form.Subject.Organization, []string{nodesGroup}) {
		return refuse("OtherSubject", "the subject is %q, but a node needs CN=%s,O=%s", form.Subject, nodeUser+node, nodesGroup)
	}
	return nil
}

// judgeForm checks that the request is for a client certificate without other names.
func judgeForm(r *certificates.CertificateSigningRequest, form *x509.CertificateRequest) *denial {
	if sans := altNames(form); len(sans) > 0 {
		return refuse("OtherNames", "a node certificate must not have alternative names, but the request has %s", strings.Join(sans, ", "))
	}
	if len(form.Extensions) > 0 {
		return refuse("Extensions", "a node certificate must not have requested extensions, but the request has %s", form.Extensions[0].Id)
	}
	usages := slices.Sorted(slices.Values(r.Spec.Usages))
	plain := []certificates.KeyUsage{certificates.UsageClientAuth, certificates.UsageDigitalSignature}
	if !slices.Equal(usages, plain) {
		return refuse("OtherUsages", "a node certificate must have the usages %q, but the request has %q", plain, usages)
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

// judgeNode denies the name of a running node, and the name of a control-plane host to a worker.
func judgeNode(node *corev1.Node, role string) *denial {
	if node == nil {
		return nil
	}
	if kube.NodeReady(node) {
		return refuse("NameInUse", "node %s already exists in the cluster and is ready", node.Name)
	}
	if _, is := node.Labels[kube.ControlPlaneLabel]; is && role != controlPlaneRole {
		return refuse("OtherRole", "node %s is a control-plane host, but the join token is for a worker", node.Name)
	}
	return nil
}

func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("the request is not a certificate request in PEM format")
	}
	form, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate request: %w", err)
	}
	return form, form.CheckSignature()
}

// keyHash identifies the key of a request: an interrupted host repeats its request with the same
// key.
func keyHash(form *x509.CertificateRequest) string {
	sum := sha256.Sum256(form.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}
