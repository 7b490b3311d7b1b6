package jointoken

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	certificates "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
)

// JoinRequest is a host that joins the cluster of Material as a node.
type JoinRequest struct {
	Machine      host.Machine
	Node         string // its name
	ControlPlane bool   // role of the host
	Material     JoinMaterial
	Code         func(context.Context) (JoinToken, error) // reads the join token
	// Reach tries the connections that this host needs as a node. It runs before the first change of the
	// host, with a client that has the rights of the join token. nil: none.
	Reach func(ctx context.Context, client kubernetes.Interface) error
}

// ValidatedToken lets this host join as one node: it has the node's certificate, from an earlier run or for
// a join token.
type ValidatedToken struct {
	Client kubernetes.Interface // with the node's certificate
	ask    func(context.Context) (JoinToken, error)
	code   *JoinToken // the result of ask; nil before its call
	parcel ControlPlaneSecrets
}

const newCodeHint = "run airgap join --new-token --node NAME on a control-plane host to create a new join token for one node"

// NewValidatedToken returns the validated token of a host. client has the node's certificate; ask reads the join
// token, and is called at most once.
func NewValidatedToken(client kubernetes.Interface, ask func(context.Context) (JoinToken, error)) *ValidatedToken {
	return &ValidatedToken{Client: client, ask: ask}
}

// Code returns the join token of this host.
func (t *ValidatedToken) Code(ctx context.Context) (JoinToken, error) {
	if t.code == nil {
		code, err := t.ask(ctx)
		if err != nil {
			return JoinToken{}, err
		}
		t.code = &code
	}
	return *t.code, nil
}

// RequestCertificate returns the ticket of this host. It reads the join token if the node's certificate does not
// exist from an earlier run. It sends nothing to a cluster that the token is not for.
func (e JoinRequest) RequestCertificate(ctx context.Context) (*ValidatedToken, error) {
	t := NewValidatedToken(nil, func(ctx context.Context) (JoinToken, error) {
		code, err := e.Code(ctx)
		if err != nil {
			return JoinToken{}, err
		}
		return code, e.fits(code)
	})
	c, err := loadCredential(e.Machine, e.Node, e.Material)
	if err != nil {
		return nil, err
	}
	if !c.signed() {
		if c, err = e.get(ctx, c, t.Code); err != nil {
			return nil, err
		}
	}
	t.Client, err = c.client(e.Material)
	return t, err
}

// fits refuses a join token of another cluster or for another role.
func (e JoinRequest) fits(code JoinToken) error {
	pin, err := e.Material.pin()
	if err != nil {
		return err
	}
	no := &host.Failure{What: "join with this token", Next: newCodeHint}
	switch {
	case pin != code.pin:
		hash, err := e.Material.CAHash()
		no.Err = errors.Join(fmt.Errorf("the registry leads to a cluster with CA %s, but the join token is another cluster's", hash), err)
		no.Next = "compare the join command with the output of airgap install, and do not trust a registry that leads to a foreign cluster. If the cluster's CA was rotated, " + newCodeHint
	case code.ForControlPlane() && !e.ControlPlane:
		no.Err = fmt.Errorf("the join token is a control-plane host's, and %s is to be a worker", e.Node)
	case !code.ForControlPlane() && e.ControlPlane:
		no.Err = fmt.Errorf("the join token is a worker's, and %s is to be a control-plane host", e.Node)
	default:
		return nil
	}
	return no
}

// get requests the node's certificate with the join token.
func (e JoinRequest) get(ctx context.Context, c credential, ask func(context.Context) (JoinToken, error)) (credential, error) {
	code, err := ask(ctx)
	if err != nil {
		return c, err
	}
	client, err := e.present(ctx, code)
	if err != nil {
		return c, err
	}
	if err := AwaitOldNode(ctx, client, e.Node); err != nil {
		return c, err
	}
	if e.Reach != nil {
		if err := e.Reach(ctx, client); err != nil {
			return c, err
		}
	}
	if err := saveCredential(e.Machine, c, e.Material); err != nil {
		return c, err
	}
	c.certificate, err = requestWith(ctx, client, code, c)
	if errors.Is(err, errDenied) { // the key has no further use
		if left := RemoveJoinConf(e.Machine); left != nil {
			return c, errors.Join(err, left)
		}
	}
	if err != nil {
		return c, err
	}
	if err := saveCredential(e.Machine, c, e.Material); err != nil {
		return c, err
	}
	if !code.ForControlPlane() { // a control-plane host still needs the parcel, which the token owns
		_ = Revoke(ctx, client, code) // an error is ignored: a used token is useless
	}
	return c, nil
}

// present checks the join token at the API server, which it identifies by the CA in the material.
// The error reports a used, expired or unknown token.
//
// The API server caches the authentication of a token for ten seconds, so a successful
// authentication proves nothing. A dry run that deletes the token proves that it exists.
func (e JoinRequest) present(ctx context.Context, code JoinToken) (kubernetes.Interface, error) {
	config := e.Material.rest()
	config.BearerToken = code.token()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("check the join token: %w", err)
	}
	if err := reach(ctx, e.Material.APIServer); err != nil {
		return nil, err
	}
	err = deleteToken(ctx, client, code, metav1.DryRunAll)
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, &host.Failure{What: "join with this token", Err: errors.New("the cluster does not know it: it was used already, has expired, or is another cluster's"), Next: newCodeHint}
	}
	if err != nil {
		return nil, &host.Failure{What: "check the join token", Err: err, Next: "run airgap status on a control-plane host to check the API server"}
	}
	return client, nil
}

