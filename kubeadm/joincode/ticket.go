package joincode

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

// Entry is a host that wants to be a node of a cluster, which the material names.
type Entry struct {
	Machine      host.Machine
	Node         string // its name
	ControlPlane bool   // it is to be a control-plane host
	Material     JoinMaterial
	Code         func(context.Context) (Code, error) // asks for the code
}

// Ticket lets this host join as one node: it has the node's certificate, by an
// earlier run or for a code.
type Ticket struct {
	Client kubernetes.Interface // as the node
	ask    func(context.Context) (Code, error)
	shown  *Code // that was asked for
	parcel Parcel
}

const newCodeHint = "airgap join --new-code --node NAME on a control-plane host makes a fresh one, for one node"

// NewTicket returns the ticket of a host. The client is the node's; ask brings the code, and is
// called at most once.
func NewTicket(client kubernetes.Interface, ask func(context.Context) (Code, error)) *Ticket {
	return &Ticket{Client: client, ask: ask}
}

// Code returns the code that lets this host in.
func (t *Ticket) Code(ctx context.Context) (Code, error) {
	if t.shown == nil {
		code, err := t.ask(ctx)
		if err != nil {
			return Code{}, err
		}
		t.shown = &code
	}
	return *t.shown, nil
}

// Admit gets this host its ticket, and asks for a code if an earlier run has not got
// the node's certificate. Nothing is sent to a cluster that the code is not for.
func (e Entry) Admit(ctx context.Context) (*Ticket, error) {
	t := NewTicket(nil, func(ctx context.Context) (Code, error) {
		code, err := e.Code(ctx)
		if err != nil {
			return Code{}, err
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

// fits refuses a code of another cluster and one for another role.
func (e Entry) fits(code Code) error {
	pin, err := e.Material.pin()
	if err != nil {
		return err
	}
	no := &host.Failure{What: "join with this code", Next: newCodeHint}
	switch {
	case pin != code.pin:
		hash, err := e.Material.CAHash()
		no.Err = errors.Join(fmt.Errorf("the registry leads to a cluster whose CA is %s, and the code is another cluster's", hash), err)
		no.Next = "compare the join line with what airgap install printed; a registry that leads to a foreign cluster must not be trusted. The cluster's CA was replaced? " + newCodeHint
	case code.ForControlPlane() && !e.ControlPlane:
		no.Err = fmt.Errorf("the code is a control-plane host's, and %s is to be a worker", e.Node)
	case !code.ForControlPlane() && e.ControlPlane:
		no.Err = fmt.Errorf("the code is a worker's, and %s is to be a control-plane host", e.Node)
	default:
		return nil
	}
	return no
}

// get has the cluster sign the node's certificate for the code.
func (e Entry) get(ctx context.Context, c credential, ask func(context.Context) (Code, error)) (credential, error) {
	code, err := ask(ctx)
	if err != nil {
		return c, err
	}
	client, err := e.present(ctx, code)
	if err != nil {
		return c, err
	}
	if err := AwaitOldSelf(ctx, client, e.Node); err != nil {
		return c, err
	}
	if err := saveCredential(e.Machine, c, e.Material); err != nil {
		return c, err
	}
	c.certificate, err = requestWith(ctx, client, code, c)
	if errors.Is(err, errDenied) { // nothing is left to go on with
		if left := ForgetEntry(e.Machine); left != nil {
			return c, errors.Join(err, left)
		}
	}
	if err != nil {
		return c, err
	}
	if err := saveCredential(e.Machine, c, e.Material); err != nil {
		return c, err
	}
	if !code.ForControlPlane() { // its parcel goes with the token
		_ = Revoke(ctx, client, code) // it is used: nobody else can use it
	}
	return c, nil
}

// present shows the code to the API server of the cluster, which the material
// vouches for. The error says when the code was used, has ended, or never was.
//
// The API server remembers for ten seconds whom a token was good for, so being
// let in proves nothing. That the token could be deleted now does.
func (e Entry) present(ctx context.Context, code Code) (kubernetes.Interface, error) {
	config := e.Material.rest()
	config.BearerToken = code.token()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("show the code to the API server: %w", err)
	}
	if err := reach(ctx, e.Material.APIServer); err != nil {
		return nil, err
	}
	err = deleteToken(ctx, client, code, metav1.DryRunAll)
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, &host.Failure{What: "join with this code", Err: errors.New("the cluster does not know it: it was used already, has ended, or is another cluster's"), Next: newCodeHint}
	}
	if err != nil {
		return nil, &host.Failure{What: "show the code to the API server", Err: err, Next: "on a control-plane host, airgap status tells whether the API server is well"}
	}
	return client, nil
}

const (
	approvalTime = 2 * time.Minute
	approvalBeat = 200 * time.Millisecond
)

// requestWith asks for the certificate with the code's token, and waits for it.
func requestWith(ctx context.Context, client kubernetes.Interface, code Code, c credential) ([]byte, error) {
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
	}, kube.ByUs())
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

// denied is why the cluster gives no certificate.
func denied(r *certificates.CertificateSigningRequest) error {
	for _, c := range r.Status.Conditions {
		if c.Type == certificates.CertificateDenied || c.Type == certificates.CertificateFailed {
			return &host.Failure{What: "join with this code", Err: fmt.Errorf("%w: %s", errDenied, c.Message), Next: newCodeHint}
		}
	}
	return nil
}

// unanswered says who has not done what with the request.
func unanswered(r *certificates.CertificateSigningRequest, err error) error {
	no := &host.Failure{
		What: "wait for the certificate " + r.Name, Err: fmt.Errorf("no control-plane host has decided about it: %w", err),
		Next: "on a control-plane host: systemctl status " + ApproverUnit + "; airgap install there starts it; then run the same command again",
	}
	if len(r.Status.Conditions) > 0 {
		no.Err = fmt.Errorf("it is approved, and not signed: %w", err)
		no.Next = "on a control-plane host, airgap verify tells whether kube-controller-manager runs; then run the same command again"
	}
	return no
}

// Parcel fetches and opens the keys for a control-plane host.
func (t *Ticket) Parcel(ctx context.Context) (Parcel, error) {
	if t.parcel != nil {
		return t.parcel, nil
	}
	code, err := t.Code(ctx)
	if err != nil {
		return nil, err
	}
	if !code.ForControlPlane() {
		return nil, &host.Failure{What: "fetch the control plane's keys", Err: errors.New("the code is a worker's, and this is to be a control-plane host"), Next: newCodeHint}
	}
	secret, err := t.Client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, ParcelName(code), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, &host.Failure{What: "fetch the control plane's keys", Err: fmt.Errorf("they are not there for this node: the code has ended, or is another node's: %w", err), Next: newCodeHint}
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the control plane's keys: %w", err)
	}
	t.parcel, err = openParcel(code, secret.Data[parcelKey])
	return t.parcel, err
}

// Burn makes the code useless, and its parcel go.
func (t *Ticket) Burn(ctx context.Context) error {
	if t.shown == nil {
		return nil
	}
	return Revoke(ctx, t.Client, *t.shown)
}

// AwaitOldSelf waits until the cluster knows that the kubelet which had this name
// before is gone: of an interrupted join, or of the machine that this one replaces.
// kubeadm takes a Node that is Ready for another host of the same name.
func AwaitOldSelf(ctx context.Context, client kubernetes.Interface, name string) error {
	return await.Until(ctx, 2*time.Minute, func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreNotFound(err)
		}
		if kube.NodeReady(node) {
			return &host.Failure{
				What: "join as " + name, Err: errors.New("the cluster has a node of that name, and it is ready"),
				Next: "another host has the name? airgap reset there, or airgap remove " + name + " on a control-plane host; then join here",
			}
		}
		return nil
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("ask for this host's own Node: %w", err)
}

// reach tells of a closed firewall in seconds, where kubeadm takes minutes.
func reach(ctx context.Context, server string) error {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return &host.Failure{What: "reach the API server", Err: err, Next: "open TCP to " + server + " from this host; on the control-plane host, airgap status tells whether it is up"}
	}
	return conn.Close()
}