const (
	approvalTime = 2 * time.Minute
	approvalBeat = 200 * time.Millisecond
)

// requestWith requests the certificate with the join token, and waits up to approvalTime for it.
func requestWith(ctx context.Context, client kubernetes.Interface, code JoinToken, c credential) ([]byte, error) {
	form, err := c.request()
	if err != nil {
		return nil, err
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	asked, err := requests.Create(ctx, &certificates.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "airgap-join-" + code.ID + "-"},
		Spec: certificates.CertificateSigningRequestSpec{
			Request: form, SignerName: certificates.KubeAPIServerClientKubeletSignerName,
			Usages: []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth},
		},
	}, kube.CreateOptions())
	if err != nil {
		return nil, fmt.Errorf("request the certificate of node %s: %w", c.node, err)
	}
	ctx, cancel := context.WithTimeout(ctx, approvalTime)
	defer cancel()
	for {
		seen, err := requests.Get(ctx, asked.Name, metav1.GetOptions{})
		if err == nil {
			if no := denied(seen); no != nil || len(seen.Status.Certificate) > 0 {
				return seen.Status.Certificate, no
			}
			asked = seen
		}
		select {
		case <-ctx.Done():
			return nil, unanswered(asked, errors.Join(err, ctx.Err()))
		case <-time.After(approvalBeat):
		}
	}
}

var errDenied = errors.New("the cluster refuses")

// denied returns the reason of a denied or failed request; nil for others.
func denied(r *certificates.CertificateSigningRequest) error {
	for _, c := range r.Status.Conditions {
		if c.Type == certificates.CertificateDenied || c.Type == certificates.CertificateFailed {
			return &host.Failure{What: "join with this token", Err: fmt.Errorf("%w: %s", errDenied, c.Message), Next: newCodeHint}
		}
	}
	return nil
}

// unanswered is the error of a request without a certificate after approvalTime. It names the
// program that has not answered.
func unanswered(r *certificates.CertificateSigningRequest, err error) error {
	no := &host.Failure{
		What: "wait for the certificate " + r.Name, Err: fmt.Errorf("no control-plane host has approved or denied it: %w", err),
		Next: "run systemctl status " + ApproverUnit + " on a control-plane host, and airgap install there to start the unit, then run the same command again",
	}
	if len(r.Status.Conditions) > 0 {
		no.Err = fmt.Errorf("it is approved, but not signed: %w", err)
		no.Next = "run airgap verify on a control-plane host to check kube-controller-manager, then run the same command again"
	}
	return no
}

// ControlPlaneSecrets downloads and decrypts the keys of a control-plane host.
func (t *ValidatedToken) ControlPlaneSecrets(ctx context.Context) (ControlPlaneSecrets, error) {
	if t.parcel != nil {
		return t.parcel, nil
	}
	code, err := t.Code(ctx)
	if err != nil {
		return nil, err
	}
	if !code.ForControlPlane() {
		return nil, &host.Failure{What: "fetch the control plane's keys", Err: errors.New("the join token is a worker's, and this is to be a control-plane host"), Next: newCodeHint}
	}
	secret, err := t.Client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, SecretsName(code), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, &host.Failure{What: "fetch the control plane's keys", Err: fmt.Errorf("they do not exist for this node: the join token has expired, or is another node's: %w", err), Next: newCodeHint}
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the control plane's keys: %w", err)
	}
	t.parcel, err = openSecrets(code, secret.Data[parcelKey])
	return t.parcel, err
}

// Revoke revokes the used join token, and with it the parcel.
func (t *ValidatedToken) Revoke(ctx context.Context) error {
	if t.code == nil {
		return nil
	}
	return Revoke(ctx, t.Client, *t.code)
}

// AwaitOldNode waits up to 2 minutes until the Node of an earlier kubelet with this name is not
// Ready: that of an interrupted join, or of the machine that this host replaces. kubeadm refuses to
// join while the Node is Ready.
func AwaitOldNode(ctx context.Context, client kubernetes.Interface, name string) error {
	return await.Until(ctx, 2*time.Minute, func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreNotFound(err)
		}
		if kube.NodeReady(node) {
			return &host.Failure{
				What: "join as " + name, Err: errors.New("a node of that name already exists in the cluster and is ready"),
				Next: "if another host has the name, run airgap reset there or airgap remove " + name + " on a control-plane host, then join again",
			}
		}
		return nil
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("read this host's Node: %w", err)
}

// reach reports a closed firewall within seconds; kubeadm would need minutes.
func reach(ctx context.Context, server string) error {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return &host.Failure{What: "reach the API server", Err: err, Next: "allow TCP from this host to " + server + ", and run airgap status on the control-plane host to check the API server"}
	}
	return conn.Close()
}
